package license_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestHistory(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	f.create(t) // whose history is not asked for
	for i := range 4 {
		name := fmt.Sprintf("Name %d", i)
		_, err := f.As(license.Caller{Actor: "client:cid_1", RequestID: "req_1"}).Update(t.Context(), license.UpdateParams{ID: l.ID, Name: &name})
		is.NoErr(err)
	}

	var types []string
	p := license.HistoryParams{ID: l.ID, Limit: 2}
	for {
		page, err := f.History(t.Context(), p)
		is.NoErr(err)
		for _, e := range page {
			types = append(types, e.Type)
			p.Before = e.Seq
		}
		if len(page) < p.Limit {
			break
		}
	}
	is.Equal(types, []string{"license.updated", "license.updated", "license.updated", "license.updated", "license.created"}) // newest first, each once

	page, err := f.History(t.Context(), license.HistoryParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(page[0].Actor, "client:cid_1")
	is.Equal(page[0].RequestID, "req_1")
	is.Equal(page[0].Data.Changes["name"], license.FieldChange{From: "Name 2", To: "Name 3"})
	is.Equal(page[0].Data.License.Key, "")

	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error { // also what is not committed yet
		l, err := s.Create(t.Context(), plain())
		is.NoErr(err)
		page, err := s.History(t.Context(), license.HistoryParams{ID: l.ID})
		is.Equal(len(page), 1)
		return err
	}))

	_, err = f.History(t.Context(), license.HistoryParams{ID: l.ID, Limit: 201})
	is.True(errors.Is(err, license.ErrInvalid))
	_, err = f.History(t.Context(), license.HistoryParams{ID: "lic_nowhere"})
	is.True(errors.Is(err, license.ErrNotFound))
	_, err = f.As(license.Caller{Products: []string{"another"}}).History(t.Context(), license.HistoryParams{ID: l.ID})
	is.True(errors.Is(err, license.ErrNotFound)) // of a product that does not exist for the caller
}
