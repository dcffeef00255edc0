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
	// recountStep is how often a process counts the tokens of a client that is
	// at the limit, instead of relying on the stored count.
	recountStep = time.Hour
)

// issue returns a new token for the requested scope. The update that writes the
// token verifies the client again, so that a change in between applies to it.
//
// The stored count of the client's tokens grows by a batch at a time, for this
// token and the next ones of this process. A process that stops leaves the rest
// of its batch in the count, so that the count is too high; see makeRoom.
func (a *Auth) issue(r *http.Request, client verified, scope string) (raw string, t token, err error) {
	raw = newCredential(tokenPrefix)
	t = token{
		Key: digest(raw), ClientID: client.ID, IssuedAt: client.at, ExpiresAt: client.at.Add(a.opts.Tokens.TTL),
	}
	if t.Scopes, err = client.grant(scope); err != nil {
		return "", token{}, err
	}
	var (
		ctx                      = r.Context()
		now                      verified
		more, evicted, recounted bool
	)
	purge, reserve := a.purges.due(client.at), a.batches.due(client.ID)
	err = a.st.Update(ctx, func(tx store.Tx) (err error) {
		if now, err = client.reload(ctx, tx); err != nil {
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
		if reserve {
			n, exact, err := count.makeRoom(ctx, tx, now.ID, a.opts.Tokens.Max-a.batches.size, a.batches.recountDue(now.ID, now.at))
			if err != nil {
				return err
			}
			evicted, recounted = evicted || n > 0, exact
			count[now.ID] += int64(a.batches.size)
		}
		if err := t.put(ctx, tx); err != nil {
			return err
		}
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
	switch {
	case reserve && err != nil:
		a.batches.reset(client.ID)
	case recounted:
		a.batches.recounted(client.ID, client.at)
	}
	if errors.Is(err, errBadClient) {
		a.clients.drop(client.ID)
		return "", token{}, a.failed(r, client.creds)
	}
	if err == nil {
		a.clients.put(now)
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

// makeRoom removes the oldest tokens of a client that has more than limit, and
// returns how many it removed. If recount is true and the stored count is above
// the limit, makeRoom first replaces it by the number of tokens in the store, and
// reports that it did.
func (n tokenCount) makeRoom(ctx context.Context, tx store.Tx, clientID string, limit int, recount bool) (removed int, recounted bool, err error) {
	count, err := readTokenCount(ctx, tx, clientID)
	if err != nil || int(count+n[clientID]) <= limit {
		return 0, false, err
	}
	have := int(count + n[clientID])
	if recount {
		if have, err = countTokens(ctx, tx, clientID); err != nil {
			return 0, false, err
		}
		n[clientID] = int64(have) - count
	}
	if have > limit {
		removed, err = n.remove(ctx, tx, store.EntryQuery{
			Kind: kindToken, Order: store.ByExpiry, Owner: clientID, Limit: min(have-limit, evictBatch),
		})
	}
	return removed, recount, err
}

// countTokens returns how many tokens of a client are in the store.
func countTokens(ctx context.Context, r store.Reader, clientID string) (count int, err error) {
	var after store.Position
	for {
		page, err := r.Entries(ctx, store.EntryQuery{
			Kind: kindToken, Order: store.ByExpiry, Owner: clientID, After: after, Limit: store.MaxLimit,
		})
		count += len(page)
		if err != nil || len(page) < store.MaxLimit {
			return count, err
		}
		last := page[len(page)-1]
		after = store.Position{Time: last.ExpiresAt, ID: last.Key}
	}
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
// Key is the client's id, Data the count in decimal digits. The count includes
// the tokens that processes have reserved and not yet issued; see issue.
const kindTokenCount = "token_count"

// readTokenCount returns the stored count of a client's tokens.
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
