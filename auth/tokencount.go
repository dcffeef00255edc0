package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/store"
)

// kindTokenCount is the kind of the entries that count the tokens of a client.
// Key is the client's id, Data the count in decimal digits.
const kindTokenCount = "token_count"

// readTokenCount returns the stored count of a client's tokens.
func readTokenCount(ctx context.Context, r store.Reader, clientID string) (int, error) {
	e, err := r.Entry(ctx, kindTokenCount, clientID)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	count, err := strconv.Atoi(string(e.Data))
	if err != nil {
		return 0, fmt.Errorf("auth: count of the tokens of %s: %w", clientID, err)
	}
	return count, nil
}

// changeTokenCount adds delta to the count of a client, and writes tokens with it.
func changeTokenCount(ctx context.Context, tx store.Tx, clientID string, delta int, tokens ...store.Entry) error {
	count, err := readTokenCount(ctx, tx, clientID)
	if err != nil {
		return err
	}
	return putTokens(ctx, tx, clientID, count, count+delta, tokens)
}

// putTokens writes tokens of a client and, if that changes, how many it has.
func putTokens(ctx context.Context, tx store.Tx, clientID string, before, after int, tokens []store.Entry) error {
	switch {
	case after == before:
	case after > 0:
		tokens = append(tokens, store.Entry{
			Kind: kindTokenCount, Key: clientID, Data: strconv.AppendInt(nil, int64(after), 10), Move: store.Passing,
		})
	case before > 0: // otherwise the client has been deleted
		if err := tx.DeleteEntries(ctx, kindTokenCount, clientID); err != nil {
			return err
		}
	}
	return tx.PutEntries(ctx, tokens...)
}

// removeOldest removes the oldest tokens of a client and returns how many. It also
// returns the entry of which it removes only some tokens, without these, for the
// caller to write.
func removeOldest(ctx context.Context, tx store.Tx, clientID string, number int) (removed int, cut []store.Entry, err error) {
	var keys []string
	q := store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Owner: clientID, Limit: min(number, 2)} // entries, which usually have enough tokens
	for removed < number {
		entries, err := tx.Entries(ctx, q)
		if err != nil {
			return 0, nil, err
		}
		for _, e := range entries {
			t, size := readTokens(e)
			switch left := number - removed; {
			case size <= left:
				keys = append(keys, e.Key)
				removed += size
			case left > 0:
				t.Digests = t.Digests[left*digestLen:]
				if e, err = t.entry(); err != nil {
					return 0, nil, err
				}
				cut, removed = append(cut, e), number
			}
			q.After = store.Position{Time: e.ExpiresAt, ID: e.Key}
		}
		if len(entries) < q.Limit {
			break
		}
		q.Limit = number - removed
	}
	if len(keys) > 0 {
		err = tx.DeleteEntries(ctx, kindToken, keys...)
	}
	return removed, cut, err
}
