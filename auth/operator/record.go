package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An operator has two entries: the record under the operator's ID, and the ID
// under the folded e-mail address.
const (
	kindOperator = "operator"
	kindEmail    = "operator_email"
)

// A record is the stored form of an operator.
type record struct {
	Email    string `json:"email"`
	Role     Role   `json:"role"`
	Disabled bool   `json:"disabled,omitempty"`
	Password string `json:"password"` // a PHC string
	// Generation increases whenever all sessions of the operator must end.
	// A session stores the generation in which it was opened.
	Generation   int64         `json:"generation"`
	UpdatedAt    time.Time     `json:"updated_at"`
	LastSignInAt time.Time     `json:"last_sign_in_at,omitzero"`
	SecondFactor *secondFactor `json:"second_factor,omitempty"`
}

func (rec record) operator(e store.Entry) Operator {
	op := Operator{
		ID: e.Key, Email: rec.Email, Role: rec.Role, Disabled: rec.Disabled,
		CreatedAt: e.CreatedAt, UpdatedAt: rec.UpdatedAt, LastSignInAt: rec.LastSignInAt,
	}
	if rec.SecondFactor != nil {
		op.SecondFactor, op.RecoveryCodes = true, len(rec.SecondFactor.Recovery)
	}
	return op
}

func readRecord(ctx context.Context, r store.Reader, id string) (e store.Entry, rec record, err error) {
	e, err = r.Entry(ctx, kindOperator, id)
	if errors.Is(err, store.ErrNotFound) {
		if !strings.HasPrefix(id, "opr_") { // it can be a code
			return e, rec, fmt.Errorf("operator: %w", api.ErrNotFound)
		}
		return e, rec, fmt.Errorf("operator %q: %w", id, api.ErrNotFound)
	}
	if err != nil {
		return e, rec, err
	}
	if err := json.Unmarshal(e.Data, &rec); err != nil {
		return e, rec, fmt.Errorf("operator: %s: %w", id, err)
	}
	return e, rec, nil
}

// putJSON writes e with v as its data.
func putJSON(ctx context.Context, tx store.Tx, e store.Entry, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	e.Data = data
	return tx.PutEntries(ctx, e)
}

// foldEmail returns the form in which addresses are compared.
func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// checkEmail returns what is wrong with an address, to follow the name of its field,
// or two empty strings.
func checkEmail(email string) (code, detail string) {
	if email == "" {
		return "required", "is required"
	}
	addr, err := mail.ParseAddress(email)
	if err != nil || addr.Address != email || len(email) > 254 {
		return "invalid_format", "must be an address such as ada@example.com"
	}
	return "", ""
}
