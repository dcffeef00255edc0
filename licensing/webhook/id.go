package webhook

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// digits are those of IDs (see [store.NewID]).
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

// deliveryID returns the ID of the delivery of an event to a webhook: the time
// of the event in 48 bits, its Seq in 40, and 40 bits of a digest. A repeated
// delivery has the same ID, and IDs sort by time.
func deliveryID(webhookID string, e store.Event) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(max(0, e.Time.UnixMilli()))<<16)
	seq := binary.BigEndian.AppendUint64(nil, uint64(e.Seq))
	copy(id[6:11], seq[3:])
	sum := sha256.Sum256([]byte(webhookID + " " + e.ID))
	copy(id[11:], sum[:])

	var out [26]byte
	hi, lo := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = digits[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return "dlv_" + string(out[:])
}

// seqOf returns the Seq in the ID of a delivery, or zero if the ID has none
// because an earlier version made it.
func seqOf(id string) int64 {
	var hi, lo uint64
	for _, c := range strings.TrimPrefix(id, "dlv_") {
		digit := strings.IndexRune(digits, c)
		if digit < 0 {
			return 0
		}
		hi, lo = hi<<5|lo>>59, lo<<5|uint64(digit)
	}
	if hi>>12&0xf == 7 { // a UUID of version 7
		return 0
	}
	return int64(hi&0xffff<<24 | lo>>40)
}
