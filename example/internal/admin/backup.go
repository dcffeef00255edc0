package admin

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// backup copies a SQLite database to a new file, and writes an archive of any other.
func backup(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		st, ok := db.Store.(*sqlite.Store)
		if !ok {
			return c.export(ctx, db)
		}
		began := c.now()
		if err := st.Backup(ctx, c.args[0]); err != nil {
			return err
		}
		return c.report("wrote", c.args[0], began)
	})
}

// report prints the size of a file, and how long the work on it took.
func (c *call) report(done, path string, began time.Time) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s %s, %s bytes, in %v\n", done, path, thousands(info.Size()), c.now().Sub(began).Round(time.Millisecond))
	return err
}
