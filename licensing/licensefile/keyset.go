package licensefile

import (
	"crypto"
	"encoding/json"
	"fmt"
	"slices"
)

// A KeySet holds the public keys that a program trusts, oldest first. The zero
// KeySet trusts no key. A KeySet never changes, so it is safe for concurrent use.
type KeySet struct {
	keys      []key
	condemned []string // the IDs of compromised keys
}

// NewKeySet returns a set of public keys, oldest first. Each is an
// [ed25519.PublicKey] or an [*ecdsa.PublicKey] on P-256. It returns
// [ErrKeyType] or [ErrDuplicateKey].
func NewKeySet(keys ...crypto.PublicKey) (*KeySet, error) {
	s := &KeySet{}
	for _, public := range keys {
		k, err := newKey(public)
		if err != nil {
			return nil, err
		}
		if err := s.add(k); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ParseKeys reads a JSON Web Key Set (RFC 7517), such as the answer of GET
// /file/keys, with the keys oldest first. It ignores keys of unknown types. It
// returns [ErrMalformed], [ErrDuplicate], [ErrDuplicateKey], [ErrEncoding],
// [ErrKeyID], [ErrKeyType], also for a weak Ed25519 key, [ErrPrivateKey] or, if
// no key is left, [ErrNoUsableKey].
func ParseKeys(jwks []byte) (*KeySet, error) {
	all, err := object(jwks)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	m := members{from: all}
	m.read("keys", true, &list)
	if m.err != nil {
		return nil, m.err
	}
	s := &KeySet{}
	for _, raw := range list {
		k, known, err := parseKey(raw)
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		if err := s.add(k); err != nil {
			return nil, err
		}
	}
	if len(s.keys) == 0 {
		return nil, ErrNoUsableKey
	}
	return s, nil
}

func (s *KeySet) add(k key) error {
	if err := k.check(); err != nil {
		return err
	}
	if s.position(k.id) >= 0 {
		return fmt.Errorf("%w: %s", ErrDuplicateKey, k.id)
	}
	s.keys = append(s.keys, k)
	return nil
}

// IDs returns the IDs of the keys, oldest first.
func (s *KeySet) IDs() []string {
	ids := make([]string, len(s.keys))
	for i, k := range s.keys {
		ids[i] = k.id
	}
	return ids
}

// MarshalJSON returns the set as a JSON Web Key Set, which [ParseKeys] reads.
func (s *KeySet) MarshalJSON() ([]byte, error) {
	list := make([]jwk, len(s.keys))
	for i, k := range s.keys {
		list[i] = k.jwk
	}
	return encode(map[string]any{"keys": list})
}

// Condemn returns a set that refuses what the named keys signed, with
// [ErrCondemnedKey]. Pass it the CondemnedKeys of a revocation list that the
// set has verified.
func (s *KeySet) Condemn(ids ...string) *KeySet {
	return &KeySet{keys: s.keys, condemned: append(slices.Clone(s.condemned), ids...)}
}

// Newer reports whether the revocation list a, and not b, is the one to keep.
// Both have been verified by the set. A list signed with a later key is newer,
// whatever its sequence, so that a stolen older key cannot replace the lists of a
// later one. With the same key, the sequence decides.
func (s *KeySet) Newer(a, b Revocations) bool {
	if i, j := s.position(a.KeyID), s.position(b.KeyID); i != j {
		return i > j
	}
	return a.Sequence > b.Sequence
}

// position returns the position of a key; -1: it is not in the set.
func (s *KeySet) position(id string) int {
	return slices.IndexFunc(s.keys, func(k key) bool { return k.id == id })
}

// find returns the key that must have signed a text.
func (s *KeySet) find(id string) (key, error) {
	i := s.position(id)
	switch {
	case slices.Contains(s.condemned, id):
		return key{}, fmt.Errorf("%w: kid %.64q", ErrCondemnedKey, id)
	case i < 0:
		return key{}, fmt.Errorf("%w: kid %.64q", ErrUnknownKey, id)
	}
	return s.keys[i], nil
}
