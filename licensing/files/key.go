package files

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Key is a signing key, without its private half.
type Key struct {
	ID        string           `json:"id"`        // the kid of the files that it signs: the RFC 7638 thumbprint
	Algorithm string           `json:"algorithm"` // EdDSA or ES256
	State     KeyState         `json:"state"`
	Private   PrivateHalf      `json:"private"` // where the private half is
	CreatedAt time.Time        `json:"created_at"`
	StateAt   time.Time        `json:"state_at"` // since when it has its state
	Public    crypto.PublicKey `json:"-"`        // an ed25519.PublicKey or an *ecdsa.PublicKey
}

// A KeyState is the state of a signing key.
type KeyState string

// The states of a signing key, in the order of its life. The first three are in
// the key set that programs trust.
const (
	KeyNext        KeyState = "next"        // published, signs nothing yet
	KeyActive      KeyState = "active"      // signs; there is one such key
	KeyVerify      KeyState = "verify"      // no longer signs; the files that it signed stay valid
	KeyRetired     KeyState = "retired"     // no longer published
	KeyCompromised KeyState = "compromised" // no longer published, and its files are refused
)

// published reports whether keys of the state are in the key set.
func (s KeyState) published() bool { return s == KeyNext || s == KeyActive || s == KeyVerify }

// A PrivateHalf says where the private half of a key is.
type PrivateHalf string

// The places of a private half.
const (
	PrivateSealed    PrivateHalf = "sealed"    // in the store, encrypted with Options.MasterKey
	PrivatePlain     PrivateHalf = "plain"     // in the store, unencrypted
	PrivateHost      PrivateHalf = "host"      // in Options.SigningKeys
	PrivateElsewhere PrivateHalf = "elsewhere" // not known to this process
)

// kind is the kind of the entries that hold signing keys, by their IDs.
const kind = "signing_key"

// A record is the data of an entry.
type record struct {
	ID        string    `json:"id"`
	Number    int64     `json:"number"` // the position in the ring, from 1 on
	Algorithm string    `json:"algorithm"`
	State     KeyState  `json:"state"`
	StateAt   time.Time `json:"state_at"`
	CreatedAt time.Time `json:"created_at"`
	Public    []byte    `json:"public"`           // PKIX
	Clear     []byte    `json:"clear,omitempty"`  // the private half, PKCS #8
	Sealed    []byte    `json:"sealed,omitempty"` // the same, encrypted
}

// The algorithms of signing keys.
const (
	EdDSA = "EdDSA" // Ed25519, the default
	ES256 = "ES256" // ECDSA on P-256, for verifiers without Ed25519, such as .NET
)

// newRecord returns the record of a key that has just been made.
func newRecord(public crypto.PublicKey, number int64, now time.Time) (record, error) {
	id, err := licensefile.KeyID(public)
	if err != nil {
		return record{}, err
	}
	rec := record{ID: id, Number: number, Algorithm: EdDSA, State: KeyNext, StateAt: now, CreatedAt: now}
	if _, ec := public.(*ecdsa.PublicKey); ec {
		rec.Algorithm = ES256
	}
	rec.Public, err = x509.MarshalPKIXPublicKey(public)
	return rec, err
}

// generate returns a new private key.
func generate(algorithm string) (crypto.Signer, error) {
	if algorithm == ES256 {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	return private, err
}

// stored reports whether the private half is in the store.
func (rec record) stored() bool { return rec.Clear != nil || rec.Sealed != nil }

// inUse reports whether the private half is for signing, now or next.
func (rec record) inUse() bool { return rec.State == KeyActive || rec.State == KeyNext }

func (rec record) public() (crypto.PublicKey, error) { return x509.ParsePKIXPublicKey(rec.Public) }

func (rec record) entry() (store.Entry, error) {
	data, err := json.Marshal(rec)
	return store.Entry{Kind: kind, Key: rec.ID, Data: data, CreatedAt: rec.CreatedAt}, err
}

func readRecord(e store.Entry) (rec record, err error) {
	if err := json.Unmarshal(e.Data, &rec); err != nil {
		return record{}, fmt.Errorf("signing key %s: %w", e.Key, err)
	}
	return rec, nil
}

// setPrivate stores the private half, encrypted if there is a master key.
func (s *Service) setPrivate(rec *record, private crypto.Signer) error {
	clear, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("the private key cannot be stored: %w", err)
	}
	rec.Clear, rec.Sealed = clear, nil
	if !s.box().Seals() {
		s.warn()
		return nil
	}
	rec.Clear = nil
	rec.Sealed, err = s.box().Seal(clear, []byte(rec.ID))
	return err
}

// signer returns the private half of a key: that in Options.SigningKeys, or the
// one in the store.
func (s *Service) signer(rec record) (crypto.Signer, error) {
	if host, ok := s.host[rec.ID]; ok {
		return host, nil
	}
	clear := rec.Clear
	switch {
	case !rec.stored():
		return nil, ErrNoPrivateKey
	case rec.Sealed != nil:
		var err error
		if clear, _, err = s.box().Open(rec.Sealed, []byte(rec.ID)); err != nil {
			return nil, err
		}
	}
	private, err := x509.ParsePKCS8PrivateKey(clear)
	if err != nil {
		return nil, err
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, licensefile.ErrKeyType
	}
	return signer, nil
}

// key converts a record.
func (s *Service) key(rec record) (Key, error) {
	public, err := rec.public()
	if err != nil {
		return Key{}, fmt.Errorf("signing key %s: %w", rec.ID, err)
	}
	k := Key{
		ID: rec.ID, Algorithm: rec.Algorithm, State: rec.State, Private: PrivateElsewhere,
		CreatedAt: rec.CreatedAt, StateAt: rec.StateAt, Public: public,
	}
	switch {
	case s.host[rec.ID] != nil:
		k.Private = PrivateHost
	case rec.Sealed != nil:
		k.Private = PrivateSealed
	case rec.Clear != nil:
		k.Private = PrivatePlain
	}
	return k, nil
}
