package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An Operator is a person who works in the dashboard.
type Operator struct {
	ID       string // opr_…
	Email    string // what they sign in with, as it was given; compared without regard to case
	Role     Role
	Disabled bool // a disabled operator cannot sign in, and is signed out

	CreatedAt    time.Time
	UpdatedAt    time.Time
	LastSignInAt time.Time // zero: never
}

// A Role is what an operator may do.
type Role string

// The roles of operators.
const (
	RoleAdmin  Role = "admin"  // may see and do everything
	RoleViewer Role = "viewer" // may see everything, and change nothing but their own password
)

// ErrLastAdmin: the change would leave nobody who can sign in as an admin.
var ErrLastAdmin = errors.New("auth: this is the last admin who can sign in; make another one first")

// CreateOperatorParams are the parameters of [Auth.CreateOperator].
type CreateOperatorParams struct {
	Email    string // an address, at most 254 bytes, that no other operator has
	Password string // 15–256 characters, taken byte for byte, and not one that many people choose
	Role     Role   // empty: [RoleViewer]
}

// ListOperatorsParams are the parameters of [Auth.Operators].
type ListOperatorsParams struct {
	After string // the ID of the last operator of the page before; empty: from the beginning
	Limit int    // 1–200; zero or anything else: 200
}

// UpdateOperatorParams are the parameters of [Auth.UpdateOperator]. What is
// nil stays as it is.
type UpdateOperatorParams struct {
	ID       string
	Role     *Role
	Disabled *bool
	Password *string
}

// The kinds of entries that operators are kept in: the record under its id,
// and the id under the folded e-mail address.
const (
	kindOperator      = "operator"
	kindOperatorEmail = "operator_email"
)

// operatorRecord is what an operator's entry holds.
type operatorRecord struct {
	Email    string `json:"email"`
	Role     Role   `json:"role"`
	Disabled bool   `json:"disabled,omitempty"`
	Password string `json:"password"` // a PHC string
	// Generation rises whenever every session of the operator has to end.
	// A session remembers the generation it was made in.
	Generation   int64     `json:"generation"`
	UpdatedAt    time.Time `json:"updated_at"`
	LastSignInAt time.Time `json:"last_sign_in_at,omitzero"`
}

func (rec operatorRecord) operator(e store.Entry) Operator {
	return Operator{
		ID: e.Key, Email: rec.Email, Role: rec.Role, Disabled: rec.Disabled,
		CreatedAt: e.CreatedAt, UpdatedAt: rec.UpdatedAt, LastSignInAt: rec.LastSignInAt,
	}
}

// CreateOperator adds an operator. The error is an [*InvalidError] if a
// parameter is out of its bounds or the address is taken.
func (a *Auth) CreateOperator(ctx context.Context, p CreateOperatorParams) (Operator, error) {
	if p.Role == "" {
		p.Role = RoleViewer
	}
	hash, err := prepareOperator(ctx, p)
	if err != nil {
		return Operator{}, err
	}
	var op Operator
	err = a.st.Update(ctx, func(tx store.Tx) error {
		op, err = a.addOperator(ctx, tx, p, hash)
		return err
	})
	return op, err
}

// prepareOperator checks the parameters of a new operator, and hashes the
// password: slow work that has no place in an Update.
func prepareOperator(ctx context.Context, p CreateOperatorParams) (hash string, err error) {
	var fields []FieldError
	if code, detail := checkEmail(p.Email); code != "" {
		fields = append(fields, FieldError{"email", code, detail})
	}
	if !p.Role.known() {
		fields = append(fields, unknownRole)
	}
	if code, detail := checkPassword(p.Password, p.Email); code != "" {
		fields = append(fields, FieldError{"password", code, detail})
	}
	if fields != nil {
		return "", &InvalidError{fields}
	}
	return hashPassword(ctx, p.Password)
}

