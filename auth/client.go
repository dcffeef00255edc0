package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Client is a program that can get access tokens.
type Client struct {
	ID       string // cid_…
	Name     string
	Scopes   []string // what its tokens may do, in the order of Scopes
	Products []string // the IDs of the products it is limited to; nil: all products
	Disabled bool     // a disabled client gets no tokens, and its tokens are refused
	Secrets  []Secret // the valid ones, oldest first

	CreatedAt time.Time
	UpdatedAt time.Time

	// LastUsedAt is the time of its last token, accurate to five minutes;
	// zero: never. LastUsedVia is how it sent its secret then: "basic",
	// "form", "json" or "query".
	LastUsedAt  time.Time
	LastUsedVia string
}

// CreateClientParams are the parameters of [Auth.CreateClient].
type CreateClientParams struct {
	Name     string   // 1–255 characters
	Scopes   []string // nil: license:read and license:write
	Products []string // 1–100 product IDs; nil: all products
}

// CreateClient adds a client, appends client.created, and returns the client and
// its first secret, which cannot be read again. Without Scopes, the client may
// read and write licenses. If a parameter is invalid, CreateClient returns an
// [*api.InvalidError].
func (a *Auth) CreateClient(ctx context.Context, p CreateClientParams) (client Client, secret string, err error) {
	if p.Scopes == nil {
		p.Scopes = []string{ScopeLicenseRead, ScopeLicenseWrite}
	}
	now := a.now()
	secret, stored := newSecret(now)
	c := clientRecord{
		ID: newCredential(clientPrefix), CreatedAt: now, UpdatedAt: now,
		Secrets: []secretRecord{stored},
	}
	if err := c.setFields(p.Name, p.Scopes, p.Products); err != nil {
		return Client{}, "", err
	}
	err = a.st.Update(ctx, func(tx store.Tx) error {
		if err := c.put(ctx, tx); err != nil {
			return err
		}
		return a.appendEvent(ctx, tx, api.EventClientCreated, c, nil)
	})
	if err != nil {
		return Client{}, "", fmt.Errorf("auth: create client: %w", err)
	}
	return c.view(now), secret, nil
}

// GetClient returns the client with that ID, or [api.ErrNotFound].
func (a *Auth) GetClient(ctx context.Context, id string) (Client, error) {
	c, err := clientByID(ctx, a.st, id)
	if err != nil {
		return Client{}, fmt.Errorf("auth: get client: %w", err)
	}
	return c.view(a.now()), nil
}

// ListClientsParams are the parameters of [Auth.ListClients].
type ListClientsParams struct {
	Cursor string // the NextCursor of an earlier page; empty: start at the beginning
	Limit  int    `json:"limit" validate:"min=0,max=200"` // 1–200; zero: 50
}

