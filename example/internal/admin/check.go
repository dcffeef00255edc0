package admin

import "context"

// check reads a whole SQLite database and looks for damage.
func check(ctx context.Context, c *call) error {
	return c.with(ctx, c.args[0], func(db *Database) error {
		st, err := db.sqliteStore()
		if err != nil {
			return err
		}
		began := c.now()
		if err := st.Check(ctx); err != nil {
			return err
		}
		return c.report("found no damage in", c.args[0], began)
	})
}
