package admin

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// exportCustomer writes what is stored about a customer, for a request for access.
func exportCustomer(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		return c.newFile(c.args[1], func(w io.Writer) error {
			return licensing.NewHandler(db, c.config.Options).Service().ExportCustomer(ctx, w, c.args[0])
		})
	})
}

// eraseCustomer erases a customer, also while the service runs.
func eraseCustomer(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		n, err := licensing.NewHandler(db, c.config.Options).Service().EraseCustomer(ctx, c.args[0])
		fmt.Fprintf(c.out, "licenses   %d deleted\nevents     %d blanked\npurchases  %d blanked\n", n.Licenses, n.Events, n.Purchases)
		if err != nil {
			return fmt.Errorf("%w; run this again to do the rest", err)
		}
		return nil
	})
}
