package auth

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// changes returns the fields of c that differ from before, by their names in events.
func (c clientRecord) changes(before clientRecord) map[string]api.FieldChange {
	from, to := reflect.ValueOf(before.described()).Elem(), reflect.ValueOf(c.described()).Elem()
	changes := map[string]api.FieldChange{}
	for i := range to.NumField() {
		name, change := to.Type().Field(i).Tag.Get("json"), api.FieldChange{From: from.Field(i).Interface(), To: to.Field(i).Interface()}
		if name != "updated_at" && !reflect.DeepEqual(change.From, change.To) {
			changes[name] = change
		}
	}
	return changes
}

// described returns a client as events show it. Of the secrets it has only the
// IDs and times.
func (c clientRecord) described() *api.EventClient {
	secrets := make([]api.EventSecret, len(c.Secrets))
	for i, s := range c.Secrets {
		secrets[i] = api.EventSecret{ID: s.ID, CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt}
	}
	return &api.EventClient{
		ID: c.ID, Name: c.Name, Scopes: c.Scopes, Products: c.Products, Disabled: c.Disabled,
		Secrets: secrets, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}

// appendEvent appends an event about c in the update that changes it.
func (a *Auth) appendEvent(ctx context.Context, tx store.Tx, eventType string, c clientRecord, changes map[string]api.FieldChange) error {
	data, err := json.Marshal(api.EventData{Client: c.described(), Changes: changes})
	if err != nil {
		return err
	}
	actor := a.caller.Actor
	if actor == "" {
		actor = "go"
	}
	err = tx.AppendEvents(ctx, store.Event{
		ID: store.NewID("evt", c.UpdatedAt), Type: eventType, Time: c.UpdatedAt,
		Actor: actor, RequestID: a.caller.RequestID, Subject: c.ID, Data: data,
	})
	return err
}