// addOperator writes a new operator and its event.
func (a *Auth) addOperator(ctx context.Context, tx store.Tx, p CreateOperatorParams, hash string) (Operator, error) {
	now := a.now()
	if err := emailFree(ctx, tx, p.Email); err != nil {
		return Operator{}, err
	}
	e := store.Entry{Kind: kindOperator, Key: store.NewID("opr", now), CreatedAt: now}
	rec := operatorRecord{Email: p.Email, Role: p.Role, Password: hash, Generation: 1, UpdatedAt: now}
	if err := putJSON(ctx, tx, e, rec); err != nil {
		return Operator{}, err
	}
	if err := tx.PutEntry(ctx, store.Entry{Kind: kindOperatorEmail, Key: foldEmail(p.Email), Owner: e.Key, CreatedAt: now}); err != nil {
		return Operator{}, err
	}
	op := rec.operator(e)
	return op, a.operatorEvent(ctx, tx, "operator.created", op, nil)
}

// emailFree returns an [*InvalidError] if an operator has the address.
func emailFree(ctx context.Context, r store.Reader, email string) error {
	_, err := r.Entry(ctx, kindOperatorEmail, foldEmail(email))
	switch {
	case err == nil:
		return &InvalidError{[]FieldError{{"email", "taken", "Another operator has this address."}}}
	case errors.Is(err, store.ErrNotFound):
		return nil
	}
	return err
}

// Operator returns the operator with that id, or [ErrNotFound].
func (a *Auth) Operator(ctx context.Context, id string) (Operator, error) {
	e, rec, err := readOperator(ctx, a.st, id)
	if err != nil {
		return Operator{}, err
	}
	return rec.operator(e), nil
}

// Operators lists operators in the order in which they were created.
func (a *Auth) Operators(ctx context.Context, p ListOperatorsParams) ([]Operator, error) {
	if p.Limit < 1 || p.Limit > 200 {
		p.Limit = 200
	}
	entries, err := a.st.Entries(ctx, store.EntryQuery{Kind: kindOperator, After: store.Position{ID: p.After}, Limit: p.Limit})
	if err != nil {
		return nil, err
	}
	list := make([]Operator, len(entries))
	for i, e := range entries {
		var rec operatorRecord
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return nil, fmt.Errorf("auth: operator %s: %w", e.Key, err)
		}
		list[i] = rec.operator(e)
	}
	return list, nil
}

// UpdateOperator changes an operator. A change of the role, of the password
// or of Disabled ends every session of the operator at once, everywhere, and
// the invitations that hang on it; see [Auth.Invite] and [Auth.InviteBack]. It
// returns [ErrLastAdmin] rather than lock everybody out.
func (a *Auth) UpdateOperator(ctx context.Context, p UpdateOperatorParams) (Operator, error) {
	if p.Role != nil && !p.Role.known() {
		return Operator{}, &InvalidError{[]FieldError{unknownRole}}
	}
	var hash string
	if p.Password != nil {
		op, err := a.Operator(ctx, p.ID)
		if err != nil {
			return Operator{}, err
		}
		if code, detail := checkPassword(*p.Password, op.Email); code != "" {
			return Operator{}, &InvalidError{[]FieldError{{"password", code, detail}}}
		}
		if hash, err = hashPassword(ctx, *p.Password); err != nil {
			return Operator{}, err
		}
	}
	return a.changeOperator(ctx, p.ID, func(tx store.Tx, rec *operatorRecord) (operatorChanges, error) {
		wasAdmin := rec.Role == RoleAdmin && !rec.Disabled
		changes := operatorChanges{}
		if p.Role != nil && *p.Role != rec.Role {
			changes["role"] = operatorChange{rec.Role, *p.Role}
			rec.Role = *p.Role
		}
		if p.Disabled != nil && *p.Disabled != rec.Disabled {
			changes["disabled"] = operatorChange{rec.Disabled, *p.Disabled}
			rec.Disabled = *p.Disabled
		}
		if hash != "" {
			changes["password"] = operatorChange{}
			rec.Password = hash
		}
		if !wasAdmin || rec.Role == RoleAdmin && !rec.Disabled {
			return changes, nil
		}
		return changes, a.anotherAdmin(ctx, tx, p.ID)
	})
}

// SignOutEverywhere ends every session of the operator, on every machine. A
// request that is under way cannot bring one back. It appends
// operator.signed_out.
func (a *Auth) SignOutEverywhere(ctx context.Context, id string) error {
	return a.st.Update(ctx, func(tx store.Tx) error {
		e, rec, err := readOperator(ctx, tx, id)
		if err != nil {
			return err
		}
		rec.Generation++
		if err := putJSON(ctx, tx, e, rec); err != nil {
			return err
		}
		return a.operatorEvent(ctx, tx, "operator.signed_out", rec.operator(e), nil)
	})
}

