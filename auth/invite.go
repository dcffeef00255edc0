package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ErrInviteCode: the code is wrong, was used, was withdrawn or has ended.
var ErrInviteCode = errors.New("auth: the code is wrong or has ended")

// InviteTTL is how long the code of an invitation can be used.
const InviteTTL = 72 * time.Hour

const kindInvite = "invite"

// An Invitation lets one person become an operator, or an operator choose a
// new password, with a code that is shown once.
type Invitation struct {
	ID         string // what it is withdrawn by; the code cannot be had from it
	Email      string
	Role       Role
	OperatorID string // whose password it sets; empty: it makes an operator
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// InviteParams are the parameters of [Auth.Invite].
type InviteParams struct {
	Email string // an address that no operator has
	Role  Role   // empty: [RoleViewer]
}

// inviteRecord is what an invitation's entry holds, under the digest of its code.
type inviteRecord struct {
	Email      string `json:"email"`
	Role       Role   `json:"role"`
	OperatorID string `json:"operator_id,omitempty"`
	Actor      string `json:"actor"` // who has invited, and so answers for the operator
}

// Invite returns a code with which somebody becomes an operator by
// [Auth.Join]. Nothing is sent: hand it over yourself. If an operator invites,
// the code ends when they are disabled or no admin any more.
func (a *Auth) Invite(ctx context.Context, p InviteParams) (code string, err error) {
	if p.Role == "" {
		p.Role = RoleViewer
	}
	var fields []FieldError
	if code, detail := checkEmail(p.Email); code != "" {
		fields = append(fields, FieldError{"email", code, detail})
	}
	if !p.Role.known() {
		fields = append(fields, unknownRole)
	}
	if fields != nil {
		return "", &InvalidError{fields}
	}
	return a.invite(ctx, inviteRecord{Email: p.Email, Role: p.Role}, func(tx store.Tx) error { return emailFree(ctx, tx, p.Email) })
}

// InviteBack returns a code with which an operator chooses a new password by
// [Auth.Join], or [ErrNotFound]. The present password goes on until then; any
// new one, however it comes about, ends the code.
func (a *Auth) InviteBack(ctx context.Context, operatorID string) (code string, err error) {
	op, err := a.Operator(ctx, operatorID)
	if err != nil {
		return "", err
	}
	return a.invite(ctx, inviteRecord{Email: op.Email, Role: op.Role, OperatorID: op.ID}, func(store.Tx) error { return nil })
}

// invite writes an invitation if check finds nothing against it.
func (a *Auth) invite(ctx context.Context, rec inviteRecord, check func(store.Tx) error) (code string, err error) {
	rec.Actor = a.caller.Actor
	err = a.st.Update(ctx, func(tx store.Tx) error {
		if err := check(tx); err != nil {
			return err
		}
		code = rand.Text()
		now := a.now()
		return putJSON(ctx, tx, store.Entry{Kind: kindInvite, Key: inviteKey(code), CreatedAt: now, ExpiresAt: now.Add(InviteTTL)}, rec)
	})
	if err != nil {
		return "", err
	}
	return code, nil
}

func inviteKey(code string) string {
	sum := sha256.Sum256([]byte(cleanSetupCode(code)))
	return hex.EncodeToString(sum[:])
}

// Invitations lists those that can still be used, the soonest to end first,
// up to 200.
func (a *Auth) Invitations(ctx context.Context) ([]Invitation, error) {
	live := store.TimeRange{From: a.now().Add(time.Millisecond)}
	entries, err := a.st.Entries(ctx, store.EntryQuery{Kind: kindInvite, Expires: live, Limit: 200})
	if err != nil {
		return nil, err
	}
	list := make([]Invitation, len(entries))
	for i, e := range entries {
		var rec inviteRecord
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return nil, fmt.Errorf("auth: invitation %s: %w", e.Key, err)
		}
		list[i] = Invitation{ID: e.Key, Email: rec.Email, Role: rec.Role, OperatorID: rec.OperatorID, CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt}
	}
	return list, nil
}

