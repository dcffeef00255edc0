/*
Package web is what both HTTP sides of the service share: the JSON API and the
pages. It knows how a request comes in and how an answer goes out, and nothing
of licenses but their errors and versions.

A [Site] takes a request through the same checks in the same order, whatever
the route: path, method, authorization, rate. A [Handler] goes on from there
with [ReadObject], [ReadQuery] and [IfMatch], and calls the rules. What it
returns as an error is answered by [Fail], from the one table in errors.go.
*/
package web
