package files

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// event appends an event about a key in the Update that changes it.
func (e *edit) event(ctx context.Context, eventType string, rec record, previous string) error {
	k, err := e.s.key(rec)
	if err != nil {
		return err
	}
	data, err := json.Marshal(api.EventData{Previous: previous, SigningKey: &api.EventSigningKey{
		ID: k.ID, Algorithm: k.Algorithm, State: string(k.State), Private: string(k.Private), CreatedAt: k.CreatedAt, StateAt: k.StateAt,
	}})
	if err != nil {
		return err
	}
	err = e.tx.AppendEvents(ctx, store.Event{
		ID: store.NewID("evt", e.now), Type: eventType, Time: e.now,
		Actor: cmp.Or(e.s.caller.Actor, "go"), RequestID: e.s.caller.RequestID, Subject: rec.ID, Data: data,
	})
	return err
}
