/*
Package endpoints implements the JSON API. [Routes] lists its endpoints.

The handlers only decode requests and encode responses; package license decides
what a request may do. There is one file per resource.
*/
package endpoints
