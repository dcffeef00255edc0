package feed

import (
	"context"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A readCounter counts the reads of events.
type readCounter struct {
	store.Reader
	n int
}

func (c *readCounter) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	c.n++
	return c.Reader.Events(ctx, q)
}

// TestBeforeFindsThePlaceOfAnInstant: the list has all events from before the instant, few
// later ones, and was found with few reads, although two processes with different clocks
// wrote the events, and the oldest were purged.
func TestBeforeFindsThePlaceOfAnInstant(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	const n, every = 1000, 10 * time.Minute
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		for i := range n {
			at := begin.Add(time.Duration(i) * every)
			if i%3 == 0 {
				at = at.Add(ClockSkew - every) // the clock of this process is fast
			}
			if err := tx.AppendEvents(t.Context(), store.Event{ID: store.NewID("evt", at), Type: "license.created", Time: at}); err != nil {
				return err
			}
		}
		_, err := tx.DeleteEvents(t.Context(), 100, 100)
		return err
	}))
	all, err := st.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(all), n-100)
	end := begin.Add(n * every)
	for at := begin.Add(-every); at.Before(end.Add(3 * ClockSkew)); at = at.Add(37 * time.Minute) {
		c := &readCounter{Reader: st}
		p, err := Before(t.Context(), c, at)
		is.NoErr(err)
		require.AtMost(t, c.n, 12) // the binary logarithm of n, and the newest
		later := 0
		for _, e := range all {
			in := p == Place{} || e.Seq < p.Seq()
			is.True(in || !e.Time.Before(at)) // no event is missing
			if in && !e.Time.Before(at) {
				later++
			}
		}
		require.AtMost(t, later, int(2*ClockSkew/every))
	}
	p, err := Before(t.Context(), memory.New(), begin)
	is.NoErr(err)
	is.Equal(p, Place{})
}
