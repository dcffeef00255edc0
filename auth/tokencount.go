package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// kindTokenCount is the kind of the entries that count the tokens of a client.
// Key is the client's id, Data the count in decimal digits. Earlier versions could
// leave a count that is too high; see makeRoom.
const kindTokenCount = "token_count"

// tokenCounts has the counts of the tokens of clients that one update reads or
// changes.
type tokenCounts map[string]*tokenCount

type tokenCount struct {
	stored int64
	read   bool // stored is set
	change int64
}

func (n tokenCounts) of(clientID string) *tokenCount {
	c, ok := n[clientID]
	if !ok {
		c = &tokenCount{}
		n[clientID] = c
	}
	return c
}

// change adds delta to the count of a client.
func (n tokenCounts) change(clientID string, delta int) { n.of(clientID).change += int64(delta) }

// count returns the count of a client, as changed so far.
func (n tokenCounts) count(ctx context.Context, r store.Reader, clientID string) (int64, error) {
	c := n.of(clientID)
	if !c.read {
		stored, err := readTokenCount(ctx, r, clientID)
		if err != nil {
			return 0, err
		}
		c.stored, c.read = stored, true
	}
	return c.stored + c.change, nil
}

// purge removes some expired tokens of any clients and reports whether there may
// be more.
func (n tokenCounts) purge(ctx context.Context, tx store.Tx, now time.Time) (more bool, err error) {
	// The range excludes its end; times are stored in milliseconds.
	expired := store.TimeRange{Before: now.Add(time.Millisecond)}
	entries, err := tx.Entries(ctx, store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Expires: expired, Limit: purgeBatch})
	if err != nil || len(entries) == 0 {
		return false, err
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
		n.change(e.Owner, -tokensIn(e))
	}
	return len(entries) == purgeBatch, tx.DeleteEntries(ctx, kindToken, keys...)
}

// makeRoom removes the oldest tokens of a client that has more than limit, and
// reports whether the stored count was above it. If recount is true, it then first
// replaces that count by the number of tokens in the store. The entries that it
// returns are as in removeOldest.
func (n tokenCounts) makeRoom(ctx context.Context, tx store.Tx, clientID string, limit int, recount bool) (cut []store.Entry, full bool, err error) {
	count, err := n.count(ctx, tx, clientID)
	if err != nil || int(count) <= limit {
		return nil, false, err
	}
	have := int(count)
	if recount {
		if have, err = countTokens(ctx, tx, clientID); err != nil {
			return nil, false, err
		}
		n.change(clientID, have-int(count))
	}
	if have > limit {
		cut, err = n.removeOldest(ctx, tx, clientID, min(have-limit, evictBatch))
	}
	return cut, true, err
}

// removeOldest removes the oldest tokens of a client. It returns the entry of which it
// removes only some tokens, without these, for the caller to write.
func (n tokenCounts) removeOldest(ctx context.Context, tx store.Tx, clientID string, number int) (cut []store.Entry, err error) {
	var (
		after store.Position
		keys  []string
		page  = min(number, 2) // entries, which usually have enough tokens
	)
	left := number
	for left > 0 {
		entries, err := tx.Entries(ctx, store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Owner: clientID, After: after, Limit: page})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			t, size := readTokens(e)
			switch {
			case size <= left:
				keys = append(keys, e.Key)
				left -= size
			case left > 0:
				t.Digests = t.Digests[left*digestLen:]
				if e, err = t.entry(); err != nil {
					return nil, err
				}
				cut, left = append(cut, e), 0
			}
			after = store.Position{Time: e.ExpiresAt, ID: e.Key}
		}
		if len(entries) < page {
			break
		}
		page = left
	}
	n.change(clientID, left-number)
	if len(keys) == 0 {
		return cut, nil
	}
	return cut, tx.DeleteEntries(ctx, kindToken, keys...)
}

// put writes tokens and the counts that have changed.
func (n tokenCounts) put(ctx context.Context, tx store.Tx, entries ...store.Entry) error {
	for clientID, c := range n {
		if c.change == 0 {
			continue
		}
		count, err := n.count(ctx, tx, clientID)
		if err != nil {
			return err
		}
		if count > 0 {
			entries = append(entries, store.Entry{
				Kind: kindTokenCount, Key: clientID, Data: strconv.AppendInt(nil, count, 10), Move: store.Passing,
			})
		} else if c.stored != 0 { // otherwise the client has been deleted
			if err := tx.DeleteEntries(ctx, kindTokenCount, clientID); err != nil {
				return err
			}
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return tx.PutEntries(ctx, entries...)
}

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

// countTokens returns how many tokens of a client are in the store.
func countTokens(ctx context.Context, r store.Reader, clientID string) (count int, err error) {
	var after store.Position
	for {
		page, err := r.Entries(ctx, store.EntryQuery{
			Kind: kindToken, Order: store.ByExpiry, Owner: clientID, After: after, Limit: store.MaxLimit,
		})
		for _, e := range page {
			count += tokensIn(e)
		}
		if err != nil || len(page) < store.MaxLimit {
			return count, err
		}
		last := page[len(page)-1]
		after = store.Position{Time: last.ExpiresAt, ID: last.Key}
	}
}
