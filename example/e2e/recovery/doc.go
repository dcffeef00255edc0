// Package recovery restores backups, and follows the guide to stores when the file
// of a SQLite store is harmed, with its own commands, while the service runs. The
// long form restores the last of many backups, one a minute:
//
//	go test ./recovery -run 'TestBackups$' -backups 40 -every 1m -timeout 2h
package recovery
