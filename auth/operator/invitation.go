package operator

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

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// InvitationTTL is how long the code of an invitation is valid.
const InvitationTTL = 72 * time.Hour

const kindInvitation = "invite"

// An Invitation lets a person become an operator, or lets an operator choose a
// new password.
type Invitation struct {
	ID         string // for [Service.RevokeInvitation]; the code cannot be derived from it
	Email      string
	Role       Role
	OperatorID string // the operator whose password it resets; empty: it creates an operator
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// InviteParams are the parameters of [Service.Invite].
type InviteParams struct {
	Email string // no operator may have it
	Role  Role   // default: [RoleViewer]
}

// invitationRecord is the stored form of an invitation. Its key is the digest
// of the code.
type invitationRecord struct {
	Email      string `json:"email"`
	Role       Role   `json:"role"`
	OperatorID string `json:"operator_id,omitempty"`
	Actor      string `json:"actor"` // who created the invitation, and is the actor when it creates an operator
}

// Invite returns a code with which a person becomes an operator, on the page
// dashboard/join of the service, which a link dashboard/join#code= with the code fills
// in. The service sends nothing: give the person the code yourself. An invitation ends
// when the address is invited again, and one created by an operator when that operator
// is disabled or is no longer an admin.
//
// It returns an [*api.InvalidError] if a parameter is invalid or the address
// is taken.
func (s *Service) Invite(ctx context.Context, p InviteParams) (code string, err error) {
	if p.Role == "" {
		p.Role = RoleViewer
	}
	var fields []api.FieldError
	if code, detail := checkEmail(p.Email); code != "" {
		fields = append(fields, api.FieldError{Field: "email", Code: code, Detail: detail})
	}
	if !p.Role.known() {
		fields = append(fields, unknownRole)
	}
	if fields != nil {
		return "", &api.InvalidError{Fields: fields}
	}
	return s.putInvitation(ctx, invitationRecord{Email: p.Email, Role: p.Role}, func(tx store.Tx) error { return emailFree(ctx, tx, p.Email) })
}

// CreatePasswordReset returns a code with which an operator chooses a new
// password, on the page dashboard/join of the service. The current password keeps
// working until the code is used. Any new password ends the code, and so does the
// next code for the operator. It returns [api.ErrNotFound] if there is no such
// operator.
func (s *Service) CreatePasswordReset(ctx context.Context, operatorID string) (code string, err error) {
	op, err := s.Get(ctx, operatorID)
	if err != nil {
		return "", err
	}
	return s.putInvitation(ctx, invitationRecord{Email: op.Email, Role: op.Role, OperatorID: op.ID}, func(store.Tx) error { return nil })
}

// putInvitation writes an invitation in place of an earlier one for the same
// person, unless check returns an error.
func (s *Service) putInvitation(ctx context.Context, rec invitationRecord, check func(store.Tx) error) (code string, err error) {
	rec.Actor = s.caller.Actor
	err = s.st.Update(ctx, func(tx store.Tx) error {
		if err := check(tx); err != nil {
			return err
		}
		err := deleteInvitations(ctx, tx, func(earlier invitationRecord) bool {
			return foldEmail(earlier.Email) == foldEmail(rec.Email)
		})
		if err != nil {
			return err
		}
		code = rand.Text()
		now := s.now()
		return putJSON(ctx, tx, store.Entry{Kind: kindInvitation, Key: invitationKey(code), CreatedAt: now, ExpiresAt: now.Add(InvitationTTL), Move: store.Passing}, rec)
	})
	if err != nil {
		return "", err
	}
	return code, nil
}

func invitationKey(code string) string {
	sum := sha256.Sum256([]byte(cleanCode(code)))
	return hex.EncodeToString(sum[:])
}

// Invitations returns the invitations that are still valid, in order of expiry,
// at most 200.
func (s *Service) Invitations(ctx context.Context) ([]Invitation, error) {
	live := store.TimeRange{From: s.now().Add(time.Millisecond)}
	entries, err := s.st.Entries(ctx, store.EntryQuery{Kind: kindInvitation, Order: store.ByExpiry, Expires: live, Limit: valid.MaxLimit})
	if err != nil {
		return nil, err
	}
	list := make([]Invitation, len(entries))
	for i, e := range entries {
		var rec invitationRecord
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return nil, fmt.Errorf("operator: invitation %s: %w", e.Key, err)
		}
		list[i] = Invitation{ID: e.Key, Email: rec.Email, Role: rec.Role, OperatorID: rec.OperatorID, CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt}
	}
	return list, nil
}

