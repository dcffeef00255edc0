package catalog

import (
	"context"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestOneCatchUpAtATime: a question that cannot catch up in its time is answered
// with what there is, and how far it is.
func TestOneCatchUpAtATime(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	c := New(st, func(context.Context, store.Reader) (int64, error) { return 0, nil })
	ask := func() *Lag {
		lag, err := c.Answer(t.Context(), nil, func(Snapshot) error { return nil })
		is.NoErr(err)
		return lag
	}
	is.True(ask() == nil)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		_, err := tx.AppendEvents(t.Context(), store.Event{ID: "evt_1", Subject: "lic_1"})
		return err
	}))
	c.busy <- struct{}{}
	is.Equal(*ask(), Lag{})
	<-c.busy
	is.True(ask() == nil)
}

// TestProgressOfAScan is by the times in the IDs of the licenses.
func TestProgressOfAScan(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) (err error) {
		for _, id := range []string{"lic_0000000000a", "lic_0000000050b", "lic_0000000100c"} {
			if err = tx.CreateLicenses(t.Context(), store.License{ID: id, Key: id, Document: []byte("{}")}); err != nil {
				return err
			}
		}
		return nil
	}))
	for scanned, want := range map[string]int{"": 0, "lic_0000000000a": 0, "lic_0000000050b": 15, "lic_0000000100c": 99} {
		lag, err := lagOf(t.Context(), st, state{Next: &generation{Scanning: true, Scanned: scanned}}, 9)
		is.NoErr(err)
		is.Equal(lag.Percent, want) // 5·32 of 1024
	}
}

// TestSizeOfBatches: a batch that holds the write lock for long makes the next
// one smaller, a quick one that not everything fit in larger, however many entries
// that became, and what does not fit is not read.
//
// Fault: many changes become few counts, so batches of counts stay small.
func TestSizeOfBatches(t *testing.T) {
	is := is.New(t)
	full := &batch{put: make([]store.Entry, 3), fit: 159}
	s := size{read: 200, writes: 400}
	is.Equal(s.after(full, 2*maxHold), size{read: 179, writes: 200})
	is.Equal(s.after(full, maxHold/4), size{read: 179, writes: 800})
	is.Equal(s.after(&batch{}, 0), size{read: 400, writes: 400}) // not full
	is.Equal(s.after(&batch{fit: 32}, maxHold), size{read: 37, writes: 400})
	is.Equal(size{writes: minWrites}.after(full, time.Hour).writes, minWrites)
	is.Equal(size{writes: maxWrites}.after(full, 0).writes, maxWrites)
}
