package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// kindToken is the kind of the entries that tokens are kept in, under their
// digests and owned by their clients, and of the tallies that count the
// entries of each client.
const kindToken = "token"

// A token is what is kept of an access token. It holds everything that a
// request is judged by, so that checking one is a single read; whoever
// changes a client changes its tokens with it.
type token struct {
	Key       string    `json:"-"` // the digest
	ClientID  string    `json:"-"`
	IssuedAt  time.Time `json:"-"`
	ExpiresAt time.Time `json:"-"`

	SecretID string   `json:"secret_id"` // the secret it was issued for
	Scopes   []string `json:"scopes"`
	Products []string `json:"products,omitempty"`
}

func readToken(e store.Entry) (token, error) {
	var t token
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return token{}, fmt.Errorf("auth: token of client %s is unreadable: %w", e.Owner, err)
	}
	t.Key, t.ClientID, t.IssuedAt, t.ExpiresAt = e.Key, e.Owner, e.CreatedAt, e.ExpiresAt
	return t, nil
}

func (t token) put(ctx context.Context, tx store.Tx) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return tx.PutEntry(ctx, store.Entry{
		Kind: kindToken, Key: t.Key, Owner: t.ClientID, Data: data,
		ExpiresAt: t.ExpiresAt, CreatedAt: t.IssuedAt,
	})
}

// liveAt reports whether the token still counts.
func (t token) liveAt(now time.Time) bool { return now.Before(t.ExpiresAt) }

// endTokens removes the tokens of a client that were issued for any of the
// secrets; with none named, all its tokens.
func endTokens(ctx context.Context, tx store.Tx, clientID string, secretIDs ...string) error {
	return followClient(ctx, tx, clientID, func(t *token) bool {
		return len(secretIDs) > 0 && !slices.Contains(secretIDs, t.SecretID)
	})
}

// limitTokens makes the tokens of a client follow a change of its scopes or
// products. No token gains a scope it was not issued with, and one that has
// none left ends.
func limitTokens(ctx context.Context, tx store.Tx, clientID string, scopes, products []string) error {
	return followClient(ctx, tx, clientID, func(t *token) bool {
		t.Scopes = slices.DeleteFunc(t.Scopes, func(s string) bool { return !slices.Contains(scopes, s) })
		t.Products = products
		return len(t.Scopes) > 0
	})
}

// followClient calls keep with each token of a client, and writes it back as
// keep leaves it, or removes it if keep returns false.
func followClient(ctx context.Context, tx store.Tx, clientID string, keep func(*token) bool) error {
	var removed int64
	q := store.EntryQuery{Kind: kindToken, Owner: clientID, Limit: store.MaxLimit}
	for {
		entries, err := tx.Entries(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range entries {
			t, err := readToken(e)
			if err != nil {
				return err
			}
			if keep(&t) {
				err = t.put(ctx, tx)
			} else {
				err = tx.DeleteEntry(ctx, kindToken, e.Key)
				removed++
			}
			if err != nil {
				return err
			}
		}
		if len(entries) < q.Limit {
			break
		}
		last := entries[len(entries)-1]
		q.After = store.Position{Time: last.ExpiresAt, ID: last.Key}
	}
	if removed == 0 {
		return nil
	}
	return tx.AddTally(ctx, kindToken, clientID, -removed)
}