// operatorChanges names what changed of an operator, from what to what. A
// secret is there without its values.
type operatorChanges map[string]operatorChange

type operatorChange struct {
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
}

// changeOperator lets fn change an operator, ends the operator's sessions and
// writes the event, unless fn says that nothing changed.
func (a *Auth) changeOperator(ctx context.Context, id string, fn func(store.Tx, *operatorRecord) (operatorChanges, error)) (op Operator, err error) {
	err = a.st.Update(ctx, func(tx store.Tx) error {
		e, rec, err := readOperator(ctx, tx, id)
		if err != nil {
			return err
		}
		changes, err := fn(tx, &rec)
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			rec.Generation++
			rec.UpdatedAt = a.now()
			if err := putJSON(ctx, tx, e, rec); err != nil {
				return err
			}
			_, newPassword := changes["password"]
			if err := endInvites(ctx, tx, rec.operator(e), newPassword); err != nil {
				return err
			}
			if err := a.operatorEvent(ctx, tx, "operator.updated", rec.operator(e), changes); err != nil {
				return err
			}
		}
		op = rec.operator(e)
		return nil
	})
	return op, err
}

// anotherAdmin returns [ErrLastAdmin] unless an admin other than id can sign in.
func (a *Auth) anotherAdmin(ctx context.Context, r store.Reader, id string) error {
	q := store.EntryQuery{Kind: kindOperator, Limit: 200}
	for {
		entries, err := r.Entries(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range entries {
			var rec operatorRecord
			if err := json.Unmarshal(e.Data, &rec); err != nil {
				return fmt.Errorf("auth: operator %s: %w", e.Key, err)
			}
			if e.Key != id && rec.Role == RoleAdmin && !rec.Disabled {
				return nil
			}
		}
		if len(entries) < q.Limit {
			return ErrLastAdmin
		}
		q.After = store.Position{ID: entries[len(entries)-1].Key}
	}
}

// operatorEvent appends an event about op. The password, its hash and the
// session are never part of one.
func (a *Auth) operatorEvent(ctx context.Context, tx store.Tx, typ string, op Operator, changes operatorChanges) error {
	type shown struct {
		ID       string `json:"id"`
		Email    string `json:"email"`
		Role     Role   `json:"role"`
		Disabled bool   `json:"disabled"`
	}
	data, err := json.Marshal(struct {
		Operator shown           `json:"operator"`
		Changes  operatorChanges `json:"changes,omitempty"`
	}{shown{op.ID, op.Email, op.Role, op.Disabled}, changes})
	if err != nil {
		return err
	}
	return a.appendOperatorEvent(ctx, tx, typ, op.ID, data)
}

func (a *Auth) appendOperatorEvent(ctx context.Context, tx store.Tx, typ, subject string, data []byte) error {
	now := a.now()
	actor := a.caller.Actor
	if actor == "" {
		actor = "go"
	}
	_, err := tx.AppendEvent(ctx, store.Event{
		ID: store.NewID("evt", now), Type: typ, Time: now,
		Actor: actor, RequestID: a.caller.RequestID, Subject: subject, Data: data,
	})
	return err
}

func readOperator(ctx context.Context, r store.Reader, id string) (e store.Entry, rec operatorRecord, err error) {
	e, err = r.Entry(ctx, kindOperator, id)
	if errors.Is(err, store.ErrNotFound) {
		return e, rec, fmt.Errorf("auth: operator %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return e, rec, err
	}
	if err := json.Unmarshal(e.Data, &rec); err != nil {
		return e, rec, fmt.Errorf("auth: operator %s: %w", id, err)
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
	return tx.PutEntry(ctx, e)
}

var unknownRole = FieldError{"role", "unknown", "A role is admin or viewer."}

func (r Role) known() bool { return r == RoleAdmin || r == RoleViewer }

// foldEmail returns the form in which addresses are compared.
func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// checkEmail says what is wrong with an address, or nothing.
func checkEmail(email string) (code, detail string) {
	if email == "" {
		return "required", "Enter an e-mail address."
	}
	addr, err := mail.ParseAddress(email)
	if err != nil || addr.Address != email || len(email) > 254 {
		return "invalid_format", "Enter an address such as ada@example.com."
	}
	return "", ""
}
