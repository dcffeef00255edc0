// Package seal encrypts what the store must keep in a usable form, with the
// master keys of the host.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// A Box seals one kind of secret with AES-256-GCM. Its keys are derived from the
// master keys (HKDF, RFC 5869) and used for nothing else. It is safe for
// concurrent use.
type Box struct {
	label    string
	what     string
	master   []byte
	previous [][]byte
}

// New returns a Box for a kind of secret. The label selects its keys and must
// never change; what names the secret in errors, such as "the secret". The master
// key seals and opens; nil: nothing is sealed. The previous keys only open.
func New(label, what string, master []byte, previous [][]byte) Box {
	return Box{label, what, master, previous}
}

// Seals reports whether there is a master key.
func (b Box) Seals() bool { return b.master != nil }

// Seal encrypts clear. Open needs the same about, such as the ID of the record.
func (b Box) Seal(clear, about []byte) ([]byte, error) {
	aead, err := b.aead(b.master)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, clear, about), nil
}

// Open decrypts what Seal returned. It reports whether the current master key
// sealed it, and not a previous one.
func (b Box) Open(sealed, about []byte) (clear []byte, current bool, err error) {
	if b.master == nil && len(b.previous) == 0 {
		return nil, false, fmt.Errorf("%s is encrypted; set Options.MasterKey to the key it was encrypted with", b.what)
	}
	if b.master != nil {
		if clear, err := b.open(b.master, sealed, about); err == nil {
			return clear, true, nil
		}
	}
	for _, key := range b.previous {
		if clear, err := b.open(key, sealed, about); err == nil {
			return clear, false, nil
		}
	}
	return nil, false, fmt.Errorf("%s was encrypted with another Options.MasterKey; add that key to Options.PreviousMasterKeys", b.what)
}

// Counts says how many secrets are stored in each form.
type Counts struct {
	Sealed     int // encrypted with the current master key
	Previous   int // encrypted with a previous one
	Clear      int // in plain text
	Unreadable int // encrypted with another key
}

// Count adds one secret to n. If sealed is nil, it is stored in plain text.
func (b Box) Count(n *Counts, sealed, about []byte) {
	if sealed == nil {
		n.Clear++
		return
	}
	switch _, current, err := b.Open(sealed, about); {
	case err != nil:
		n.Unreadable++
	case current:
		n.Sealed++
	default:
		n.Previous++
	}
}

func (b Box) open(master, sealed, about []byte) ([]byte, error) {
	aead, err := b.aead(master)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nil, sealed, about)
}

func (b Box) aead(master []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, master, nil, b.label, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
