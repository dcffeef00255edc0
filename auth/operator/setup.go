package operator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ErrAlreadySetUp means that an operator exists, so that no setup code can
// create the first one.
var ErrAlreadySetUp = errors.New("operator: an operator already exists")

const (
	kindSetup    = "setup"
	setupKey     = "code"
	setupCodeTTL = 30 * time.Minute
)

// CreateSetupCode returns a new code with which the first admin can be created
// on the dashboard's setup page within 30 minutes. Any earlier code ends. It
// returns [ErrAlreadySetUp] if an operator exists.
func (s *Service) CreateSetupCode(ctx context.Context) (code string, err error) {
	err = s.st.Update(ctx, func(tx store.Tx) error {
		if err := noOperator(ctx, tx); err != nil {
			return err
		}
		code = rand.Text()
		return s.putSetupCode(ctx, tx, code)
	})
	if err != nil {
		return "", err
	}
	return code, nil
}

// NeedsSetup reports whether no operator exists. If so, and if there is no
// valid setup code, it creates one and logs it.
func (s internals) NeedsSetup(ctx context.Context) (bool, error) {
	if err := noOperator(ctx, s.st); err != nil {
		return false, ignoreAlreadySetUp(err)
	}
	code := ""
	err := s.st.Update(ctx, func(tx store.Tx) error {
		code = ""
		if err := noOperator(ctx, tx); err != nil {
			return err
		}
		switch e, err := tx.Entry(ctx, kindSetup, setupKey); {
		case err == nil && s.now().Before(e.ExpiresAt):
			return nil
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		}
		code = rand.Text()
		return s.putSetupCode(ctx, tx, code)
	})
	if err != nil {
		return false, ignoreAlreadySetUp(err)
	}
	if code != "" {
		s.opts.Logger.InfoContext(ctx, "no operator yet: enter this code on dashboard/setup within 30 minutes to become the first admin", "code", code)
	}
	return true, nil
}

// CompleteSetup creates the first admin from a setup code and sets the cookie
// of a new session on w. It returns [signin.ErrSetupCode], [ErrAlreadySetUp],
// [ErrThrottled], or an [*api.InvalidError] about "email" or "password".
func (s internals) CompleteSetup(w http.ResponseWriter, r *http.Request, code, email, password string) (Operator, error) {
	ctx := r.Context()
	code = cleanCode(code)
	// Check the code before hashing the password, so that only a caller with
	// a valid code can make the process hash.
	if err := s.st.View(ctx, func(r store.Reader) error { return s.checkSetupCode(ctx, r, code) }); err != nil {
		return Operator{}, s.countWrongCode(r, err)
	}
	p := CreateParams{Email: email, Password: password, Role: RoleAdmin}
	hash, err := checkAndHash(ctx, p)
	if err != nil {
		return Operator{}, err
	}
	var in signedIn
	err = s.st.Update(ctx, func(tx store.Tx) error {
		if err := s.checkSetupCode(ctx, tx, code); err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, kindSetup, setupKey); err != nil {
			return err
		}
		e, rec, err := s.As(auth.Caller{Actor: "setup", RequestID: s.caller.RequestID}).add(ctx, tx, p, hash)
		if err != nil {
			return err
		}
		in, err = s.recordSignIn(ctx, tx, e, rec, api.EventData{Address: s.address(r)})
		return err
	})
	if err != nil {
		return Operator{}, err
	}
	return in.Operator, s.openSession(w, r, in)
}

// countWrongCode counts a wrong code for the address of r, and returns err or
// a [*ThrottledError]. The codes are too long to guess, and a valid code always
// works; throttling slows down callers who try.
func (s *Service) countWrongCode(r *http.Request, err error) error {
	if !errors.Is(err, signin.ErrSetupCode) && !errors.Is(err, signin.ErrInvitationCode) {
		return err
	}
	if wait := s.failures.Take(rate.Key("code", s.clientIP(r)), s.now()); wait > 0 {
		return &ThrottledError{wait}
	}
	return err
}

// putSetupCode stores the digest of a code in place of any earlier one.
func (s *Service) putSetupCode(ctx context.Context, tx store.Tx, code string) error {
	now := s.now()
	sum := sha256.Sum256([]byte(code))
	return tx.PutEntries(ctx, store.Entry{Kind: kindSetup, Key: setupKey, Data: sum[:], ExpiresAt: now.Add(setupCodeTTL), CreatedAt: now, Move: store.Passing})
}

func (s *Service) checkSetupCode(ctx context.Context, r store.Reader, code string) error {
	if err := noOperator(ctx, r); err != nil {
		return err
	}
	e, err := r.Entry(ctx, kindSetup, setupKey)
	if errors.Is(err, store.ErrNotFound) {
		return signin.ErrSetupCode
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(code))
	if subtle.ConstantTimeCompare(sum[:], e.Data) != 1 || !s.now().Before(e.ExpiresAt) {
		return signin.ErrSetupCode
	}
	return nil
}

// noOperator returns [ErrAlreadySetUp] if an operator exists.
func noOperator(ctx context.Context, r store.Reader) error {
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: kindOperator, Limit: 1})
	if err == nil && len(entries) > 0 {
		return ErrAlreadySetUp
	}
	return err
}

// ignoreAlreadySetUp returns err unless it is [ErrAlreadySetUp].
func ignoreAlreadySetUp(err error) error {
	if errors.Is(err, ErrAlreadySetUp) {
		return nil
	}
	return err
}

// cleanCode removes spaces and hyphens from a code and makes it upper case.
func cleanCode(code string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, code))
}
