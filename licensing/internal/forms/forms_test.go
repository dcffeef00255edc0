package forms

import (
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func TestOnceRunsASubmittedFormOnce(t *testing.T) {
	is := is.New(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	st := storetest.Twice(memory.New())
	f := New(st, func() time.Time { return now })
	mark := NewMark()
	is.Equal(len(mark), MarkLength)
	calls := 0
	submit := func(actor string, err error) (string, bool, error) {
		return f.Once(t.Context(), actor, mark, func() (string, error) { calls++; return "cid_1", err })
	}
	failed := errors.New("failed")
	_, repeated, err := submit("operator:opr_1", failed)
	is.True(errors.Is(err, failed) && !repeated)
	ref, repeated, err := submit("operator:opr_1", nil)
	is.NoErr(err)
	is.True(!repeated && ref == "cid_1" && calls == 2) // the form can be sent again after a failure
	ref, repeated, err = submit("operator:opr_1", nil)
	is.NoErr(err)
	is.True(repeated && ref == "cid_1" && calls == 2) // but not after a success
	_, repeated, err = submit("operator:opr_2", nil)
	is.NoErr(err)
	is.True(!repeated) // a mark belongs to one operator

	now = now.Add(ttl)
	more, err := f.Purge(t.Context())
	is.NoErr(err)
	is.True(!more)
	entries, err := st.Entries(t.Context(), store.EntryQuery{Kind: kindForm})
	is.NoErr(err)
	is.Equal(len(entries), 0)
}