// Withdraw ends an invitation, or returns [ErrNotFound].
func (a *Auth) Withdraw(ctx context.Context, id string) error {
	return a.st.Update(ctx, func(tx store.Tx) error {
		err := tx.DeleteEntry(ctx, kindInvite, id)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("auth: invitation: %w", ErrNotFound)
		}
		return err
	})
}

// endInvites ends the invitations that a change of an operator has left without
// ground: those to choose a password, once there is a new one or the operator
// is disabled; and those made by who is no admin any more.
func endInvites(ctx context.Context, tx store.Tx, op Operator, newPassword bool) error {
	q := store.EntryQuery{Kind: kindInvite, Limit: store.MaxLimit}
	for {
		entries, err := tx.Entries(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range entries {
			var rec inviteRecord
			if err := json.Unmarshal(e.Data, &rec); err != nil {
				return fmt.Errorf("auth: invitation %s: %w", e.Key, err)
			}
			back := rec.OperatorID == op.ID && (newPassword || op.Disabled)
			if back || rec.Actor == "operator:"+op.ID && (op.Role != RoleAdmin || op.Disabled) {
				if err := tx.DeleteEntry(ctx, kindInvite, e.Key); err != nil {
					return err
				}
			}
		}
		if len(entries) < q.Limit {
			return nil
		}
		last := entries[len(entries)-1]
		q.After = store.Position{Time: last.ExpiresAt, ID: last.Key}
	}
}

// Join takes an invitation up with a password and answers with the cookie of
// a new session. The errors are [ErrInviteCode], [ErrThrottled] and an
// [*InvalidError] on "password", or on "email" if an operator has the address
// by now.
func (a *Auth) Join(w http.ResponseWriter, r *http.Request, code, password string) (Operator, error) {
	ctx := r.Context()
	// The code is looked at before the password is hashed, so that only
	// who has it can make us work.
	rec, err := a.readInvite(ctx, a.st, code)
	if err != nil {
		return Operator{}, a.guessed(r, err)
	}
	if code, detail := checkPassword(password, rec.Email); code != "" {
		return Operator{}, &InvalidError{[]FieldError{{"password", code, detail}}}
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return Operator{}, err
	}
	by := a.As(Caller{Actor: rec.Actor, RequestID: a.caller.RequestID})
	var in signedIn
	err = a.st.Update(ctx, func(tx store.Tx) error {
		rec, err := a.readInvite(ctx, tx, code)
		if err != nil {
			return err
		}
		if err := tx.DeleteEntry(ctx, kindInvite, inviteKey(code)); err != nil {
			return err
		}
		if rec.OperatorID == "" {
			added, err := by.addOperator(ctx, tx, CreateOperatorParams{Email: rec.Email, Role: rec.Role}, hash)
			if err != nil {
				return err
			}
			e, op, err := readOperator(ctx, tx, added.ID)
			if err != nil {
				return err
			}
			in, err = a.recordSignIn(ctx, tx, e, op)
			return err
		}
		e, op, err := readOperator(ctx, tx, rec.OperatorID)
		if errors.Is(err, ErrNotFound) || err == nil && op.Disabled {
			return ErrInviteCode
		}
		if err != nil {
			return err
		}
		op.Password, op.UpdatedAt = hash, a.now()
		op.Generation++
		if err := endInvites(ctx, tx, op.operator(e), true); err != nil {
			return err
		}
		if err := by.operatorEvent(ctx, tx, "operator.updated", op.operator(e), operatorChanges{"password": {}}); err != nil {
			return err
		}
		in, err = a.recordSignIn(ctx, tx, e, op)
		return err
	})
	if err != nil {
		return Operator{}, err
	}
	return in.Operator, a.openSession(w, r, in)
}

func (a *Auth) readInvite(ctx context.Context, r store.Reader, code string) (rec inviteRecord, err error) {
	e, err := r.Entry(ctx, kindInvite, inviteKey(code))
	if errors.Is(err, store.ErrNotFound) || err == nil && !a.now().Before(e.ExpiresAt) {
		return rec, ErrInviteCode
	}
	if err != nil {
		return rec, err
	}
	return rec, json.Unmarshal(e.Data, &rec)
}
