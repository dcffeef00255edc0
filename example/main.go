// Command example is a small web application with a page of its own that has
// mounted the licensing service under /licensing/.
//
//	go run ./example
//
// It starts with a temporary database, a few dozen sample licenses and one API
// client, and prints what is needed to talk to the service. Ctrl-C ends it,
// and nothing stays behind. The flags:
//
//	-addr 127.0.0.1:8080   where to listen; if the port is taken, the next free one
//	-lan                   with -addr: also accept one that is not loopback
//	-db licenses.db        keep the database in this file
//	-seed                  with -db: put the sample licenses into a new database
//	-new-client NAME       issue credentials for another API client
//	-products a,b          and limit that client to these products
//	-smtp HOST:PORT        mail the keys of new licenses; see -help
//
// The application is in internal/host, and meant to be read and copied;
// database.go opens its store. The service alone, on SQLite or PostgreSQL, and the
// commands of its operators are in licensekit.
package main

import "github.com/seed-d8a106b4/licensekit/example/internal/host"

func main() { host.Main(onSQLite) }
