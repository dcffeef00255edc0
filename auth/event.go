package auth

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A change has the values of a changed field.
type change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// changes returns the fields of c that differ from before, by their names in events.
func (c clientRecord) changes(before clientRecord) map[string]*change {
	from, to := before.described(), c.described()
	changes := map[string]*change{}
	for name := range to {
		if name != "updated_at" && !reflect.DeepEqual(from[name], to[name]) {
			changes[name] = &change{From: from[name], To: to[name]}
		}
	}
	return changes
}

// described returns a client as events show it. Of the secrets it has only the
// IDs and times.
func (c clientRecord) described() map[string]any {
	type secret struct {
		ID        string    `json:"id"`
		CreatedAt time.Time `json:"created_at"`
		ExpiresAt time.Time `json:"expires_at,omitzero"`
	}
	secrets := make([]secret, len(c.Secrets))
	for i, s := range c.Secrets {
		secrets[i] = secret{ID: s.ID, CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt}
	}
	return map[string]any{
		"id": c.ID, "name": c.Name, "scopes": c.Scopes, "products": c.Products, "disabled": c.Disabled,
		"secrets": secrets, "created_at": c.CreatedAt, "updated_at": c.UpdatedAt,
	}
}

// appendEvent appends an event about c in the update that changes it.
func (a *Auth) appendEvent(ctx context.Context, tx store.Tx, eventType string, c clientRecord, changes map[string]*change) error {
	data, err := json.Marshal(struct {
		Client  map[string]any     `json:"client"`
		Changes map[string]*change `json:"changes,omitempty"`
	}{c.described(), changes})
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
