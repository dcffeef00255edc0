package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An Operator is a person who uses the dashboard.
type Operator struct {
	ID       string // opr_…
	Email    string // the address they sign in with; compared without regard to case
	Role     Role
	Disabled bool // a disabled operator cannot sign in and has no sessions

	SecondFactor  bool // a sign-in needs a code in addition to the password
	RecoveryCodes int  // how many recovery codes are left

	CreatedAt    time.Time
	UpdatedAt    time.Time
	LastSignInAt time.Time // zero: never
}

var unknownRole = api.FieldError{Field: "role", Code: "unknown", Detail: "must be admin, support or viewer"}

// CreateParams are the parameters of [Service.Create].
type CreateParams struct {
	Email    string // at most 254 bytes; no other operator may have it
	Password string // 15–256 characters, taken byte for byte; common passwords are refused
	Role     Role   // default: [RoleViewer]
}

// Create adds an operator and appends operator.created. It returns an
// [*api.InvalidError] if a parameter is invalid or the address is taken.
func (s *Service) Create(ctx context.Context, p CreateParams) (Operator, error) {
	if p.Role == "" {
		p.Role = RoleViewer
	}
	hash, err := checkAndHash(ctx, p)
	if err != nil {
		return Operator{}, err
	}
	var op Operator
	err = s.st.Update(ctx, func(tx store.Tx) error {
		e, rec, err := s.add(ctx, tx, p, hash)
		if err == nil {
			op = rec.operator(e)
		}
		return err
	})
	return op, err
}

// checkAndHash checks the parameters of a new operator and hashes the password.
// Hashing is slow, so it runs before the Update.
func checkAndHash(ctx context.Context, p CreateParams) (hash string, err error) {
	var fields []api.FieldError
	if code, detail := checkEmail(p.Email); code != "" {
		fields = append(fields, api.FieldError{Field: "email", Code: code, Detail: detail})
	}
	if !p.Role.known() {
		fields = append(fields, unknownRole)
	}
	if code, detail := checkPassword(p.Password, p.Email); code != "" {
		fields = append(fields, api.FieldError{Field: "password", Code: code, Detail: detail})
	}
	if fields != nil {
		return "", &api.InvalidError{Fields: fields}
	}
	return hashPassword(ctx, p.Password)
}

// add writes a new operator and its event.
func (s *Service) add(ctx context.Context, tx store.Tx, p CreateParams, hash string) (e store.Entry, rec record, err error) {
	now := s.now()
	if err := emailFree(ctx, tx, p.Email); err != nil {
		return e, rec, err
	}
	e = store.Entry{Kind: kindOperator, Key: store.NewID("opr", now), CreatedAt: now}
	rec = record{Email: p.Email, Role: p.Role, Password: hash, Generation: 1, UpdatedAt: now}
	if err := putJSON(ctx, tx, e, rec); err != nil {
		return e, rec, err
	}
	if err := tx.PutEntries(ctx, store.Entry{Kind: kindEmail, Key: foldEmail(p.Email), Owner: e.Key, CreatedAt: now}); err != nil {
		return e, rec, err
	}
	return e, rec, s.appendChange(ctx, tx, api.EventOperatorCreated, rec.operator(e), nil)
}

// emailFree returns an [*api.InvalidError] if an operator has the address.
func emailFree(ctx context.Context, r store.Reader, email string) error {
	_, err := r.Entry(ctx, kindEmail, foldEmail(email))
	switch {
	case err == nil:
		return &api.InvalidError{Fields: []api.FieldError{{Field: "email", Code: "taken", Detail: "is the address of another operator"}}}
	case errors.Is(err, store.ErrNotFound):
		return nil
	}
	return err
}

// Get returns the operator with that ID, or [api.ErrNotFound].
func (s *Service) Get(ctx context.Context, id string) (Operator, error) {
	e, rec, err := readRecord(ctx, s.st, id)
	if err != nil {
		return Operator{}, err
	}
	return rec.operator(e), nil
}

// ListParams are the parameters of [Service.List].
type ListParams struct {
	Cursor string // the NextCursor of an earlier page; empty: start at the beginning
	Limit  int    // 1–200; zero: 50
}

// List returns a page of operators in the order in which they were created. It returns an
// [*api.InvalidError] about "limit".
func (s *Service) List(ctx context.Context, p ListParams) (api.Page[Operator], error) {
	if p.Limit < 0 || p.Limit > valid.MaxLimit {
		return api.Page[Operator]{}, api.Invalid("limit", api.FieldOutOfRange, "must be between 1 and 200")
	}
	data, next, err := entries.Page(ctx, s.st, kindOperator, p.Cursor, cmp.Or(p.Limit, valid.DefaultLimit), func(e store.Entry) (op Operator, err error) {
		var rec record
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return op, fmt.Errorf("operator: %s: %w", e.Key, err)
		}
		return rec.operator(e), nil
	})
	return api.Page[Operator]{Data: data, HasMore: next != "", NextCursor: next}, err
}
