package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// A move is what an export of another service says, as licenses and plans of this
// one.
type move struct {
	plans []api.PutPlanParams
	rows  []api.LicenseRow
	from  []string       // what the rows are called in the export
	left  map[string]int // what was not carried over, and how often
	csv   []byte         // a CSV file instead of rows
}

// leave notes something that is not carried over.
func (m *move) leave(what string) { m.left[what]++ }

// moveIn reads an export of another service. It stores nothing unless MODE is
// write: a check does the same in a transaction that it undoes.
func moveIn(ctx context.Context, c *call) error {
	write := c.args[1] == "write"
	if !write && c.args[1] != "check" {
		return errors.New("MODE must be check or write")
	}
	return c.with(ctx, func(db *Database) error {
		m, err := readMove(c.args[0])
		if err != nil {
			return err
		}
		s := licensing.NewHandler(db, c.config.Options).Service()
		var counts map[string]int
		var refused []string
		run := func(s *license.Service) (err error) {
			counts, refused, err = m.into(ctx, s)
			return err
		}
		undone := errors.New("check only")
		if m.csv != nil {
			counts, refused, err = m.intoCSV(ctx, c, s, write)
		} else if write {
			err = run(s)
		} else if err = s.Atomically(ctx, func(s *license.Service) error { return errors.Join(run(s), undone) }); isOnly(err, undone) {
			err = nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "plans     %d\nlicenses  %d new, %d already here, %d refused\n", len(m.plans), counts[api.ImportCreated], counts[api.ImportExists], len(refused))
		for _, line := range refused {
			fmt.Fprintln(c.out, "refused   "+line)
		}
		for _, what := range slices.Sorted(maps.Keys(m.left)) {
			fmt.Fprintf(c.out, "left out  %s: %d\n", what, m.left[what])
		}
		switch {
		case len(refused) > 0 && write:
			return errors.New("some licenses were refused; correct the export and run this again: it does not change licenses that are already stored")
		case len(refused) > 0:
			return errors.New("some licenses would be refused; nothing was stored")
		case !write:
			fmt.Fprintln(c.out, "Nothing was stored. Run it with write instead of check.")
		}
		return nil
	})
}

// isOnly reports whether err is a joined error with nothing but this one.
func isOnly(err, only error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && len(joined.Unwrap()) == 1 && joined.Unwrap()[0] == only
}

// readMove reads a CSV file, or the JSON files of Keygen: one, or a folder of them.
func readMove(path string) (m *move, err error) {
	m = &move{left: map[string]int{}}
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		m.csv, err = os.ReadFile(path)
		return m, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.json")); err != nil {
			return nil, err
		}
	}
	return m, m.readKeygen(files)
}

// into writes the plans, and the licenses by the rules of an import.
func (m *move) into(ctx context.Context, s *license.Service) (counts map[string]int, refused []string, err error) {
	for _, p := range m.plans {
		if _, err := selling.New(s).GetPlan(ctx, p.ID); err == nil {
			continue // already stored, and perhaps corrected here
		} else if !errors.Is(err, api.ErrNotFound) {
			return nil, nil, err
		}
		if _, err := selling.New(s).PutPlan(ctx, p); err != nil {
			return nil, nil, fmt.Errorf("plan %q: %w", p.ID, err)
		}
	}
	var lines bytes.Buffer
	for _, row := range m.rows {
		line, err := json.Marshal(row)
		if err != nil {
			return nil, nil, err
		}
		lines.Write(append(line, '\n'))
	}
	counts = map[string]int{}
	err = s.Import(ctx, &lines, func(r api.RowResult) error {
		counts[r.Result]++
		for _, e := range r.Errors {
			refused = append(refused, m.from[r.Line-1]+": "+strings.TrimSpace(e.Field+" "+e.Detail))
		}
		return nil
	})
	return counts, refused, err
}
