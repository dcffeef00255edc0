// Package clients gets access tokens with widely used OAuth clients for Node.js.
// Each has a script in testdata that follows the client's documentation. The
// versions are pinned in testdata/package.json.
package clients
