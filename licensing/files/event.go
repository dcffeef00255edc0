package files

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/seed-d8a106b4/licensekit/store"
)

// eventData is the data of an event about a signing key.
type eventData struct {
	Key Key `json:"signing_key"`
	// Previous is the ID of the key that was active before a rotation.
	Previous string `json:"previous,omitempty"`
}

// event appends an event about a key in the Update that changes it.
func (e *edit) event(ctx context.Context, eventType string, rec record, previous string) error {
	k, err := e.s.key(rec)
	if err != nil {
		return err
	}
	data, err := json.Marshal(eventData{k, previous})
	if err != nil {
		return err
	}
	err = e.tx.AppendEvents(ctx, store.Event{
		ID: store.NewID("evt", e.now), Type: eventType, Time: e.now,
		Actor: cmp.Or(e.s.caller.Actor, "go"), RequestID: e.s.caller.RequestID, Subject: rec.ID, Data: data,
	})
	return err
}
