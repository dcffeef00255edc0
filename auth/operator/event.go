package operator

import (
	"context"
	"encoding/json"
	"net/netip"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// changes lists the changed fields of an operator. A changed secret is listed
// without its values.
type changes = map[string]api.FieldChange

// appendChange appends an event about op. Events never contain the password,
// its hash, or anything about the session.
func (s *Service) appendChange(ctx context.Context, tx store.Tx, typ string, op Operator, made changes) error {
	return s.appendData(ctx, tx, typ, op, api.EventData{Changes: made})
}

// appendData sets the operator of d and appends an event with d about op.
func (s *Service) appendData(ctx context.Context, tx store.Tx, typ string, op Operator, d api.EventData) error {
	d.Operator = &api.EventOperator{ID: op.ID, Email: op.Email, Role: string(op.Role), Disabled: op.Disabled}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return s.appendEvent(ctx, tx, typ, op.ID, data)
}

// appendFailure appends the event of a failed sign-in. Its actor is the
// operator who is signed in, or "anonymous". It does not contain the e-mail
// address that was entered, because people enter passwords in that field.
func (s *Service) appendFailure(ctx context.Context, tx store.Tx, id string, addr netip.Addr) error {
	if s.caller.Actor == "" {
		s = s.As(auth.Caller{Actor: "anonymous", RequestID: s.caller.RequestID})
	}
	data, err := json.Marshal(api.EventData{Address: addressText(addr)})
	if err != nil {
		return err
	}
	return s.appendEvent(ctx, tx, api.EventOperatorSignInFailed, id, data)
}

// addressText returns the address of a client for an event, or "" if it is unknown.
func addressText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}

func (s *Service) appendEvent(ctx context.Context, tx store.Tx, typ, subject string, data []byte) error {
	now := s.now()
	actor := s.caller.Actor
	if actor == "" {
		actor = "go"
	}
	err := tx.AppendEvents(ctx, store.Event{
		ID: store.NewID("evt", now), Type: typ, Time: now,
		Actor: actor, RequestID: s.caller.RequestID, Subject: subject, Data: data,
	})
	return err
}
