package outbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// at returns an instant that a store keeps unchanged.
func at(n int64) time.Time { return time.UnixMilli(1_700_000_000_000 + n).UTC() }

// deliveries are one of each state.
func deliveries() []Delivery {
	made := Delivery{
		ID: "dlv_1", WebhookID: "whk_1", EventID: "evt_1", EventSeq: 7, EventType: "license.created", State: "pending",
		DueAt: at(60), Attempts: 1, Data: []byte(`{"attempts":[]}`), CreatedAt: at(1), UpdatedAt: at(2),
	}
	list := []Delivery{made}
	for i, state := range []string{"succeeded", "failed"} {
		d := made
		d.ID, d.State, d.DueAt, d.Attempts = fmt.Sprintf("dlv_%d", i+2), state, time.Time{}, 0
		list = append(list, d)
	}
	return list
}

func TestDeliveriesAreReadAsStored(t *testing.T) {
	is := is.New(t)
	ctx, st, want := t.Context(), memory.New(), deliveries()
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return Put(ctx, tx, want...) }))
	for _, d := range want {
		got, err := Get(ctx, st, d.WebhookID, d.ID)
		is.NoErr(err)
		is.Equal(got, d)
	}
	newest, err := Newest(ctx, st, "whk_1", "", 10)
	is.NoErr(err)
	is.Equal(newest, []Delivery{want[2], want[1], want[0]})
	finished, _, err := Finished(ctx, st, at(100), store.Position{}, 10)
	is.NoErr(err)
	is.Equal(finished, want[1:])
}

// TestFinishedSkipsPendingDeliveries: deliveries that have been due for long are not
// finished, and need not be read again to find the finished ones.
func TestFinishedSkipsPendingDeliveries(t *testing.T) {
	is := is.New(t)
	ctx, st := t.Context(), memory.New()
	all := deliveries()
	put := func(d Delivery, n int64) Delivery {
		d.ID = fmt.Sprintf("dlv_%02d", n)
		if d.UpdatedAt = at(n); !d.DueAt.IsZero() {
			d.DueAt = at(n)
		}
		is.NoErr(st.Update(ctx, func(tx store.Tx) error { return Put(ctx, tx, d) }))
		return d
	}
	for n := range int64(10) {
		put(all[0], n)
	}
	want := []Delivery{put(all[1], 10)}
	put(all[0], 11)
	put(all[2], 20)
	for _, after := range []store.Position{{}, {Time: at(8), ID: "whk_1/dlv_08"}} {
		got, next, err := Finished(ctx, st, at(20), after, 3)
		is.NoErr(err)
		is.Equal(got, want)
		is.Equal(next, store.Position{Time: at(8), ID: "whk_1/dlv_08"})
	}
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return Delete(ctx, tx, want) }))
	got, _, err := Finished(ctx, st, at(20), store.Position{}, 3)
	is.NoErr(err)
	is.Equal(len(got), 0)
}
