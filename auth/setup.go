package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ErrAlreadySetUp: there is an operator, so nobody can become the first.
var ErrAlreadySetUp = errors.New("auth: there is an operator already")

// ErrSetupCode: the set-up code is wrong or has ended.
var ErrSetupCode = errors.New("auth: the set-up code is wrong or has ended")

const (
	kindSetup    = "setup"
	setupKey     = "code"
	setupCodeTTL = 30 * time.Minute
)

// SetupCode returns a new code with which the first admin can be made on the
// dashboard's set-up page, within 30 minutes, and ends the one before. It
// returns [ErrAlreadySetUp] once there is an operator.
func (a *Auth) SetupCode(ctx context.Context) (string, error) {
	code := ""
	err := a.st.Update(ctx, func(tx store.Tx) error {
		if err := noOperator(ctx, tx); err != nil {
			return err
		}
		code = rand.Text()
		return a.putSetupCode(ctx, tx, code)
	})
	if err != nil {
		return "", err
	}
	return code, nil
}

// OfferSetup reports whether the first admin is still to be made. If so, it
// sees to it that there is a live set-up code: when there is none, it makes
// one and logs it.
func (a *Auth) OfferSetup(ctx context.Context) (bool, error) {
	if err := noOperator(ctx, a.st); err != nil {
		return false, maskAlreadySetUp(err)
	}
	code := ""
	err := a.st.Update(ctx, func(tx store.Tx) error {
		code = ""
		if err := noOperator(ctx, tx); err != nil {
			return err
		}
		switch e, err := tx.Entry(ctx, kindSetup, setupKey); {
		case err == nil && a.now().Before(e.ExpiresAt):
			return nil
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		}
		code = rand.Text()
		return a.putSetupCode(ctx, tx, code)
	})
	if err != nil {
		return false, maskAlreadySetUp(err)
	}
	if code != "" {
		a.opts.Logger.InfoContext(ctx, "no operator yet: enter this code on dashboard/setup within 30 minutes to become the first admin", "code", code)
	}
	return true, nil
}

// SetUp makes the first admin from a set-up code and answers with the cookie
// of a new session. The errors are [ErrSetupCode], [ErrAlreadySetUp],
// [ErrThrottled], and an [*InvalidError] on "email" or "password".
func (a *Auth) SetUp(w http.ResponseWriter, r *http.Request, code, email, password string) (Operator, error) {
	ctx := r.Context()
	code = cleanSetupCode(code)
	// The code is looked at before the password is hashed, so that only
	// who has it can make us work.
	if err := a.st.View(ctx, func(r store.Reader) error { return a.checkSetupCode(ctx, r, code) }); err != nil {
		return Operator{}, a.guessed(r, err)
	}
	p := CreateOperatorParams{Email: email, Password: password, Role: RoleAdmin}
	hash, err := prepareOperator(ctx, p)
	if err != nil {
		return Operator{}, err
	}
	var in signedIn
	err = a.st.Update(ctx, func(tx store.Tx) error {
		if err := a.checkSetupCode(ctx, tx, code); err != nil {
			return err
		}
		if err := tx.DeleteEntry(ctx, kindSetup, setupKey); err != nil {
			return err
		}
		op, err := a.As(Caller{Actor: "setup", RequestID: a.caller.RequestID}).addOperator(ctx, tx, p, hash)
		if err != nil {
			return err
		}
		e, rec, err := readOperator(ctx, tx, op.ID)
		if err != nil {
			return err
		}
		in, err = a.recordSignIn(ctx, tx, e, rec)
		return err
	})
	if err != nil {
		return Operator{}, err
	}
	return in.Operator, a.openSession(w, r, in)
}

// guessed counts a wrong code by where it came from, and returns the answer to
// it: err, or to wait. The codes cannot be guessed, and a right one is let in
// at any time; this slows down who tries.
func (a *Auth) guessed(r *http.Request, err error) error {
	if !errors.Is(err, ErrSetupCode) && !errors.Is(err, ErrInviteCode) {
		return err
	}
	if wait := a.failures.fail("code", a.opts.ClientIP(r), a.now()); wait > 0 {
		return &ThrottledError{wait}
	}
	return err
}

// putSetupCode keeps the digest of a code in place of the one before.
func (a *Auth) putSetupCode(ctx context.Context, tx store.Tx, code string) error {
	now := a.now()
	sum := sha256.Sum256([]byte(code))
	return tx.PutEntry(ctx, store.Entry{Kind: kindSetup, Key: setupKey, Data: sum[:], ExpiresAt: now.Add(setupCodeTTL), CreatedAt: now})
}

func (a *Auth) checkSetupCode(ctx context.Context, r store.Reader, code string) error {
	if err := noOperator(ctx, r); err != nil {
		return err
	}
	e, err := r.Entry(ctx, kindSetup, setupKey)
	if errors.Is(err, store.ErrNotFound) {
		return ErrSetupCode
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(code))
	if subtle.ConstantTimeCompare(sum[:], e.Data) != 1 || !a.now().Before(e.ExpiresAt) {
		return ErrSetupCode
	}
	return nil
}

// noOperator returns [ErrAlreadySetUp] if there is an operator.
func noOperator(ctx context.Context, r store.Reader) error {
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: kindOperator, Limit: 1})
	if err == nil && len(entries) > 0 {
		return ErrAlreadySetUp
	}
	return err
}

// maskAlreadySetUp returns err unless it says only that there is an operator.
func maskAlreadySetUp(err error) error {
	if errors.Is(err, ErrAlreadySetUp) {
		return nil
	}
	return err
}

// cleanSetupCode forgives what happens to a code on its way over a clipboard
// or a piece of paper.
func cleanSetupCode(code string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, code))
}
