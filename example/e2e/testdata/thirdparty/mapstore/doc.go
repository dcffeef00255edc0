// Package mapstore is a backend for licensekit in another module: every record
// is a value in one map, and an update works on a copy of that map.
//
// There is no lock. An update copies the current map, runs its function on the
// copy, and replaces the current map with it unless another update has replaced
// it meanwhile; then the function runs again on the new one. A read uses the
// current map, which never changes. Updates are expensive and starve each other
// under load, but the package is short, and it keeps every rule of package store
// except the first: nothing outlives the process.
package mapstore
