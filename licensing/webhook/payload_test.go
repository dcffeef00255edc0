package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestDeliveryReturnsThePayload(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	d, err := f.Test(t.Context(), w.ID)
	is.NoErr(err)
	got, payload, err := f.Delivery(t.Context(), w.ID, d.ID)
	is.NoErr(err)
	is.Equal(got, d)
	var e api.Event
	is.NoErr(json.Unmarshal(payload, &e))
	is.Equal(e.ID+e.Type, d.EventID+api.EventWebhookTest)

	// Like a request, the payload of a large event has no data.
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		return tx.AppendEvents(t.Context(), store.Event{ID: store.NewID("evt", f.now), Type: "license.created", Time: f.now, Data: []byte(`"` + strings.Repeat("x", maxPayload) + `"`)})
	}))
	newest, err := f.store.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
	is.NoErr(err)
	large := newest[0]
	_, _, err = f.Delivery(t.Context(), w.ID, deliveryID(w.ID, large)) // it waits for its first attempt
	require.ErrorIs(t, err, api.ErrNotFound)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return outbox.Put(t.Context(), tx, newDelivery(w.ID, large, f.now)) }))
	_, payload, err = f.Delivery(t.Context(), w.ID, deliveryID(w.ID, large))
	is.NoErr(err)
	require.Less(t, len(payload), maxPayload)
	require.Contains(t, string(payload), string(truncated))

	e.Data = json.RawMessage(`""`)
	least, err := newMessage(e)
	is.NoErr(err)
	for size, cut := range map[int]bool{maxPayload: false, maxPayload + 1: true} {
		e.Data = json.RawMessage(`"` + strings.Repeat("x", size-len(least.body)) + `"`)
		m, err := newMessage(e)
		is.NoErr(err)
		is.Equal(len(m.body) != size, cut)
	}

	_, _, err = f.In(f.rules.As(license.Caller{Products: []string{"p"}})).Delivery(t.Context(), w.ID, d.ID)
	require.ErrorIs(t, err, api.ErrNotFound)
	_, _, err = f.Delivery(t.Context(), w.ID, "dlv_")
	require.ErrorIs(t, err, api.ErrNotFound)
}
