package admin

import (
	"bufio"
	"context"
	"errors"
	"os"

	"github.com/seed-d8a106b4/licensekit/store"
)

// exportArchive writes a snapshot of a database to a new file.
func exportArchive(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error { return c.export(ctx, db) })
}

func (c *call) export(ctx context.Context, db *Database) (err error) {
	began := c.now()
	f, err := os.OpenFile(c.args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // it holds keys and digests
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(c.args[0]))
		}
	}()
	defer f.Close()
	p := newProgress(c, "exported", 0)
	w := bufio.NewWriterSize(f, 1<<20)
	err = db.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, p.writer(w)) })
	if err := errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	p.show()
	return c.report("wrote", c.args[0], began)
}
