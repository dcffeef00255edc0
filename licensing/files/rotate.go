package files

import (
	"context"
	"crypto"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// MinPublished is how long a key should have been published before it signs, so
// that programs which were shipped in the meantime know it.
const MinPublished = 90 * 24 * time.Hour

// AddKeyParams are the parameters of [Service.AddKey].
type AddKeyParams struct {
	// Public is the public half of a key whose private half is kept
	// elsewhere: an [ed25519.PublicKey] or an [*ecdsa.PublicKey] on P-256.
	// Nil: a key is generated and stored.
	Public crypto.PublicKey
	// Algorithm is that of a generated key, [EdDSA] or [ES256]. Empty: EdDSA.
	Algorithm string
}

// AddKey adds a next key, which is published from now on and signs once
// [Service.RotateKey] has activated it after all next keys before it. It
// returns [ErrKeyExists], or an error of licensefile for a key of another type.
func (s *Service) AddKey(ctx context.Context, p AddKeyParams) (k Key, err error) {
	if err := checkAlgorithm(p.Algorithm); err != nil {
		return Key{}, err
	}
	var added record
	err = s.edit(ctx, func(e *edit) error {
		if p.Public != nil {
			added, err = e.add(ctx, p.Public, nil)
		} else {
			added, err = e.generate(ctx, p.Algorithm)
		}
		return err
	})
	if err != nil {
		return Key{}, fmt.Errorf("add signing key: %w", err)
	}
	return s.key(added)
}

// RotateKeyParams are the parameters of [Service.RotateKey].
type RotateKeyParams struct {
	// Private is the private half of the next key if it is kept elsewhere:
	// an [ed25519.PrivateKey] or an [*ecdsa.PrivateKey]. It is stored. Not
	// needed for a key in Options.SigningKeys. Default: none.
	Private crypto.Signer
	// Algorithm is that of the new next key, [EdDSA] or [ES256]. Empty: EdDSA.
	Algorithm string
	// Force activates a key that was published less than [MinPublished] ago.
	Force bool
}

// RotateKey activates the oldest next key and returns it. The key that was
// active no longer signs, and the files that it signed stay valid. If there is no
// other next key, one is generated, unless the active key is in
// Options.SigningKeys.
//
// It returns [ErrNoNextKey], [ErrKeyTooNew] or [ErrNoPrivateKey].
func (s *Service) RotateKey(ctx context.Context, p RotateKeyParams) (k Key, err error) {
	if err := checkAlgorithm(p.Algorithm); err != nil {
		return Key{}, err
	}
	var active record
	err = s.edit(ctx, func(e *edit) error {
		next := e.ring.find(KeyNext)
		if next != nil && !p.Force && e.now.Sub(next.CreatedAt) < MinPublished {
			return ErrKeyTooNew
		}
		if active, err = e.rotate(ctx, p.Private, KeyVerify); err != nil {
			return err
		}
		return e.addNext(ctx, p.Algorithm)
	})
	if err != nil {
		return Key{}, fmt.Errorf("rotate signing key: %w", err)
	}
	return s.key(active)
}

// rotate activates the oldest next key. The active key moves to a state.
func (e *edit) rotate(ctx context.Context, private crypto.Signer, state KeyState) (record, error) {
	next := e.ring.find(KeyNext)
	if next == nil {
		return record{}, ErrNoNextKey
	}
	if private != nil {
		if id, err := licensefile.KeyID(private.Public()); err != nil || id != next.ID {
			return record{}, fmt.Errorf("%w: the private key is not that of %s", ErrNoPrivateKey, next.ID)
		}
		if err := e.s.setPrivate(next, private); err != nil {
			return record{}, err
		}
	}
	if _, err := e.s.signer(*next); err != nil {
		return record{}, fmt.Errorf("signing key %s: %w", next.ID, err)
	}
	previous := e.ring.find(KeyActive)
	if err := e.set(ctx, previous, state); err != nil {
		return record{}, err
	}
	if err := e.set(ctx, next, KeyActive); err != nil {
		return record{}, err
	}
	return *next, e.event(ctx, api.EventSigningKeyRotated, *next, previous.ID)
}

// CondemnKeyParams are the parameters of [Service.CondemnKey].
type CondemnKeyParams struct {
	ID string
	// Private is as in [RotateKeyParams], and needed only to condemn the
	// active key.
	Private crypto.Signer
}

// CondemnKey marks a key as compromised and returns it. It leaves the key set.
// If it was active, the oldest next key is activated immediately, however new it
// is. A key that is compromised already is not changed.
//
// Programs that pin the keys accept what a compromised key signed until they
// see a list of [Service.SignRevocations], which a later key signs.
//
// It returns [api.ErrNotFound] and, for the active key, [ErrNoNextKey] or
// [ErrNoPrivateKey].
func (s *Service) CondemnKey(ctx context.Context, p CondemnKeyParams) (k Key, err error) {
	var condemned record
	err = s.edit(ctx, func(e *edit) error {
		rec := e.ring.byID(p.ID)
		if rec == nil {
			return fmt.Errorf("signing key %q: %w", p.ID, api.ErrNotFound)
		}
		condemned = *rec
		switch rec.State {
		case KeyCompromised:
			return nil
		case KeyActive:
			_, err = e.rotate(ctx, p.Private, KeyCompromised)
		default:
			err = e.set(ctx, rec, KeyCompromised)
		}
		if err != nil {
			return err
		}
		condemned = *e.ring.byID(p.ID)
		if err := e.event(ctx, api.EventSigningKeyCompromised, condemned, ""); err != nil {
			return err
		}
		return e.addNext(ctx, condemned.Algorithm)
	})
	if err != nil {
		return Key{}, fmt.Errorf("condemn signing key: %w", err)
	}
	return s.key(condemned)
}

// RetireKey removes a key from the key set and returns it: one that no longer
// signs, once all its files have expired, or a next one that is not wanted.
// Programs that pin the key keep trusting it. It returns [api.ErrNotFound], or
// [ErrKeyState] for a key that is active or no longer published.
func (s *Service) RetireKey(ctx context.Context, id string) (k Key, err error) {
	var retired record
	err = s.edit(ctx, func(e *edit) error {
		rec := e.ring.byID(id)
		switch {
		case rec == nil:
			return fmt.Errorf("signing key %q: %w", id, api.ErrNotFound)
		case rec.State != KeyVerify && rec.State != KeyNext:
			return fmt.Errorf("%w: it is %s", ErrKeyState, rec.State)
		}
		if err := e.set(ctx, rec, KeyRetired); err != nil {
			return err
		}
		retired = *rec
		if err := e.event(ctx, api.EventSigningKeyRetired, retired, ""); err != nil {
			return err
		}
		return e.addNext(ctx, retired.Algorithm)
	})
	if err != nil {
		return Key{}, fmt.Errorf("retire signing key: %w", err)
	}
	return s.key(retired)
}

func checkAlgorithm(algorithm string) error {
	switch algorithm {
	case "", EdDSA, ES256:
		return nil
	}
	return fmt.Errorf("%w: algorithm must be %s or %s", licensefile.ErrKeyType, EdDSA, ES256)
}
