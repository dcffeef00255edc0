package admin

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// createClient creates credentials for the API. Their secret cannot be read again.
func createClient(ctx context.Context, c *call) error {
	return c.with(ctx, func(db *Database) error {
		client, secret, err := licensing.NewHandler(db, c.config.Options).Auth().CreateClient(ctx, auth.CreateClientParams{
			Name: c.args[0], Scopes: strings.FieldsFunc(c.args[1], func(r rune) bool { return r == ',' || unicode.IsSpace(r) }),
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "client_id      %s\nclient_secret  %s\n", client.ID, secret)
		return err
	})
}
