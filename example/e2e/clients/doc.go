// Package clients gets access tokens with OAuth clients of Node.js that
// strangers use, each set up as its own manual says and by a script of its own
// in testdata. The versions are pinned in testdata/package.json.
package clients
