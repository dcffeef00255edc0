package auth

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// kindToken is the kind of the entries of tokens, with the digest as the key and
// the client as the owner, and of the tallies that count them by client.
const kindToken = "token"

// A token is the stored form of an access token. What it allows also depends on
// the current state of its client; see narrow. Changing a client
// therefore never writes its tokens: tokens that end stay in the store until they
// expire and are purged.
type token struct {
	Key       string    `json:"-"` // the digest
	ClientID  string    `json:"-"`
	IssuedAt  time.Time `json:"-"`
	ExpiresAt time.Time `json:"-"`

	SecretID   string   `json:"secret_id"` // the secret it was issued for
	Scopes     []string `json:"scopes"`
	Generation int64    `json:"generation,omitempty"` // of the client when it was issued

	Products []string `json:"-"` // those of the client
}

func readToken(e store.Entry) (token, error) {
	var t token
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return token{}, fmt.Errorf("auth: token of client %s is unreadable: %w", e.Owner, err)
	}
	t.Key, t.ClientID, t.IssuedAt, t.ExpiresAt = e.Key, e.Owner, e.CreatedAt, e.ExpiresAt
	return t, nil
}

// entry returns the entry of the token.
func (t token) entry() (store.Entry, error) {
	data, err := json.Marshal(t)
	return store.Entry{
		Kind: kindToken, Key: t.Key, Owner: t.ClientID, Data: data,
		ExpiresAt: t.ExpiresAt, CreatedAt: t.IssuedAt, Move: store.Passing,
	}, err
}

// liveAt reports whether the token has not expired.
func (t token) liveAt(now time.Time) bool { return now.Before(t.ExpiresAt) }

// narrow limits t to what its client allows and reports whether any scope
// remains. A scope remains if the client has it and has not lost it since t was
// issued. A token of a revoked secret keeps no scope; a token of an expired
// secret keeps its scopes. The products are those of the client.
func (t *token) narrow(c clientRecord) bool {
	t.Scopes = slices.DeleteFunc(t.Scopes, func(s string) bool {
		return !slices.Contains(c.Scopes, s) || t.Generation < c.LostScopes[s]
	})
	t.Products = c.Products
	return !c.Disabled && c.hadSecret(t.SecretID) && len(t.Scopes) > 0
}
