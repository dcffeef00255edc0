package call

import (
	"encoding/json"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// FirstOf returns the earlier of two instants; zero is none.
func FirstOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// LastOf returns the later of two instants; zero is none.
func LastOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ReadJSON decodes the data of an entry.
func ReadJSON[T any](e store.Entry) (v T, err error) {
	err = Decode(e.Data, &v)
	return v, err
}

// Decode decodes a JSON document. An empty document leaves v unchanged.
func Decode(document []byte, v any) error {
	if len(document) == 0 {
		return nil
	}
	return json.Unmarshal(document, v)
}

// EncodeMap returns m as JSON with sorted names, or nil if m is empty.
// Encoding the values cannot fail.
func EncodeMap[V any](m map[string]V) []byte {
	if len(m) == 0 {
		return nil
	}
	return record.Encode(m)
}

func TimeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func CountOrNegative(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// Seconds rounds up, so that a program that waits that long is not early.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
