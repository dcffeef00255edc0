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

// All iterates over the licenses that p selects and stops after the first
// error. It ignores p.Limit and p.Cursor. Each page is a separate read:
// licenses created, changed or deleted during the iteration may or may not
// be included.
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

// An ImportRow is one license in an import or export: a line of NDJSON with
// the fields of [CreateParams] and those below. It does not include
// activations or events; programs activate again after an import. To copy
// those as well, copy the whole store with store.Export.
type ImportRow struct {
	ID string `json:"id,omitempty"`
	CreateParams
	State       store.State `json:"state,omitempty" validate:"omitempty,oneof=active suspended revoked"` // empty: active
	StateReason string      `json:"state_reason,omitempty" validate:"omitempty,text"`
	CreatedAt   *time.Time  `json:"created_at,omitempty" validate:"omitempty,instant" wire:"nullable"` // nil: now
}

// row converts l for export.
func (l License) row() ImportRow {
	row := ImportRow{ID: l.ID, CreateParams: l.params(), State: store.StateActive, StateReason: l.StatusReason, CreatedAt: &l.CreatedAt}
	if l.Status == StatusSuspended || l.Status == StatusRevoked {
		row.State = store.State(l.Status)
	}
	return row
}

// Export writes the licenses that p selects to w, one [ImportRow] per line,
// in the order of [Service.All]. The output contains license keys unless the
// Caller may not see them; store it accordingly.
func (s *Service) Export(ctx context.Context, w io.Writer, p ListParams) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for l, err := range s.All(ctx, p) {
		row := l.row()
		if s.caller.MaskKeys {
			row.Key = ""
		}
		if err == nil {
			err = encoder.Encode(row)
		}
		if err != nil {
			return fmt.Errorf("export licenses: %w", err)
		}
	}
	return nil
}
