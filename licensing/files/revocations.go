package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// listValid is how long a revocation list is valid.
const listValid = 7 * 24 * time.Hour

// listKind is the kind of the entries that hold the sequence of the last
// revocation list of a product, by product ID.
const listKind = "revocation_list"

// maxAhead is how far ahead of the clock a sequence may be. Programs refuse lists
// that are more than a day ahead, and their clocks may be ahead by the leeway.
const maxAhead = 24*time.Hour + licensefile.Leeway

// A listRecord is the data of such an entry.
type listRecord struct {
	Sequence    int64     `json:"sequence"`
	RestartedAt time.Time `json:"restarted_at,omitzero"` // when the sequence was last too far ahead
}

// ahead reports whether a sequence is too far ahead of the clock.
func (l listRecord) ahead(now time.Time) bool { return l.Sequence > now.Add(maxAhead).UnixMilli() }

// SignRevocationsParams are the parameters of [Service.SignRevocations].
type SignRevocationsParams struct {
	ProductID string
	// Licenses are those of which files are refused, until the last of these
	// files has expired.
	Licenses []licensefile.RevokedLicense
}

// SignRevocations returns a revocation list of a product, signed with the active
// key and valid for seven days. It condemns the compromised keys that are older
// than the active one. Its sequence is the time in Unix milliseconds, or one more
// than that of the previous list if that is higher, in all processes together.
// If the previous one is more than a day ahead, it is from a wrong clock, and
// programs with a right clock have refused the list: the sequence is the time
// again. The sequence is stored before the list is signed.
//
// It returns the errors of [licensefile.SignRevocations], or says why the
// private half of the key cannot be used.
func (s *Service) SignRevocations(ctx context.Context, p SignRevocationsParams) (string, error) {
	if p.ProductID == "" {
		return "", fmt.Errorf("%w: a revocation list needs a product", licensefile.ErrMalformed)
	}
	var list licensefile.Revocations
	var active record
	err := s.edit(ctx, func(e *edit) error {
		active = *e.ring.find(KeyActive)
		list = licensefile.Revocations{
			ProductID: p.ProductID, Licenses: p.Licenses, IssuedAt: e.now, ExpiresAt: e.now.Add(listValid),
			CondemnedKeys: e.ring.condemned(active),
		}
		var err error
		list.Sequence, err = e.nextSequence(ctx, p.ProductID)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("revocation list: %w", err)
	}
	signer, err := s.cachedSigner(active)
	if err != nil {
		return "", fmt.Errorf("signing key %s: %w", active.ID, err)
	}
	return licensefile.SignRevocations(list, signer)
}

// condemned returns the IDs of the compromised keys before a key.
func (r ring) condemned(before record) (ids []string) {
	for _, rec := range r {
		if rec.State == KeyCompromised && rec.Number < before.Number {
			ids = append(ids, rec.ID)
		}
	}
	return ids
}

// nextSequence stores the sequence of a new list.
func (e *edit) nextSequence(ctx context.Context, productID string) (int64, error) {
	var last listRecord
	entry, err := e.tx.Entry(ctx, listKind, productID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		entry = store.Entry{Kind: listKind, Key: productID, CreatedAt: e.now}
	case err != nil:
		return 0, err
	default:
		if err := json.Unmarshal(entry.Data, &last); err != nil {
			return 0, err
		}
	}
	if last.ahead(e.now) {
		last = listRecord{RestartedAt: e.now}
	}
	last.Sequence = max(last.Sequence+1, e.now.UnixMilli())
	if entry.Data, err = json.Marshal(last); err != nil {
		return 0, err
	}
	return last.Sequence, e.tx.PutEntries(ctx, entry)
}

// A listAhead is a product whose revocation list was signed with a clock more than
// a day ahead.
type listAhead struct {
	ProductID string
	Since     time.Time // when a later list started again from the clock; zero: none has
}

// ListsAhead returns the products whose last revocation list is more than a day
// ahead, or whose sequence started again in the last day. It looks at the lists
// of the first thousand products.
func (i internals) ListsAhead(ctx context.Context) (ahead []listAhead, err error) {
	entries, err := i.s.st.Entries(ctx, store.EntryQuery{Kind: listKind, Limit: store.MaxLimit})
	if err != nil {
		return nil, fmt.Errorf("revocation lists: %w", err)
	}
	now := i.s.now()
	for _, entry := range entries {
		var last listRecord
		if err := json.Unmarshal(entry.Data, &last); err != nil {
			return nil, fmt.Errorf("revocation list of product %q: %w", entry.Key, err)
		}
		if last.ahead(now) || now.Sub(last.RestartedAt) < 24*time.Hour {
			ahead = append(ahead, listAhead{entry.Key, last.RestartedAt})
		}
	}
	return ahead, nil
}
