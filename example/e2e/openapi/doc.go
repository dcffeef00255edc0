// Package openapi compares what the service does with what it says of itself:
// every answer to the whole API suite, and every operation of openapi.json
// asked with its own example.
package openapi
