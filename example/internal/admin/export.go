package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/seed-d8a106b4/licensekit/store"
)

// exportArchive writes a snapshot of a database to a new file.
func exportArchive(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error { return c.export(ctx, db) })
}

func (c *call) export(ctx context.Context, db *Database) error {
	p := newProgress(c, "exported", 0)
	return c.newFile(c.args[0], func(w io.Writer) error {
		if err := db.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, p.writer(w)) }); err != nil {
			return err
		}
		p.show()
		return nil
	})
}

// newFile writes a new file that only its owner may read, and removes it if that fails.
func (c *call) newFile(name string, write func(io.Writer) error) (err error) {
	began := c.now()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // it holds keys and digests
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(w), w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return c.report("wrote", name, began)
}
