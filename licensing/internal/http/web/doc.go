/*
Package web implements the HTTP layer that the JSON API and the dashboard pages
share. It knows how to read requests and write responses; of the licensing rules
it knows only their errors and versions.

A [Site] applies the same checks to every request in the same order: path,
method, authorization, rate. Then an [Endpoint] decodes the parameters, calls
the rules and encodes the result, or a [Handler] does its own work. [Fail]
converts any error they return to a response, using the table in errors.go.
*/
package web
