package catalog

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestRecent: changes are returned in order, without gaps, and through an event.
func TestRecent(t *testing.T) {
	is := is.New(t)
	var r Recent
	seqs := func(after, through int64, limit int) (list []int64) {
		for _, c := range r.after(after, through, limit) {
			list = append(list, c.Seq)
		}
		return list
	}
	r.Add([]Change{{Seq: 3}, {Seq: 4}})
	r.Add([]Change{{Seq: 2}}) // a later Update was faster
	r.Add([]Change{{Seq: 6}}) // 5 is of another process
	is.Equal(seqs(0, 9, 9), nil)
	is.Equal(seqs(1, 9, 9), []int64{2, 3, 4})
	is.Equal(seqs(1, 3, 9), []int64{2, 3})
	is.Equal(seqs(1, 9, 1), []int64{2})
	is.Equal(seqs(5, 9, 9), []int64{6})
	r.Add([]Change{{Seq: 7, License: &store.License{Document: make([]byte, maxDocument+1)}}})
	is.Equal(seqs(6, 9, 9), nil)
	r.forget(3)
	is.Equal(seqs(1, 9, 9), nil)
	is.Equal(seqs(3, 9, 9), []int64{4})
	for seq := range int64(2 * maxRecent) {
		r.Add([]Change{{Seq: 10 + seq}})
	}
	is.Equal(len(r.changes), maxRecent+1) // two were there before
	is.Equal(r.changes[len(r.changes)-1].Seq, int64(9+2*maxRecent))
}

// TestReadingOfRecentChanges reads what is recent from memory, and the rest from
// the store: licenses that no recent change wrote, and all after a gap.
func TestReadingOfRecentChanges(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	stored := []byte(`{"name":"stored"}`)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		for _, id := range []string{"lic_1", "lic_2", "lic_3"} {
			if err := tx.CreateLicenses(t.Context(), store.License{ID: id, Key: id, Document: stored}); err != nil {
				return err
			}
		}
		for _, id := range []string{"lic_1", "lic_2", "lic_3", "lic_1"} {
			if _, err := tx.AppendEvents(t.Context(), store.Event{ID: "evt_" + id, Type: "license.updated", Subject: id}); err != nil {
				return err
			}
		}
		return nil
	}))
	c := New(st, nil)
	c.Recent.Add([]Change{
		{Seq: 1, Subject: "lic_1", Wrote: true, License: &store.License{ID: "lic_1", Document: []byte(`{"name":"held"}`)}},
		{Seq: 2, Subject: "lic_2"},
		{Seq: 3, Subject: "lic_3", Wrote: true}, // deleted
		{Seq: 5, Subject: "lic_1", Wrote: true}, // not in the snapshot
	})
	s, err := c.read(t.Context(), st, 0, 10)
	is.NoErr(err)
	is.Equal(s.ids, []string{"lic_1", "lic_2", "lic_3"})
	is.Equal(s.licenses["lic_1"].Name, "held")
	is.Equal(s.licenses["lic_2"].Name, "stored")
	is.Equal(len(s.licenses), 2)
	is.True(s.more)
	s, err = c.read(t.Context(), st, 3, 10)
	is.NoErr(err)
	is.Equal(s.ids, []string{"lic_1"})
	is.Equal(s.licenses["lic_1"].Name, "stored")
	is.True(!s.more)
}