// ListClients returns a page of clients in the order of their IDs, which are
// random. It returns an [*api.InvalidError] about "limit".
func (a *Auth) ListClients(ctx context.Context, p ListClientsParams) (api.Page[Client], error) {
	if err := check(p); err != nil {
		return api.Page[Client]{}, err
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	now := a.now()
	data, next, err := entries.Page(ctx, a.st, kindClient, p.Cursor, p.Limit, func(e store.Entry) (Client, error) {
		c, err := readClient(e)
		return c.view(now), err
	})
	if err != nil {
		return api.Page[Client]{}, fmt.Errorf("auth: list clients: %w", err)
	}
	return api.Page[Client]{Data: data, HasMore: next != "", NextCursor: next}, nil
}

// UpdateClientParams are the parameters of [Auth.UpdateClient]. Fields that are
// nil are not changed.
type UpdateClientParams struct {
	ID       string
	Name     *string
	Scopes   *[]string
	Products *[]string // a pointer to a nil slice: all products
	Disabled *bool
}

// UpdateClient changes a client. The change applies to existing tokens,
// immediately in this process and within one second in others: the tokens of a
// disabled client end, and no token keeps a scope or a product that its client
// has lost. Enabling the client or adding the scope again does not restore a
// token.
//
// It appends client.disabled if it disables the client, client.updated if it
// changes anything else, and no event if it changes nothing. It returns
// [api.ErrNotFound] or an [*api.InvalidError].
func (a *Auth) UpdateClient(ctx context.Context, p UpdateClientParams) (Client, error) {
	return a.changeClient(ctx, "update client", p.ID, func(c *clientRecord) (eventType string, err error) {
		before := *c
		if err := c.setFields(or(p.Name, c.Name), or(p.Scopes, c.Scopes), or(p.Products, c.Products)); err != nil {
			return "", err
		}
		c.Disabled = or(p.Disabled, c.Disabled)
		if c.Disabled && !before.Disabled {
			c.lose(before.Scopes)
			return api.EventClientDisabled, nil
		}
		c.lose(slices.DeleteFunc(slices.Clone(before.Scopes), func(s string) bool { return slices.Contains(c.Scopes, s) }))
		return api.EventClientUpdated, nil
	})
}

// or returns *p, or v if p is nil.
func or[T any](p *T, v T) T {
	if p != nil {
		return *p
	}
	return v
}

// changeClient runs change on the stored client. If that changes anything, it
// stores the client and appends an event of the type that change returns. The verb is
// for errors.
func (a *Auth) changeClient(ctx context.Context, verb, id string, change func(*clientRecord) (eventType string, err error)) (Client, error) {
	now := a.now()
	var c clientRecord
	err := a.st.Update(ctx, func(tx store.Tx) (err error) {
		if c, err = clientByID(ctx, tx, id); err != nil {
			return err
		}
		c.dropExpired(now)
		before := c
		eventType, err := change(&c)
		if err != nil {
			return err
		}
		changes := c.changes(before)
		if len(changes) == 0 {
			return nil
		}
		c.UpdatedAt = now
		if err := c.put(ctx, tx); err != nil {
			return err
		}
		return a.appendEvent(ctx, tx, eventType, c, changes)
	})
	a.cache.flush()
	if err != nil {
		return Client{}, fmt.Errorf("auth: %s: %w", verb, err)
	}
	return c.view(now), nil
}

// kindClient is the kind of the entries of clients. Their keys are the client IDs.
const kindClient = "client"

// A clientRecord is the stored form of a client.
type clientRecord struct {
	ID        string    `json:"-"`
	CreatedAt time.Time `json:"-"`

	Name        string         `json:"name"`
	Scopes      []string       `json:"scopes"`
	Products    []string       `json:"products,omitempty"`
	Disabled    bool           `json:"disabled,omitempty"`
	Secrets     []secretRecord `json:"secrets"` // oldest first
	UpdatedAt   time.Time      `json:"updated_at"`
	LastUsedAt  time.Time      `json:"last_used_at,omitzero"`
	LastUsedVia string         `json:"last_used_via,omitempty"`

	// ExpiredSecrets are those whose tokens may still be valid, oldest first.
	ExpiredSecrets []expiredSecret `json:"expired_secrets,omitempty"`

	// Generation is the number of changes that removed scopes from tokens,
	// and LostScopes has the last one for each scope. Tokens of an earlier
	// generation do not have the scope, even if the client has it again.
	Generation int64            `json:"generation,omitempty"`
	LostScopes map[string]int64 `json:"lost_scopes,omitempty"`
}

// lose removes scopes from all existing tokens of the client.
func (c *clientRecord) lose(scopes []string) {
	if len(scopes) == 0 {
		return
	}
	c.Generation++
	lost := map[string]int64{}
	maps.Copy(lost, c.LostScopes)
	for _, s := range scopes {
		lost[s] = c.Generation
	}
	c.LostScopes = lost
}

func readClient(e store.Entry) (clientRecord, error) {
	c := clientRecord{ID: e.Key, CreatedAt: e.CreatedAt}
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return clientRecord{}, fmt.Errorf("client %s is unreadable: %w", e.Key, err)
	}
	return c, nil
}

// clientByID reads a client, or returns ErrNotFound.
func clientByID(ctx context.Context, r store.Reader, id string) (clientRecord, error) {
	if !wellFormed(clientPrefix, id) {
		return clientRecord{}, fmt.Errorf("client: %w; its ID is %s followed by %d letters and digits", api.ErrNotFound, clientPrefix, credentialLen-prefixLen)
	}
	e, err := r.Entry(ctx, kindClient, id)
	if errors.Is(err, store.ErrNotFound) {
		return clientRecord{}, fmt.Errorf("client %q: %w", id, api.ErrNotFound)
	}
	if err != nil {
		return clientRecord{}, err
	}
	return readClient(e)
}

func (c clientRecord) put(ctx context.Context, tx store.Tx) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return tx.PutEntries(ctx, store.Entry{Kind: kindClient, Key: c.ID, Data: data, CreatedAt: c.CreatedAt})
}

// setFields checks and sets the fields that callers choose. It copies the lists
// and removes duplicates.
func (c *clientRecord) setFields(name string, scopes, products []string) error {
	err := check(struct {
		Name     string   `json:"name" validate:"text"`
		Scopes   []string `json:"scopes" validate:"required,min=1,dive,scope"`
		Products []string `json:"products" validate:"omitempty,min=1,max=100,dive,text"`
	}{name, scopes, products})
	if err != nil {
		return err
	}
	c.Name, c.Scopes, c.Products = name, distinct(scopes), distinct(products)
	sortScopes(c.Scopes)
	return nil
}

// distinct returns a copy of list without duplicates.
func distinct(list []string) []string {
	var kept []string
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// view returns the client without what callers must not see.
func (c clientRecord) view(now time.Time) Client {
	v := Client{
		ID: c.ID, Name: c.Name, Scopes: slices.Clone(c.Scopes), Products: slices.Clone(c.Products),
		Disabled: c.Disabled, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		LastUsedAt: c.LastUsedAt, LastUsedVia: c.LastUsedVia,
	}
	for _, s := range rotation.Valid(c.Secrets, now) {
		v.Secrets = append(v.Secrets, s.Secret)
	}
	return v
}
