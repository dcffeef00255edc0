package license

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// foldKind is the kind of the entry, with the key foldKey, that says how far each
// license has a Text of this version. Without it, searches read the documents
// instead: exact, but slower.
const (
	foldKind = "fold"
	foldKey  = "licenses"
)

// foldState is the data of the entry.
type foldState struct {
	Version  string `json:"version"`
	After    string `json:"after"` // the license up to which each has its Text
	Complete bool   `json:"complete"`
}

// foldBatch is how many licenses one Update writes.
const foldBatch = 50

// isFolded reports whether each license has a Text of this version.
func isFolded(ctx context.Context, r store.Reader) (bool, error) {
	state, err := readFold(ctx, r)
	return state.Complete, err
}

func readFold(ctx context.Context, r store.Reader) (foldState, error) {
	e, err := r.Entry(ctx, foldKind, foldKey)
	if errors.Is(err, store.ErrNotFound) {
		return foldState{Version: foldVersion}, nil
	}
	var state foldState
	if err == nil {
		err = decode(e.Data, &state)
	}
	if state.Version != foldVersion {
		state = foldState{Version: foldVersion}
	}
	return state, err
}

// fold sets the Text of a page of licenses that have none or one of another
// version. It reports whether there is more to do. An Import needs an empty store,
// so an empty one is not complete.
func (s *Service) fold(ctx context.Context) (more bool, err error) {
	state, err := readFold(ctx, s.st)
	if err != nil || state.Complete {
		return false, err
	}
	rows, err := s.st.Licenses(ctx, store.LicenseQuery{After: store.Position{ID: state.After}, Limit: store.MaxLimit})
	if err != nil || len(rows) == 0 && state.After == "" {
		return false, err
	}
	var stale []string
	for _, row := range rows {
		text, err := foldRow(row)
		if err != nil {
			return false, fmt.Errorf("prepare searches: %w", err)
		}
		if text != row.Text {
			stale = append(stale, row.ID)
		}
		state.After = row.ID
	}
	for ids := range slices.Chunk(stale, foldBatch) {
		if err := s.st.Update(ctx, func(tx store.Tx) error { return foldLicenses(ctx, tx, ids) }); err != nil {
			return false, fmt.Errorf("prepare searches: %w", err)
		}
	}
	state.Complete = len(rows) < store.MaxLimit
	err = s.st.Update(ctx, func(tx store.Tx) error {
		return tx.PutEntries(ctx, store.Entry{Kind: foldKind, Key: foldKey, Data: record.Encode(state), Move: store.Derived})
	})
	return !state.Complete, err
}

// foldLicenses sets the Text of some licenses. Their documents, revisions and
// events stay as they are.
func foldLicenses(ctx context.Context, tx store.Tx, ids []string) error {
	rows, err := tx.Licenses(ctx, store.LicenseQuery{IDs: ids, Limit: len(ids)})
	for _, row := range rows {
		if row.Text, err = foldRow(row); err != nil {
			return err
		}
		if err = tx.UpdateLicense(ctx, row); err != nil {
			return err
		}
	}
	return err
}
