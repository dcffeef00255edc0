// Package openapi compares the service with its description in openapi.json: it
// checks every answer in the API suite against the description, calls every
// operation with the example of its request, and sends requests made from the
// description and from earlier answers, valid and broken, of which
//
//	go test ./openapi -run 'TestFuzz$' -requests 1000000 -timeout 2h
//
// is the long form. Prism, a program for Node.js, gives a second opinion:
//
//	go test ./openapi -run TestPrism -prism 2000
package openapi
