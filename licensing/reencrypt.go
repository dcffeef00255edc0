package licensing

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
)

// Reencrypted counts what [Handler.ReencryptSecrets] has done.
type Reencrypted struct {
	WebhookSecrets int
	SigningKeys    int
	SecondFactors  int
	Unreadable     int // encrypted with a key that is in neither option, and left as they are
}

// ReencryptSecrets encrypts what is stored in plain text or encrypted with one of
// Options.PreviousMasterKeys with Options.MasterKey: the secrets of webhooks, the
// private keys that sign license files and the second factors of operators. The
// secrets themselves stay the same.
//
// It needs an Update for each webhook, key and operator, and other processes may
// work meanwhile, if they have both keys. After an error, a new call does the
// rest. Call it when every process has the new key as its MasterKey: one that has it
// among its PreviousMasterKeys still encrypts with the old one. The old key is no
// longer needed when Unreadable is 0.
func (h *Handler) ReencryptSecrets(ctx context.Context) (out Reencrypted, err error) {
	if h.opts.MasterKey == nil {
		return out, errors.New("reencrypt secrets: set Options.MasterKey")
	}
	secrets, err := inner.Of(h.webhooks).Reencrypt(ctx)
	out.WebhookSecrets, out.Unreadable = secrets.Secrets, secrets.Unreadable
	if err != nil {
		return out, fmt.Errorf("reencrypt the secrets of webhooks: %w", err)
	}
	keys, err := inner.Of(h.files).Reencrypt(ctx)
	out.SigningKeys, out.Unreadable = keys.Secrets, out.Unreadable+keys.Unreadable
	if err != nil {
		return out, fmt.Errorf("reencrypt signing keys: %w", err)
	}
	factors, err := inner.Of(h.operators).Reencrypt(ctx)
	out.SecondFactors, out.Unreadable = factors.Secrets, out.Unreadable+factors.Unreadable
	if err != nil {
		return out, fmt.Errorf("reencrypt second factors: %w", err)
	}
	return out, nil
}
