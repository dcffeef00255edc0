package admin

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// restore copies a backup to a new SQLite file. The application must not run.
func restore(ctx context.Context, c *call) error {
	began := c.now()
	if err := sqlite.Restore(ctx, c.args[0], c.args[1]); err != nil {
		return err
	}
	return c.report("restored", c.args[1], began)
}
