package admin

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// intoCSV imports a CSV file as the dashboard does. Without write, it only checks.
func (m *move) intoCSV(ctx context.Context, c *call, s *license.Service, write bool) (counts map[string]int, refused []string, err error) {
	preview, err := inner.Of(s).MoveIn().PreviewMove(ctx, m.csv)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.args[0], err)
	}
	if len(preview.Metadata) > 0 {
		fmt.Fprintln(c.out, "metadata  "+strings.Join(preview.Metadata, ", "))
	}
	counts = map[string]int{}
	take := func(r api.RowResult) error {
		counts[r.Result]++
		for _, e := range r.Errors {
			refused = append(refused, fmt.Sprintf("row %d: %s", r.Line, strings.TrimSpace(e.Field+" "+e.Detail)))
		}
		return nil
	}
	for _, r := range preview.Results {
		if !write || r.Result == api.ImportRefused {
			_ = take(r)
		}
	}
	if write {
		err = s.Import(ctx, bytes.NewReader(preview.NDJSON), take)
	}
	return counts, refused, err
}
