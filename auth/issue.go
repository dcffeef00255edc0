package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// purgeBatch is the largest number of expired tokens that one issue removes.
	purgeBatch = 10
	// evictBatch is the largest number of tokens over the limit that one
	// issue removes. More are over the limit only after it was lowered.
	evictBatch = 100
	// useStep is how often the time of the last use is updated.
	useStep = 5 * time.Minute
)

// issue returns a new token for the requested scope. The update that writes the
// token verifies the client again, so that a change in between applies to it.
func (a *Auth) issue(r *http.Request, client verified, scope string) (raw string, t token, err error) {
	raw = newCredential(tokenPrefix)
	t = token{
		Key: digest(raw), ClientID: client.ID, IssuedAt: client.at, ExpiresAt: client.at.Add(a.opts.Tokens.TTL),
	}
	if t.Scopes, err = client.grant(scope); err != nil {
		return "", token{}, err
	}
	ctx, more, evicted := r.Context(), false, false
	purge, recount := a.purges.due(client.at), a.recounts.due(client.ID)
	err = a.st.Update(ctx, func(tx store.Tx) error {
		now, err := client.reload(ctx, tx)
		if err != nil {
			return err
		}
		if t.Scopes, err = now.grant(scope); err != nil {
			return err
		}
		t.SecretID, t.Generation = now.secretID, now.Generation

		count := tokenCount{}
		if purge {
			if more, err = count.purge(ctx, tx, now.at); err != nil {
				return err
			}
		}
		if recount {
			n, err := count.makeRoom(ctx, tx, now.ID, a.opts.Tokens.Max-a.recounts.every)
			if err != nil {
				return err
			}
			evicted = evicted || n > 0
		}
		if err := t.put(ctx, tx); err != nil {
			return err
		}
		count[now.ID]++
		if err := count.add(ctx, tx); err != nil {
			return err
		}
		return now.noteUse(ctx, tx)
	})
	if evicted {
		a.cache.flush()
	}
	if purge && (more || err != nil) {
		a.purges.reset()
	}
	if recount && err != nil {
		a.recounts.reset(client.ID)
	}
	if errors.Is(err, errBadClient) {
		err = a.failed(r, client.creds)
	}
	return raw, t, err
}

// reload verifies the client as stored in tx.
func (v verified) reload(ctx context.Context, tx store.Tx) (verified, error) {
	e, err := tx.Entry(ctx, kindClient, v.ID)
	if errors.Is(err, store.ErrNotFound) {
		return v, errBadClient
	}
	if err != nil || bytes.Equal(e.Data, v.data) {
		return v, err
	}
	err = v.accept(e, true)
	return v, err
}

// grant returns the scopes of a token for a request with the parameter scope.
func (c clientRecord) grant(scope string) ([]string, error) {
	if scope == "" {
		return c.Scopes, nil
	}
	asked, ok := parseScope(scope)
	if !ok {
		return nil, invalidScope("The scope must be names separated by single spaces.")
	}
	for _, s := range asked {
		if !slices.Contains(c.Scopes, s) {
			return nil, invalidScope("The scope exceeds the scopes of the client.")
		}
	}
	scopes := distinct(asked)
	sortScopes(scopes)
	return scopes, nil
}

func invalidScope(description string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_scope", Description: description}
}

// noteUse stores the time at which the secret was used, unless the stored time
// is recent. A time in the future was stored while a clock was ahead and is
// replaced.
func (v verified) noteUse(ctx context.Context, tx store.Tx) error {
	c := v.clientRecord
	c.Secrets = slices.Clone(c.Secrets)
	i := slices.IndexFunc(c.Secrets, func(s secretRecord) bool { return s.ID == v.secretID })
	if since := v.at.Sub(c.Secrets[i].LastUsedAt); since >= 0 && since < useStep {
		return nil
	}
	c.Secrets[i].LastUsedAt = v.at
	c.LastUsedAt, c.LastUsedVia = v.at, v.creds.via
	return c.put(ctx, tx)
}

// A tokenCount has the change in the number of tokens of each client in one
// update.
type tokenCount map[string]int64

// purge removes some expired tokens of any clients and reports whether there may
// be more.
func (n tokenCount) purge(ctx context.Context, tx store.Tx, now time.Time) (more bool, err error) {
	// The range excludes its end; times are stored in milliseconds.
	expired := store.TimeRange{Before: now.Add(time.Millisecond)}
	removed, err := n.remove(ctx, tx, store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Expires: expired, Limit: purgeBatch})
	return removed == purgeBatch, err
}

// makeRoom removes the oldest tokens of a client that has too many, and returns
// how many it removed.
func (n tokenCount) makeRoom(ctx context.Context, tx store.Tx, clientID string, limit int) (int, error) {
	count, err := readTokenCount(ctx, tx, clientID)
	if err != nil {
		return 0, err
	}
	over := int(count+n[clientID]) - limit
	if over <= 0 {
		return 0, nil
	}
	return n.remove(ctx, tx, store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Owner: clientID, Limit: min(over, evictBatch)})
}

// remove removes the tokens that q selects and returns their number.
func (n tokenCount) remove(ctx context.Context, tx store.Tx, q store.EntryQuery) (int, error) {
	entries, err := tx.Entries(ctx, q)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
		n[e.Owner]--
	}
	return len(entries), tx.DeleteEntries(ctx, kindToken, keys...)
}

// add writes the changes to the counts.
func (n tokenCount) add(ctx context.Context, tx store.Tx) error {
	for clientID, delta := range n {
		if delta == 0 {
			continue
		}
		count, err := readTokenCount(ctx, tx, clientID)
		if err != nil {
			return err
		}
		if count += delta; count != 0 {
			err = tx.PutEntries(ctx, store.Entry{Kind: kindTokenCount, Key: clientID, Data: strconv.AppendInt(nil, count, 10), Move: store.Passing})
		} else if delta < 0 {
			err = tx.DeleteEntries(ctx, kindTokenCount, clientID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kindTokenCount is the kind of the entries that count the tokens of a client.
// Key is the client's id, Data the count in decimal digits.
const kindTokenCount = "token_count"

// readTokenCount returns how many tokens of a client there are.
func readTokenCount(ctx context.Context, r store.Reader, clientID string) (int64, error) {
	e, err := r.Entry(ctx, kindTokenCount, clientID)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	count, err := strconv.ParseInt(string(e.Data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("auth: count of the tokens of %s: %w", clientID, err)
	}
	return count, nil
}
