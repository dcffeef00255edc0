package host

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
)

// credentials let a program request access tokens.
type credentials struct {
	ID, Secret string
	Product    string // one that the client may create licenses of
}

// issue creates an API client with every scope. The store keeps only a digest of
// its secret.
func issue(ctx context.Context, a *auth.Auth, name string, products []string) (*credentials, error) {
	if name == "" {
		name = "Example"
	}
	client, secret, err := a.CreateClient(ctx, auth.CreateClientParams{
		Name:     name,
		Scopes:   []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite, auth.ScopeEventRead, auth.ScopeWebhookWrite},
		Products: products,
	})
	if err != nil {
		return nil, err
	}
	c := &credentials{ID: client.ID, Secret: secret, Product: seedProducts[0]}
	if len(products) > 0 {
		c.Product = products[0]
	}
	return c, nil
}

// setupCode returns the setup code for the first admin of the dashboard, or "" if
// an operator exists.
func setupCode(ctx context.Context, operators *operator.Service) (string, error) {
	code, err := operators.CreateSetupCode(ctx)
	if errors.Is(err, operator.ErrAlreadySetUp) {
		return "", nil
	}
	return code, err
}
