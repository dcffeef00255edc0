package admin

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// restore copies a backup to a new SQLite file, or reads one into an empty schema. The
// application must not run.
func restore(ctx context.Context, c *call) error {
	name, err := c.store()
	if err != nil {
		return err
	}
	if settings.IsPostgres(name) {
		return importArchive(ctx, c)
	}
	began := c.now()
	if err := sqlite.Restore(ctx, c.args[0], name); err != nil {
		return err
	}
	return c.report("restored", name, began)
}
