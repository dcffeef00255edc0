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
// Key is the client's id, Data the count in decimal digits. The count includes
// the tokens that processes have reserved and not yet issued; see issue.
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
// reports whether it removed any. If recount is true and the stored count is above
// the limit, makeRoom first replaces it by the number of tokens in the store, and
// reports that it did.
func (n tokenCounts) makeRoom(ctx context.Context, tx store.Tx, clientID string, limit int, recount bool) (removed, recounted bool, err error) {
	count, err := n.count(ctx, tx, clientID)
	if err != nil || int(count) <= limit {
		return false, false, err
	}
	have := int(count)
	if recount {
		if have, err = countTokens(ctx, tx, clientID); err != nil {
			return false, false, err
		}
		n.change(clientID, have-int(count))
	}
	if have > limit {
		removed = true
		err = n.removeOldest(ctx, tx, clientID, min(have-limit, evictBatch))
	}
	return removed, recount, err
}

// removeOldest removes the oldest tokens of a client. If it removes only some of
// the tokens of an entry, it writes the entry without them.
func (n tokenCounts) removeOldest(ctx context.Context, tx store.Tx, clientID string, number int) error {
	var (
		after store.Position
		keys  []string
		page  = min(number, 4) // entries, which usually have enough tokens
	)
	left := number
	for left > 0 {
		entries, err := tx.Entries(ctx, store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Owner: clientID, After: after, Limit: page})
		if err != nil {
			return err
		}
		for _, e := range entries {
			if size := tokensIn(e); size <= left {
				keys = append(keys, e.Key)
				left -= size
			} else if left > 0 {
				if err := dropTokens(ctx, tx, e, left); err != nil {
					return err
				}
				left = 0
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
		return nil
	}
	return tx.DeleteEntries(ctx, kindToken, keys...)
}

// dropTokens removes the first tokens of an entry that has more.
func dropTokens(ctx context.Context, tx store.Tx, e store.Entry, number int) error {
	t, err := readToken(e)
	if err != nil {
		return err
	}
	t.Digests = t.Digests[number*digestLen:]
	if e, err = t.entry(); err != nil {
		return err
	}
	return tx.PutEntries(ctx, e)
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
