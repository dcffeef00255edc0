package files

import "github.com/seed-d8a106b4/licensekit/internal/seal"

// box seals the private halves of signing keys.
func (s *Service) box() seal.Box {
	return seal.New("licensekit signing key", "the private key", s.opts.MasterKey, s.opts.PreviousMasterKeys)
}

// warn logs once that private keys are stored unencrypted.
func (s *Service) warn() {
	s.warned.Do(func() {
		s.opts.Logger.Warn("licensing: signing keys are stored in plain text; set Options.MasterKey to encrypt them")
	})
}
