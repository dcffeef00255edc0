// Package licensekit tests the program of example/licensekit on PostgreSQL.
package licensekit
