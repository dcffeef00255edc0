package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// setupCode creates the code of the page that creates the first admin. It ends the
// code that the log of the service shows.
func setupCode(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		code, err := licensing.NewHandler(db, c.config.Options).Operators().CreateSetupCode(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "Open this page within 30 minutes, and become the first admin:\n\n  %s/dashboard/setup#code=%s\n", c.config.URL(), code)
		return err
	})
}

// createOperator invites an operator, who chooses the password. The code is a
// secret, so it is in no log.
func createOperator(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		service := licensing.NewHandler(db, c.config.Options).Operators()
		code, err := service.Invite(ctx, operator.InviteParams{Email: c.args[0], Role: operator.Role(c.args[1])})
		if err != nil {
			return err
		}
		return c.showCode(code)
	})
}

// resetPassword lets an operator choose a new password, such as the only admin, whom
// no other admin can help. A second factor remains.
func resetPassword(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		service := licensing.NewHandler(db, c.config.Options).Operators()
		op, err := findOperator(ctx, service, c.args[0])
		if err != nil {
			return err
		}
		code, err := service.CreatePasswordReset(ctx, op.ID)
		if err != nil {
			return err
		}
		return c.showCode(code)
	})
}

// removeSecondFactor removes the second factor of an operator who has lost it, such
// as the only admin, or whose secret a lost master key encrypts.
func removeSecondFactor(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		service := licensing.NewHandler(db, c.config.Options).Operators()
		op, err := findOperator(ctx, service, c.args[0])
		if err != nil {
			return err
		}
		if _, err := service.RemoveSecondFactor(ctx, op.ID); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "%s signs in with the password alone, and can set up another second factor\n", op.Email)
		return err
	})
}

func findOperator(ctx context.Context, service *operator.Service, email string) (operator.Operator, error) {
	var p operator.ListParams
	for {
		page, err := service.List(ctx, p)
		if err != nil {
			return operator.Operator{}, err
		}
		for _, op := range page.Data {
			if strings.EqualFold(op.Email, email) {
				return op, nil
			}
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			return operator.Operator{}, fmt.Errorf("there is no operator %s", email)
		}
	}
}

// showCode prints where the code of an invitation is used.
func (c *call) showCode(code string) error {
	_, err := fmt.Fprintf(c.out, "Open this page within %.0f hours, and choose a password:\n\n  %s/dashboard/join#code=%s\n",
		operator.InvitationTTL.Hours(), c.config.URL(), code)
	return err
}
