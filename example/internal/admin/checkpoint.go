package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// checkpoint writes the log of a SQLite file back, also while the service runs: what was erased
// is in neither of the two then.
func checkpoint(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		st, ok := db.Store.(*sqlite.Store)
		if !ok {
			return errors.New("checkpoint is for SQLite files; in a PostgreSQL database, VACUUM FULL on the licensing_ tables removes the bytes of erased rows")
		}
		err := st.Checkpoint(ctx)
		if errors.Is(err, store.ErrUnavailable) {
			return fmt.Errorf("%w; run this again, or stop the service first", err)
		}
		if err == nil {
			_, err = fmt.Fprintln(c.out, "the log is written back, and empty")
		}
		return err
	})
}
