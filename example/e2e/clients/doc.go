// Package clients gets access tokens with widely used OAuth clients for Node.js, and
// generates API clients from openapi.json with widely used generators. The programs
// in testdata follow the documentation of these. The versions are pinned in
// testdata/package.json.
package clients
