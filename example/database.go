package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A database is a SQLite store that knows whether its file is only for now.
type database struct {
	*sqlite.Store
	temporary string // the folder to remove at the end; empty: keep the file
}

// openDatabase opens the file at path, or a temporary one if path is empty.
func openDatabase(path string) (*database, error) {
	db := &database{}
	if path == "" {
		dir, err := os.MkdirTemp("", "licensing-example-")
		if err != nil {
			return nil, err
		}
		db.temporary = dir
		path = filepath.Join(dir, "licenses.db")
	}
	var err error
	if db.Store, err = sqlite.Open(path); err != nil {
		return nil, errors.Join(err, db.removeTemporary())
	}
	return db, nil
}

// Close closes the store, and removes a temporary file.
func (db *database) Close() error {
	return errors.Join(db.Store.Close(), db.removeTemporary())
}

func (db *database) removeTemporary() error {
	if db.temporary == "" {
		return nil
	}
	return os.RemoveAll(db.temporary)
}

// isFresh reports whether the database holds nothing yet.
func isFresh(ctx context.Context, h *licensing.Handler) (bool, error) {
	page, err := h.Service().List(ctx, license.ListParams{Limit: 1})
	if err != nil {
		return false, err
	}
	clients, err := h.Auth().Clients(ctx, auth.ListClientsParams{Limit: 1})
	if err != nil {
		return false, err
	}
	return len(page.Licenses) == 0 && len(clients) == 0, nil
}
