package files

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Errors of this package; test for them with [errors.Is].
var (
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

	// ErrNoOffice means that the service is not an office.
	ErrNoOffice = errors.New("files: this is not an office; set SigningKey.Office")
)

// A SigningKey is a key of the host. The store keeps only its public half and
// its state.
type SigningKey struct {
	// ID is what [licensefile.KeyID] returns for the key. A key with another
	// ID is refused, which finds a mistaken configuration. Empty: computed.
	ID string
	// Signer signs. Its public half is an [ed25519.PublicKey] or an
	// [*ecdsa.PublicKey] on P-256. It must be safe for concurrent use.
	Signer crypto.Signer
	// Office is the answer of the vendor to the request of an office with this key: the
	// text of its license file and a revocation list. The handler then lends the license
	// of that file, which its store must have under the same ID and key, to programs
	// that have the keys of the vendor: files are signed by this key within that file,
	// and the revocation list is that of the vendor. Import the license with as many
	// MaxActivations as the claim office has seats, its meters, and a lease. No more seats
	// are lent than the claim has, whatever the store says. A renewal is a new Handler for
	// the same store, with the vendor's answer to [Service.OfficeRequest]. Empty: the key is
	// the vendor's.
	Office string
}

// signersOf returns the keys of the host by their IDs, or an error that names the
// invalid one and says how to fix it.
func signersOf(keys []SigningKey) (map[string]crypto.Signer, error) {
	all := make(map[string]crypto.Signer)
	for i, k := range keys {
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

// lenderOf returns what signs the files of an office; nil: the keys are the vendor's.
func lenderOf(keys []SigningKey) (*licensefile.Lender, error) {
	for i, k := range keys {
		if k.Office == "" {
			continue
		}
		if len(keys) > 1 {
			return nil, fmt.Errorf("SigningKeys[%d] has an Office, so it must be the only key", i)
		}
		lender, err := licensefile.NewLender(k.Office, k.Signer)
		if err != nil {
			return nil, fmt.Errorf("SigningKeys[%d].Office must be the vendor's answer to the request of an office with this key: %w", i, err)
		}
		return lender, nil
	}
	return nil, nil
}

// A Service has the signing keys of license files. It is safe for concurrent
// use. Handler.Files of package licensing returns one.
type Service struct {
	//lint:ignore U1000 see internals.go
	inside
	st       store.Store
	opts     inner.Config
	hostKeys []SigningKey             // Options.SigningKeys
	host     map[string]crypto.Signer // their signers by ID
	lender   *licensefile.Lender      // of an office; nil: the service is the vendor's
	revoked  func(ctx context.Context, productID, licenseID string) ([]licensefile.RevokedLicense, time.Time, error)
	totals   func(context.Context) (map[string]int64, error) // what the office has counted
	caller   auth.Caller
	warned   *sync.Once
	cache    *cache
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
