package admin

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// check reads a whole SQLite database and looks for damage of its structure. Of any
// other database, it reads every record.
func check(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		began := c.now()
		if st, ok := db.Store.(*sqlite.Store); ok {
			if err := st.Check(ctx); err != nil {
				return err
			}
			name, _ := c.store()
			return c.report("found no damage in", name, began)
		}
		p := newProgress(c, "read", 0)
		if err := db.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, p.writer(io.Discard)) }); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.out, "read every record, %s lines of an archive\n", thousands(p.lines))
		return err
	})
}
