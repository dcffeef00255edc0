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
	Named       int       `json:"named,omitzero"`        // how many licenses the list named, or would have named
	NamedAt     time.Time `json:"named_at,omitzero"`
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
func (s *Service) SignRevocations(ctx context.Context, p SignRevocationsParams) (signed string, err error) {
	if p.ProductID == "" {
		return "", fmt.Errorf("%w: a revocation list needs a product", licensefile.ErrMalformed)
	}
	return s.signList(ctx, licensefile.Revocations{ProductID: p.ProductID, Licenses: p.Licenses}, true)
}

// signList adds to a list what all lists have, and signs it. If the next list of the
// product needs a higher sequence, keep is true, and the sequence is stored. A list
// without it has the time, or the stored sequence if that is higher.
func (s *Service) signList(ctx context.Context, list licensefile.Revocations, keep bool) (string, error) {
	var active record
	complete := func(r store.Reader, all ring, now time.Time) (last listRecord, err error) {
		active = *all.find(KeyActive)
		list.IssuedAt, list.ExpiresAt, list.CondemnedKeys = now, now.Add(listValid), all.condemned(active)
		if last, err = listRecordOf(ctx, r, list.ProductID); err == nil && last.ahead(now) {
			last.Sequence, last.RestartedAt = 0, now
		}
		return last, err
	}
	var err error
	if keep {
		err = s.edit(ctx, func(e *edit) error {
			last, err := complete(e.tx, e.ring, e.now)
			if err != nil {
				return err
			}
			last.Sequence = max(last.Sequence+1, e.now.UnixMilli())
			if list.LicenseHash == "" {
				last.Named, last.NamedAt = len(list.Licenses), e.now
			}
			list.Sequence = last.Sequence
			return e.putListRecord(ctx, list.ProductID, last)
		})
	} else if all, failed := s.recent(ctx); failed != nil {
		err = failed
	} else {
		now := s.now()
		var last listRecord
		last, err = complete(s.st, all, now)
		list.Sequence = max(last.Sequence, now.UnixMilli())
	}
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

// listRecordOf returns what is stored about the lists of a product.
func listRecordOf(ctx context.Context, r store.Reader, productID string) (last listRecord, err error) {
	entry, err := r.Entry(ctx, listKind, productID)
	if errors.Is(err, store.ErrNotFound) {
		return last, nil
	} else if err == nil {
		err = json.Unmarshal(entry.Data, &last)
	}
	return last, err
}

func (e *edit) putListRecord(ctx context.Context, productID string, last listRecord) error {
	data, err := json.Marshal(last)
	if err != nil {
		return err
	}
	return e.tx.PutEntries(ctx, store.Entry{Kind: listKind, Key: productID, CreatedAt: e.now, Data: data})
}

// noteSize stores how many licenses the list of a product would name.
func (s *Service) noteSize(ctx context.Context, productID string, named int) error {
	return s.edit(ctx, func(e *edit) error {
		last, err := listRecordOf(ctx, e.tx, productID)
		if err != nil {
			return err
		}
		last.Named, last.NamedAt = named, e.now
		return e.putListRecord(ctx, productID, last)
	})
}

// A listState is a revocation list that an operator should look at.
type listState struct {
	ProductID string
	Ahead     bool      // signed with a clock more than a day ahead
	Since     time.Time // when a later list started again from the clock; zero: none has
	Named     int       // how many licenses it names, if that is more than half of [licensefile.MaxListed]; otherwise 0
}

// TroubledLists returns the products whose last revocation list is more than a day
// ahead, or whose sequence started again in the last day, and those whose list in
// the last week was half full or more. It looks at the lists of the first thousand products.
func (i internals) TroubledLists(ctx context.Context) (troubled []listState, err error) {
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
		l := listState{ProductID: entry.Key, Ahead: last.ahead(now) || now.Sub(last.RestartedAt) < 24*time.Hour, Since: last.RestartedAt}
		if last.Named > licensefile.MaxListed/2 && now.Sub(last.NamedAt) < listValid {
			l.Named = last.Named
		}
		if l.Ahead || l.Named > 0 {
			troubled = append(troubled, l)
		}
	}
	return troubled, nil
}
