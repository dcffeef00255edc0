// Command admin does what an operator of the service needs on a SQLite
// database.
//
//	go run ./example/admin backup licenses.db copy.db
//	go run ./example/admin restore copy.db licenses.db
//	go run ./example/admin check licenses.db
//	go run ./example/admin export licenses.db archive.ndjson
//	go run ./example/admin import archive.ndjson new.db
//	go run ./example/admin create-operator licenses.db ada@example.com admin
//
// Build it with the version of the library that your application uses. The
// commands are in ../internal/admin; ../e2e/admin has them for PostgreSQL too.
package main

import "github.com/seed-d8a106b4/licensekit/example/internal/admin"

func main() { admin.Main("admin", admin.OpenFile) }
