package operator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// recoveryCodes is the number of recovery codes of a second factor.
	recoveryCodes = 10
	// pendingLifetime is how long after the password the code may be entered.
	pendingLifetime = 5 * time.Minute
)

// A secondFactor is the stored form of a second factor.
type secondFactor struct {
	Secret   []byte   `json:"secret"` // of the codes
	Sealed   bool     `json:"sealed,omitempty"`
	Step     int64    `json:"step"`     // the last time step whose code was used
	Recovery [][]byte `json:"recovery"` // the digests of unused recovery codes
}

// box seals the secrets of second factors.
func (s *Service) box() seal.Box {
	return seal.New("licensekit second factor", "the second factor", s.opts.MasterKey, s.opts.PreviousMasterKeys)
}

// keep puts the secret of an operator into f, sealed if there is a master key.
func (f *secondFactor) keep(box seal.Box, operatorID string, secret []byte) (err error) {
	f.Secret, f.Sealed = secret, box.Seals()
	if f.Sealed {
		f.Secret, err = box.Seal(secret, []byte(operatorID))
	}
	return err
}

// use reports whether a code is valid and changes f so that it cannot be used
// again. A secret that the current master key has not sealed is sealed again.
func (f *secondFactor) use(box seal.Box, operatorID, code string, now time.Time) (ok, recovery bool, err error) {
	if code = cleanCode(code); len(code) != signin.TOTPDigits {
		sum := sha256.Sum256([]byte(code))
		for i, digest := range f.Recovery {
			if subtle.ConstantTimeCompare(sum[:], digest) == 1 {
				f.Recovery = append(f.Recovery[:i:i], f.Recovery[i+1:]...)
				return true, true, nil
			}
		}
		return false, false, nil
	}
	secret, current := f.Secret, !box.Seals()
	if f.Sealed {
		if secret, current, err = box.Open(f.Secret, []byte(operatorID)); err != nil {
			return false, false, err
		}
	}
	step, ok := signin.MatchTOTP(secret, code, now, f.Step)
	if !ok {
		return false, false, nil
	}
	f.Step = step
	if !current && box.Seals() {
		err = f.keep(box, operatorID, secret)
	}
	return true, false, err
}

