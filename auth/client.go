package auth

import (
	"context"
	"errors"
	"time"
)

// A Client is a program that may ask for access tokens.
type Client struct {
	ID       string // cid_…
	Name     string
	Scopes   []string // what its tokens may do
	Products []string // the product ids it is limited to; nil: all products
	Disabled bool     // a disabled client gets no tokens, and has none
	Secrets  []Secret // the live ones, oldest first

	CreatedAt time.Time
	UpdatedAt time.Time

	// LastUsedAt is when it was last given a token, to within five
	// minutes; zero: never. LastUsedVia is how it sent its secret then:
	// "basic", "form", "json" or "query".
	LastUsedAt  time.Time
	LastUsedVia string
}

// CreateClientParams are the parameters of [Auth.CreateClient].
type CreateClientParams struct {
	Name     string   // 1–255 characters
	Scopes   []string // nil: license:read and license:write
	Products []string // at most 100 product ids; nil: all products
}

// ListClientsParams are the parameters of [Auth.Clients].
type ListClientsParams struct {
	After string // the ID of the last client of the page before; empty: from the beginning
	Limit int    // 1–200; zero: 50
}

// UpdateClientParams are the parameters of [Auth.UpdateClient]. What is nil
// stays as it is.
type UpdateClientParams struct {
	ID       string
	Name     *string
	Scopes   *[]string
	Products *[]string // a pointer to a nil slice: all products
	Disabled *bool
}

var errNotYet = errors.New("auth: under construction")

// CreateClient adds a client and returns it with its first secret, which is
// shown this once and cannot be had again.
func (a *Auth) CreateClient(ctx context.Context, p CreateClientParams) (Client, string, error) {
	return Client{}, "", errNotYet
}

// Client returns the client with that id, or [ErrNotFound].
func (a *Auth) Client(ctx context.Context, id string) (Client, error) { return Client{}, errNotYet }

// Clients lists clients in order of their ids, which is no order of time.
func (a *Auth) Clients(ctx context.Context, p ListClientsParams) ([]Client, error) {
	return nil, errNotYet
}

// UpdateClient changes a client. Its tokens follow in the same update: those
// of a disabled client end, and no token keeps a scope or a product that its
// client has lost. Enabling a client again brings no token back.
func (a *Auth) UpdateClient(ctx context.Context, p UpdateClientParams) (Client, error) {
	return Client{}, errNotYet
}
