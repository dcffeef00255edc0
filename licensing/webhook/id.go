package webhook

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// idText encodes the 128 bits of an ID, after four zero bytes, as its 26 digits,
// after six zeros.
var idText = base32.NewEncoding(record.IDDigits).WithPadding(base32.NoPadding)

// deliveryID returns the ID of the delivery of an event to a webhook: the time
// of the event in 48 bits, its Seq in 40, and 40 bits of a digest. A repeated
// delivery has the same ID, and IDs sort by time.
func deliveryID(webhookID string, e store.Event) string {
	var id [20]byte
	binary.BigEndian.PutUint64(id[7:], uint64(e.Seq))
	binary.BigEndian.PutUint64(id[2:], uint64(max(0, e.Time.UnixMilli())))
	sum := sha256.Sum256([]byte(webhookID + " " + e.ID))
	copy(id[15:], sum[:])
	return "dlv_" + idText.EncodeToString(id[:])[6:]
}
