package operator

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// maxSignInEvents is the number of failures for which each process appends
// events immediately and then per hour: for each operator, and for all unknown
// accounts together.
const maxSignInEvents = 60

// signedIn is an operator who has just entered the right password, and the
// generation of the session to open.
type signedIn struct {
	Operator
	generation int64
	pending    bool // the code of the second factor is missing
	stay       bool // the session lasts longer; see SignIn
}

// checkCredentials returns the operator with that address and password. An
// unknown address, a wrong password and a disabled operator get the same
// answer after the same work. The address is throttled first, in memory, so
// that one client can neither fill the store nor use all hashing slots.
func (s *Service) checkCredentials(ctx context.Context, email, password string, addr netip.Addr) (signedIn, error) {
	if addr.IsValid() {
		if !s.signIns.add(addr) {
			return signedIn{}, &ThrottledError{time.Second}
		}
		defer s.signIns.done(addr)
		// The attempt counts as failed until it succeeds.
		if wait := s.failures.Take(rate.Key("sign-in", addr), s.now()); wait > 0 {
			return signedIn{}, &ThrottledError{wait}
		}
	}
	at := newAttempt(email, addr)
	if err := s.begin(ctx, at); err != nil {
		return signedIn{}, err
	}
	id, hash, err := s.passwordOf(ctx, email)
	if err != nil {
		return signedIn{}, err
	}
	if len(password) > 4*maxPassword {
		password = "" // no operator's; longer passwords are never hashed
	}
	ok, weak, err := verifyPassword(ctx, password, hash)
	if err != nil {
		return signedIn{}, err
	}
	newHash := ""
	if ok && weak && id != "" {
		if newHash, err = hashPassword(ctx, password); err != nil {
			return signedIn{}, err
		}
	}

	// Events are stored and sent to webhooks, so their number is bounded. An
	// attempt without an event writes as much.
	withEvent := sync.OnceValue(func() bool { return s.signInEvents.Take(id, s.now()) == 0 })
	var in signedIn
	fail := func(tx store.Tx) error {
		if !withEvent() {
			return at.rewrite(ctx, tx)
		}
		return s.appendFailure(ctx, tx, id, addr)
	}
	err = s.st.Update(ctx, func(tx store.Tx) error {
		in = signedIn{}
		if id == "" || !ok {
			return fail(tx)
		}
		e, rec, err := readRecord(ctx, tx, id)
		if err != nil {
			return err
		}
		if rec.Disabled || rec.Password != hash { // changed while the password was checked
			return fail(tx)
		}
		if newHash != "" {
			rec.Password = newHash
		}
		if err := at.reset(ctx, tx); err != nil {
			return err
		}
		if rec.SecondFactor != nil { // CompleteSignIn records the sign-in
			in = signedIn{Operator: rec.operator(e), generation: rec.Generation, pending: true}
			return putJSON(ctx, tx, e, rec)
		}
		in, err = s.recordSignIn(ctx, tx, e, rec, api.EventData{Address: addressText(addr)})
		return err
	})
	if err != nil {
		return signedIn{}, err
	}
	if in.ID == "" {
		return signedIn{}, signin.ErrCredentials
	}
	s.failures.Return(rate.Key("sign-in", addr))
	return in, nil
}

// recordSignIn writes rec with the time of the sign-in, and appends the event.
func (s *Service) recordSignIn(ctx context.Context, tx store.Tx, e store.Entry, rec record, data api.EventData) (signedIn, error) {
	rec.LastSignInAt = s.now()
	if err := putJSON(ctx, tx, e, rec); err != nil {
		return signedIn{}, err
	}
	in := signedIn{Operator: rec.operator(e), generation: rec.Generation}
	return in, s.asOperator(in.ID).appendData(ctx, tx, api.EventOperatorSignedIn, in.Operator, data)
}

// passwordOf returns the ID of the operator with that address and the hash of
// the password. If there is none, the ID is empty and no password matches the
// hash; the store gets the same number of reads.
func (s *Service) passwordOf(ctx context.Context, email string) (id, hash string, err error) {
	e, err := s.st.Entry(ctx, kindEmail, foldEmail(email))
	if errors.Is(err, store.ErrNotFound) {
		e, err = store.Entry{Owner: "unknown"}, nil
	}
	if err != nil {
		return "", "", err
	}
	_, rec, err := readRecord(ctx, s.st, e.Owner)
	if errors.Is(err, api.ErrNotFound) {
		return "", dummyHash(), nil
	}
	return e.Owner, rec.Password, err
}
