package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/seed-d8a106b4/licensekit/example/internal/host"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// onSQLite keeps the data of the application in a SQLite file.
var onSQLite = host.Backend{
	Program: "example",
	Flag:    "db",
	Usage:   "keep the database in this `file` (default: a temporary one, removed at the end)",
	Open: func(_ context.Context, file string) (*host.Database, error) {
		if file == "" {
			return openTemporary()
		}
		return openFile(file)
	},
}

func openFile(file string) (*host.Database, error) {
	st, err := sqlite.Open(file)
	if err != nil {
		return nil, err
	}
	return &host.Database{Store: st, Close: st.Close, About: file, Again: "go run ./example -db " + host.ShellQuote(file)}, nil
}

// openTemporary opens a file that goes when the database is closed.
func openTemporary() (*host.Database, error) {
	dir, err := os.MkdirTemp("", "licensing-example-")
	if err != nil {
		return nil, err
	}
	db, err := openFile(filepath.Join(dir, "licenses.db"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	closeFile := db.Close
	db.Close = func() error { return errors.Join(closeFile(), os.RemoveAll(dir)) }
	db.Temporary = true
	db.About = "temporary, removed at the end; keep it with -db FILE"
	return db, nil
}
