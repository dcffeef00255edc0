// Package mapstore is a backend for licensekit by somebody else: every record
// is a value in one map, and an update works on a copy of that map.
//
// There is no lock. An update takes the map there is, copies it, runs its
// function on the copy, and puts the copy in place if nobody else has done so
// in between; otherwise it runs again on what is there now. A read takes the
// map there is, which nobody changes any more. This is dear for each update
// and fair to nobody under load, but it is short, and it keeps every rule of
// package store except the first: nothing outlives the process.
package mapstore
