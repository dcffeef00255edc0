package license

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// All yields the licenses that p selects, page after page, and ends with the
// first error. Limit and Cursor of p are not used. Each page is one read: what
// is created, changed or deleted meanwhile may or may not be seen.
func (s *Service) All(ctx context.Context, p ListParams) iter.Seq2[License, error] {
	return func(yield func(License, error) bool) {
		p.Limit, p.Cursor = maxLimit, ""
		for {
			page, err := s.List(ctx, p)
			if err != nil {
				yield(License{}, err)
				return
			}
			for _, l := range page.Data {
				if !yield(l, nil) {
					return
				}
			}
			if p.Cursor = page.NextCursor; p.Cursor == "" {
				return
			}
		}
	}
}

// A Row is one license on its way in or out: a line of NDJSON with the fields
// of [CreateParams] and those below, and no other. It carries no activations
// and no events: after an import, programs activate again. To copy
// activations and events too, copy the whole store with store.Export.
type Row struct {
	ID string `json:"id,omitempty"`
	CreateParams
	State       store.State `json:"state,omitempty" validate:"omitempty,oneof=active suspended revoked"` // empty: active
	StateReason string      `json:"state_reason,omitempty" validate:"omitempty,text"`
	CreatedAt   *time.Time  `json:"created_at,omitempty" validate:"omitempty,instant" wire:"nullable"` // nil: now
}

// row returns l as it leaves.
func (l License) row() Row {
	row := Row{ID: l.ID, CreateParams: l.params(), State: store.StateActive, StateReason: l.StatusReason, CreatedAt: &l.CreatedAt}
	if l.Status == StatusSuspended || l.Status == StatusRevoked {
		row.State = store.State(l.Status)
	}
	return row
}

// Export writes the licenses that p selects to w, a [Row] a line, as
// [Service.All] yields them. It writes their keys, so keep it like them.
func (s *Service) Export(ctx context.Context, w io.Writer, p ListParams) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for l, err := range s.All(ctx, p) {
		if err == nil {
			err = encoder.Encode(l.row())
		}
		if err != nil {
			return fmt.Errorf("export licenses: %w", err)
		}
	}
	return nil
}
