/*
Package api is the JSON API over the rules. [Routes] is its table of contents.

The handlers decode and encode, and have no rules of their own: what a request
may do, and what comes of it, package license decides. They are grouped by
resource, a file each.
*/
package api
