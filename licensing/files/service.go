package files

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Errors of this package; test for them with [errors.Is].
var (
	// ErrNotFound means that there is no such signing key.
	ErrNotFound = errors.New("files: no such signing key")

	// ErrKeyState means that the state of the key does not allow the change.
	ErrKeyState = errors.New("files: the state of the signing key does not allow this change")

	// ErrNoNextKey means that there is no key to activate; add one first.
	ErrNoNextKey = errors.New("files: there is no next signing key; add one first")

	// ErrKeyTooNew means that the next key has been published for less than
	// [MinPublished].
	ErrKeyTooNew = errors.New("files: the next signing key was published less than 90 days ago; programs may not know it yet")

	// ErrNoPrivateKey means that the private half of the key is kept
	// elsewhere and was not given.
	ErrNoPrivateKey = errors.New("files: the private half of the signing key is kept elsewhere; pass it")

	// ErrKeyExists means that the ring already has the key.
	ErrKeyExists = errors.New("files: the ring already has this signing key")
)

// Options configure a [Service]. The zero value is ready to use.
type Options struct {
	// Now returns the current time. Default: [time.Now].
	Now func() time.Time

	// Logger receives what operators should know; never a private key.
	// Default: [slog.Default].
	Logger *slog.Logger

	// MasterKey encrypts stored private keys: at least 32 random bytes.
	// Default: none; they are stored unencrypted, and the log says so.
	MasterKey []byte

	// PreviousMasterKeys decrypt what an earlier MasterKey encrypted.
	// Default: none.
	PreviousMasterKeys [][]byte

	// SigningKeys are keys whose private half is not in the store, but in a
	// KMS, an HSM or the configuration of the host. If there are any, the
	// Service generates none itself. Default: none.
	SigningKeys []SigningKey

	// Revoked returns the licenses of a product some files of which are
	// refused, for [Service.Revocations]. Default: none.
	Revoked func(ctx context.Context, productID string) ([]licensefile.RevokedLicense, error)
}

// A SigningKey is a key of the host. The store keeps only its public half and
// its state.
type SigningKey struct {
	// ID is what [licensefile.KeyID] returns for the key. A key with another
	// ID is refused, which finds a mistaken configuration. Empty: computed.
	ID string
	// Signer signs. Its public half is an [ed25519.PublicKey] or an
	// [*ecdsa.PublicKey] on P-256. It must be safe for concurrent use.
	Signer crypto.Signer
}

// Validate returns an error that names the invalid option and says how to fix
// it.
func (o Options) Validate() error {
	_, err := o.signers()
	return err
}

// signers returns the keys of the host by their IDs.
func (o Options) signers() (map[string]crypto.Signer, error) {
	all := make(map[string]crypto.Signer)
	for i, k := range o.SigningKeys {
		if k.Signer == nil {
			return nil, fmt.Errorf("SigningKeys[%d] has no Signer", i)
		}
		id, err := licensefile.KeyID(k.Signer.Public())
		switch {
		case err != nil:
			return nil, fmt.Errorf("SigningKeys[%d] must be an Ed25519 or an ECDSA P-256 key: %w", i, err)
		case k.ID != "" && k.ID != id:
			return nil, fmt.Errorf("SigningKeys[%d] has the ID %s, but the key of its Signer has the ID %s", i, k.ID, id)
		case all[id] != nil:
			return nil, fmt.Errorf("SigningKeys[%d] is in the list twice", i)
		}
		all[id] = k.Signer
	}
	return all, nil
}

// A Service has the signing keys of license files. It is safe for concurrent
// use.
type Service struct {
	inside
	st     store.Store
	opts   Options
	host   map[string]crypto.Signer // the keys in Options.SigningKeys
	caller auth.Caller
	warned *sync.Once
	cache  *cache
}

// New returns a Service that uses st. It does no I/O and starts no goroutine.
// It panics if st is nil or an option is invalid.
func New(st store.Store, opts Options) *Service {
	if st == nil {
		panic("files: New needs a store")
	}
	host, err := opts.signers()
	if err != nil {
		panic("files: Options." + err.Error())
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Revoked == nil {
		opts.Revoked = func(context.Context, string) ([]licensefile.RevokedLicense, error) { return nil, nil }
	}
	return &Service{st: st, opts: opts, host: host, warned: new(sync.Once), cache: new(cache)}
}

// As returns a Service that names c in the events of its changes. It shares
// everything else with s.
func (s *Service) As(c auth.Caller) *Service {
	as := *s
	as.caller = c
	return &as
}

// now returns the current time as stores represent it.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Millisecond) }
