// Package lint checks openapi.json with the linters that API teams use: Redocly
// and Spectral, which are programs for Node.js.
package lint
