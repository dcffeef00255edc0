package operator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Reencrypt encrypts the second factors of all operators with the current master
// key.
func (i internals) Reencrypt(ctx context.Context) (seal.Renewed, error) {
	box := i.box()
	return seal.Renew(ctx, i.st, kindOperator, func(e store.Entry, n *seal.Renewed) (data []byte, err error) {
		var rec record
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return nil, fmt.Errorf("operator %s: %w", e.Key, err)
		}
		f := rec.SecondFactor
		if f == nil {
			return nil, nil
		}
		var sealed []byte // nil: it is in plain text
		if f.Sealed {
			sealed = f.Secret
		}
		if sealed, err = box.Renew(n, f.Secret, sealed, []byte(e.Key)); err != nil || sealed == nil {
			return nil, err
		}
		f.Secret, f.Sealed = sealed, true
		return json.Marshal(rec)
	})
}
