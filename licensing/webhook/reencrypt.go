package webhook

import (
	"context"
	"encoding/json"

	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Reencrypt encrypts the current secrets of all webhooks with the current master
// key.
func (s internals) Reencrypt(ctx context.Context) (seal.Renewed, error) {
	box := s.box()
	return seal.Renew(ctx, s.store(), webhookKind, func(e store.Entry, n *seal.Renewed) (data []byte, err error) {
		rec, err := readWebhookEntry(e)
		if err != nil {
			return nil, err
		}
		before := n.Secrets
		for i, secret := range rec.Secrets {
			if !rotation.IsValid(secret, s.now()) {
				continue
			}
			sealed, err := box.Renew(n, secret.Clear, secret.Sealed, []byte(rec.ID))
			if err != nil {
				return nil, err
			}
			if sealed != nil {
				rec.Secrets[i].Clear, rec.Secrets[i].Sealed = nil, sealed
			}
		}
		if n.Secrets == before {
			return nil, nil
		}
		return json.Marshal(rec)
	})
}
