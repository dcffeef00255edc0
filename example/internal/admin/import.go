package admin

import (
	"context"
	"errors"
	"os"

	"github.com/seed-d8a106b4/licensekit/store"
)

// importArchive reads an archive into a new database. If it fails, it removes
// the database, because an import cannot continue.
func importArchive(ctx context.Context, c *call) error {
	f, err := os.Open(c.args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	db, err := c.open(ctx, c.args[1], true)
	if err != nil {
		return err
	}
	began, p := c.now(), newProgress(c, "imported", info.Size())
	if err := store.Import(ctx, db, p.reader(f)); err != nil {
		if db.Discard != nil {
			return errors.Join(err, db.Discard())
		}
		return errors.Join(err, db.Close())
	}
	p.show()
	if err := db.Close(); err != nil {
		return err
	}
	return c.report("imported", c.args[0], began)
}
