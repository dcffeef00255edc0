package seal

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Renewed counts what [Renew] has done and could not do.
type Renewed struct {
	Secrets    int // encrypted again
	Unreadable int // encrypted with another key, and left as they are
}

// Renew encrypts the secrets in all entries of a kind with the current master
// key. edit, which may run several times, returns the new data of an entry, nil if
// it does not change, and counts with [Box.Renew]. Each entry is read again in the
// Update that writes it, so other processes may change entries meanwhile. After an
// error, a new call does the rest.
func Renew(ctx context.Context, st store.Store, kind string, edit func(e store.Entry, n *Renewed) (data []byte, err error)) (total Renewed, err error) {
	for e, err := range entries.All(ctx, st, store.EntryQuery{Kind: kind}) {
		var n Renewed
		var data []byte
		if err == nil {
			data, err = edit(e, &n)
		}
		if err == nil && data != nil {
			n, err = renewEntry(ctx, st, kind, e.Key, edit)
		}
		if err != nil {
			return total, err
		}
		total.Secrets += n.Secrets
		total.Unreadable += n.Unreadable
	}
	return total, nil
}

func renewEntry(ctx context.Context, st store.Store, kind, key string, edit func(store.Entry, *Renewed) ([]byte, error)) (n Renewed, err error) {
	err = st.Update(ctx, func(tx store.Tx) error {
		n = Renewed{}
		e, err := tx.Entry(ctx, kind, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		data, err := edit(e, &n)
		if err != nil || data == nil {
			return err
		}
		e.Data = data
		return tx.PutEntries(ctx, e)
	})
	return n, err
}

// Renew returns a secret encrypted with the current master key, and counts it. It
// returns nil if the secret does not change: it is encrypted with that key or with
// an unknown one. If sealed is nil, the secret is stored in plain text.
func (b Box) Renew(n *Renewed, clear, sealed, about []byte) (renewed []byte, err error) {
	if sealed != nil {
		current := false
		if clear, current, err = b.Open(sealed, about); err != nil {
			n.Unreadable++
			return nil, nil
		}
		if current {
			return nil, nil
		}
	}
	n.Secrets++
	return b.Seal(clear, about)
}
