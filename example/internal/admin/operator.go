package admin

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// createOperator invites an operator, who chooses the password. The code is a
// secret, so it is in no log.
func createOperator(ctx context.Context, c *call) error {
	return c.with(ctx, c.args[0], func(db *Database) error {
		service := licensing.NewHandler(db, licensing.Options{}).Operators()
		code, err := service.Invite(ctx, operator.InviteParams{Email: c.args[1], Role: operator.Role(c.args[2])})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "Open this page below the address of the service within %.0f hours, and choose a password:\n\n  dashboard/join#code=%s\n",
			operator.InvitationTTL.Hours(), code)
		return err
	})
}