// RevokeInvitation ends an invitation. It returns [api.ErrNotFound] if there
// is no such invitation.
func (s *Service) RevokeInvitation(ctx context.Context, id string) error {
	return s.st.Update(ctx, func(tx store.Tx) error {
		_, err := tx.Entry(ctx, kindInvitation, id)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("invitation: %w", api.ErrNotFound)
		}
		if err != nil {
			return err
		}
		return tx.DeleteEntries(ctx, kindInvitation, id)
	})
}

// endInvitations ends the invitations that are no longer valid after a change
// of op: password resets for op, if op has a new password or is disabled, and
// invitations created by op, if op is disabled or is no longer an admin.
func endInvitations(ctx context.Context, tx store.Tx, op Operator, newPassword bool) error {
	return deleteInvitations(ctx, tx, func(rec invitationRecord) bool {
		reset := rec.OperatorID == op.ID && (newPassword || op.Disabled)
		return reset || rec.Actor == "operator:"+op.ID && (op.Role != RoleAdmin || op.Disabled)
	})
}

// deleteInvitations deletes the invitations for which ended returns true.
func deleteInvitations(ctx context.Context, tx store.Tx, ended func(invitationRecord) bool) error {
	for e, err := range entries.All(ctx, tx, store.EntryQuery{Kind: kindInvitation}) {
		if err != nil {
			return err
		}
		var rec invitationRecord
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return fmt.Errorf("operator: invitation %s: %w", e.Key, err)
		}
		if ended(rec) {
			if err := tx.DeleteEntries(ctx, kindInvitation, e.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// AcceptInvitation sets the password of the operator whom the code is for,
// creates the operator if the code is an invitation, and sets the cookie of a
// new session on w. It returns [signin.ErrInvitationCode], [ErrThrottled],
// [signin.ErrSecondFactor] as SignIn does after it has set the password, or an
// [*api.InvalidError] about "password", or about "email" if another operator
// has taken the address.
func (s internals) AcceptInvitation(w http.ResponseWriter, r *http.Request, code, password string) (Operator, error) {
	ctx := r.Context()
	// Check the code before hashing the password, so that only a caller with
	// a valid code can make the process hash.
	rec, err := s.readInvitation(ctx, s.st, code)
	if err != nil {
		return Operator{}, s.countWrongCode(r, err)
	}
	if err := invalidPassword(password, rec.Email); err != nil {
		return Operator{}, err
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return Operator{}, err
	}
	by := s.As(auth.Caller{Actor: rec.Actor, RequestID: s.caller.RequestID})
	var in signedIn
	err = s.st.Update(ctx, func(tx store.Tx) error {
		rec, err := s.readInvitation(ctx, tx, code)
		if err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, kindInvitation, invitationKey(code)); err != nil {
			return err
		}
		if rec.OperatorID == "" {
			e, op, err := by.add(ctx, tx, CreateParams{Email: rec.Email, Role: rec.Role}, hash)
			if err != nil {
				return err
			}
			in, err = s.recordSignIn(ctx, tx, e, op, api.EventData{Address: s.address(r)})
			return err
		}
		e, op, err := readRecord(ctx, tx, rec.OperatorID)
		if errors.Is(err, api.ErrNotFound) || err == nil && op.Disabled {
			return signin.ErrInvitationCode
		}
		if err != nil {
			return err
		}
		op.Password, op.UpdatedAt = hash, s.now()
		op.Generation++
		if err := by.appendChange(ctx, tx, api.EventOperatorUpdated, op.operator(e), changes{"password": {}}); err != nil {
			return err
		}
		if op.SecondFactor != nil { // CompleteSignIn records the sign-in
			in = signedIn{Operator: op.operator(e), generation: op.Generation, pending: true}
			return putJSON(ctx, tx, e, op)
		}
		in, err = s.recordSignIn(ctx, tx, e, op, api.EventData{Address: s.address(r)})
		return err
	})
	if err != nil {
		return Operator{}, err
	}
	return s.finishSignIn(w, r, in)
}

func (s *Service) readInvitation(ctx context.Context, r store.Reader, code string) (rec invitationRecord, err error) {
	e, err := r.Entry(ctx, kindInvitation, invitationKey(code))
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.now().Before(e.ExpiresAt) {
		return rec, signin.ErrInvitationCode
	}
	if err != nil {
		return rec, err
	}
	return rec, json.Unmarshal(e.Data, &rec)
}
