package files

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
)

// seal returns AES-256-GCM with a key that is derived from the master key
// (HKDF, RFC 5869) and used only for signing keys.
func (s *Service) seal() (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, s.opts.MasterKey, nil, "licensekit signing key", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// warn logs once that private keys are stored unencrypted.
func (s *Service) warn() {
	s.warned.Do(func() {
		s.opts.Logger.Warn("licensing: signing keys are stored in plain text; set Options.MasterKey to encrypt them")
	})
}
