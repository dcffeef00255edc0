// Package openapi compares the service with its description in openapi.json: it
// checks every answer in the API suite against the description, and calls every
// operation with the example of its request.
package openapi
