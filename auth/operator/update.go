package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ErrLastAdmin means that the change would leave no admin who can sign in.
var ErrLastAdmin = errors.New("operator: this is the last admin who can sign in; create another one first")

// UpdateParams are the parameters of [Service.Update]. Fields that are nil are
// not changed.
type UpdateParams struct {
	ID       string
	Role     *Role
	Disabled *bool
	Password *string
}

// Update changes an operator. A new role, a new password, disabling and
// enabling end all sessions of the operator immediately, in every process, and
// the invitations that depend on what was changed; see [Service.Invite] and
// [Service.CreatePasswordReset]. Update appends operator.updated if anything
// changed.
//
// It returns [api.ErrNotFound], an [*api.InvalidError], or [ErrLastAdmin].
func (s *Service) Update(ctx context.Context, p UpdateParams) (Operator, error) {
	if p.Role != nil && !p.Role.known() {
		return Operator{}, &api.InvalidError{Fields: []api.FieldError{unknownRole}}
	}
	var hash string
	if p.Password != nil {
		op, err := s.Get(ctx, p.ID)
		if err != nil {
			return Operator{}, err
		}
		if err := invalidPassword(*p.Password, op.Email); err != nil {
			return Operator{}, err
		}
		if hash, err = hashPassword(ctx, *p.Password); err != nil {
			return Operator{}, err
		}
	}
	return s.change(ctx, p.ID, func(tx store.Tx, rec *record) (changes, error) {
		wasAdmin := rec.Role == RoleAdmin && !rec.Disabled
		made := changes{}
		if p.Role != nil && *p.Role != rec.Role {
			made["role"] = api.FieldChange{From: rec.Role, To: *p.Role}
			rec.Role = *p.Role
		}
		if p.Disabled != nil && *p.Disabled != rec.Disabled {
			made["disabled"] = api.FieldChange{From: rec.Disabled, To: *p.Disabled}
			rec.Disabled = *p.Disabled
		}
		if hash != "" {
			made["password"] = api.FieldChange{}
			rec.Password = hash
		}
		if !wasAdmin || rec.Role == RoleAdmin && !rec.Disabled {
			return made, nil
		}
		return made, anotherAdmin(ctx, tx, p.ID)
	})
}

// SignOutEverywhere ends all sessions of the operator immediately, in every
// process, and appends operator.signed_out. It returns [api.ErrNotFound] if
// there is no such operator.
func (s *Service) SignOutEverywhere(ctx context.Context, id string) error {
	return s.st.Update(ctx, func(tx store.Tx) error {
		e, rec, err := readRecord(ctx, tx, id)
		if err != nil {
			return err
		}
		rec.Generation++
		if err := putJSON(ctx, tx, e, rec); err != nil {
			return err
		}
		return s.appendChange(ctx, tx, api.EventOperatorSignedOut, rec.operator(e), nil)
	})
}

// change runs fn on the stored operator. If fn reports changes, change ends the
// operator's sessions and appends the event.
func (s *Service) change(ctx context.Context, id string, fn func(store.Tx, *record) (changes, error)) (op Operator, err error) {
	err = s.st.Update(ctx, func(tx store.Tx) error {
		e, rec, err := readRecord(ctx, tx, id)
		if err != nil {
			return err
		}
		made, err := fn(tx, &rec)
		if err != nil {
			return err
		}
		if len(made) > 0 {
			rec.Generation++
			rec.UpdatedAt = s.now()
			if err := putJSON(ctx, tx, e, rec); err != nil {
				return err
			}
			_, newPassword := made["password"]
			if err := endInvitations(ctx, tx, rec.operator(e), newPassword); err != nil {
				return err
			}
			if err := s.appendChange(ctx, tx, api.EventOperatorUpdated, rec.operator(e), made); err != nil {
				return err
			}
		}
		op = rec.operator(e)
		return nil
	})
	return op, err
}

// anotherAdmin returns [ErrLastAdmin] unless an admin other than id can sign in.
func anotherAdmin(ctx context.Context, r store.Reader, id string) error {
	for e, err := range entries.All(ctx, r, store.EntryQuery{Kind: kindOperator}) {
		if err != nil {
			return err
		}
		var rec record
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return fmt.Errorf("operator: %s: %w", e.Key, err)
		}
		if e.Key != id && rec.Role == RoleAdmin && !rec.Disabled {
			return nil
		}
	}
	return ErrLastAdmin
}
