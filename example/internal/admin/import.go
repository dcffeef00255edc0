package admin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-d8a106b4/licensekit/store"
)

// importArchive reads an archive into a new SQLite file or an empty schema. An import
// cannot continue: if it fails, it removes the file. It removes no schema, because the
// schema may also have tables of others.
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
	name, err := c.store()
	if err != nil {
		return err
	}
	db, err := c.open(ctx, name, true)
	if err != nil {
		return err
	}
	began, p := c.now(), newProgress(c, "imported", info.Size())
	if err := store.Import(ctx, db, p.reader(f)); err != nil {
		if db.Discard != nil {
			return errors.Join(err, db.Discard())
		}
		if !errors.Is(err, store.ErrExists) {
			err = fmt.Errorf("%w; drop the schema, which has a part of the archive, and run this again", err)
		}
		return errors.Join(err, db.Close())
	}
	p.show()
	if err := db.Close(); err != nil {
		return err
	}
	return c.report("imported", c.args[0], began)
}
