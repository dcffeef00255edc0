// Package recovery restores backups, and follows the production guide when the file
// of a SQLite store is harmed, with its own commands, while the service runs.
package recovery
