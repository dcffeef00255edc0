package files

import (
	"context"
	"encoding/json"

	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Reencrypt encrypts the stored private halves with the current master key. One
// that cannot be read counts only if [Service.SecretCounts] counts it.
func (i internals) Reencrypt(ctx context.Context) (seal.Renewed, error) {
	box := i.s.box()
	return seal.Renew(ctx, i.s.st, kind, func(e store.Entry, n *seal.Renewed) (data []byte, err error) {
		rec, err := readRecord(e)
		if err != nil || !rec.stored() {
			return nil, err
		}
		sealed, err := box.Renew(n, rec.Clear, rec.Sealed, []byte(rec.ID))
		if !rec.inUse() {
			n.Unreadable = 0
		}
		if err != nil || sealed == nil {
			return nil, err
		}
		rec.Clear, rec.Sealed = nil, sealed
		return json.Marshal(rec)
	})
}