// newRecoveryCodes returns recovery codes and their digests.
func newRecoveryCodes() (codes []string, digests [][]byte) {
	for range recoveryCodes {
		text := rand.Text()[:16] // 80 bits
		sum := sha256.Sum256([]byte(text))
		codes = append(codes, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
		digests = append(digests, sum[:])
	}
	return codes, digests
}

// EnableSecondFactor enables the second factor of the operator who is signed in.
// After that, a sign-in needs a code of an authenticator app (TOTP, RFC 6238).
// It returns ten recovery codes, each of which replaces a code once; show them
// once, because the store has only their digests. It ends all sessions of the
// operator and sets the cookie of a new one on w. It returns [signin.ErrNoSession],
// [signin.ErrCredentials], [ErrThrottled], or an [*api.InvalidError] about "code" or
// "secret".
func (s internals) EnableSecondFactor(w http.ResponseWriter, r *http.Request, p signin.EnableSecondFactorParams) (recovery []string, err error) {
	secret, err := signin.TOTPEncoding.DecodeString(cleanCode(p.Secret))
	if err != nil || len(secret) != signin.TOTPSecret {
		return nil, invalidField("secret", "invalid_format", "Start again with a new secret.")
	}
	step, ok := signin.MatchTOTP(secret, cleanCode(p.Code), s.now(), 0)
	if !ok {
		return nil, invalidField("code", "invalid_format", "This is not the current code. Check the clock of the device.")
	}
	codes, digests := newRecoveryCodes()
	in, err := s.reauthenticate(r, p.Password)
	if err != nil {
		return nil, err
	}
	f := &secondFactor{Step: step, Recovery: digests}
	if err := f.keep(s.box(), in.ID, secret); err != nil {
		return nil, err
	}
	err = s.changeSignedIn(w, r, in, func(rec *record) (changes, error) {
		if rec.SecondFactor != nil {
			return nil, invalidField("secret", "taken", "A second factor is enabled already. Remove it first.")
		}
		rec.SecondFactor = f
		return changes{"second_factor": {From: false, To: true}}, nil
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// DisableSecondFactor removes the second factor of the operator who is signed in,
// if the password is right. It ends all sessions of the operator and sets the
// cookie of a new one on w. It returns [signin.ErrNoSession], [signin.ErrCredentials] or
// [ErrThrottled].
func (s internals) DisableSecondFactor(w http.ResponseWriter, r *http.Request, password string) error {
	in, err := s.reauthenticate(r, password)
	if err != nil {
		return err
	}
	return s.changeSignedIn(w, r, in, removeSecondFactor)
}

// RemoveSecondFactor removes the second factor of an operator who has lost it, ends
// all sessions of the operator, and appends operator.updated. Without a second
// factor it does nothing. It returns [api.ErrNotFound] if there is no such operator.
func (s *Service) RemoveSecondFactor(ctx context.Context, operatorID string) (Operator, error) {
	return s.change(ctx, operatorID, func(_ store.Tx, rec *record) (changes, error) { return removeSecondFactor(rec) })
}

func removeSecondFactor(rec *record) (changes, error) {
	if rec.SecondFactor == nil {
		return nil, nil
	}
	rec.SecondFactor = nil
	return changes{"second_factor": {From: true, To: false}}, nil
}

// reauthenticate returns the operator who is signed in, if the password is right.
func (s *Service) reauthenticate(r *http.Request, password string) (signedIn, error) {
	in, err := s.loadSession(r)
	if err != nil {
		return signedIn{}, err
	}
	_, err = s.asOperator(in.ID).checkCredentials(r.Context(), in.Email, password, s.clientIP(r))
	return in, err
}

// CompleteSignIn checks the code of an operator for whom SignIn or
// AcceptInvitation has returned [signin.ErrSecondFactor] with the cookie of r, at
// most five minutes ago. The code is one of the authenticator app or a recovery
// code; each works once. CompleteSignIn sets the cookie of a new session on w and
// appends operator.signed_in. It returns [signin.ErrNoSession] if the password must be
// entered again, [signin.ErrCode] or [ErrThrottled].
func (s internals) CompleteSignIn(w http.ResponseWriter, r *http.Request, code string) (Operator, error) {
	m, ctx, err := s.session(r)
	if err != nil {
		return Operator{}, err
	}
	id, generation := m.GetString(ctx, "pending"), m.GetInt64(ctx, "generation")
	if id == "" {
		return Operator{}, signin.ErrNoSession
	}
	addr := s.clientIP(r)
	if addr.IsValid() {
		if wait := s.failures.Take(rate.Key("sign-in", addr), s.now()); wait > 0 {
			return Operator{}, &ThrottledError{wait}
		}
	}
	// The caller knows the password, and a code has only six digits. So
	// the failures from all addresses together delay the next attempt.
	at := newAttempt("second factor\x00"+id, netip.Addr{})
	at.account = at.place
	if err := s.begin(ctx, at); err != nil {
		return Operator{}, err
	}
	withEvent := sync.OnceValue(func() bool { return s.signInEvents.Take(id, s.now()) == 0 })
	var in signedIn
	err = s.st.Update(ctx, func(tx store.Tx) error {
		in = signedIn{}
		e, rec, err := readRecord(ctx, tx, id)
		if errors.Is(err, api.ErrNotFound) || err == nil && (rec.Disabled || rec.SecondFactor == nil || rec.Generation != generation) {
			return signin.ErrNoSession
		}
		if err != nil {
			return err
		}
		ok, recovery, err := rec.SecondFactor.use(s.box(), id, code, s.now())
		if err != nil {
			return err
		}
		if !ok && withEvent() {
			return s.appendFailure(ctx, tx, id, addr)
		}
		if !ok {
			return nil
		}
		if err := at.reset(ctx, tx); err != nil {
			return err
		}
		in, err = s.recordSignIn(ctx, tx, e, rec, api.EventData{Address: addressText(addr), RecoveryCode: recovery})
		return err
	})
	if err != nil {
		return Operator{}, err
	}
	if in.ID == "" {
		return Operator{}, signin.ErrCode
	}
	s.failures.Return(rate.Key("sign-in", addr))
	in.stay = m.GetBool(ctx, "stay")
	return in.Operator, s.openSession(w, r, in)
}
