package license

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// fromRecord converts a stored license to its state at an instant.
func fromRecord(rec store.License, at time.Time) (License, error) {
	l := License{
		Object:         "license",
		ID:             rec.ID,
		Name:           rec.Name,
		ProductID:      rec.ProductID,
		CustomerID:     rec.CustomerID,
		Key:            rec.Key,
		Status:         statusAt(rec, at),
		StatusReason:   rec.StateReason,
		StartsAt:       optionalTime(rec.StartsAt),
		ExpiresAt:      optionalTime(rec.ExpiresAt),
		GraceSeconds:   rec.GraceSeconds,
		MaxActivations: optionalCount(rec.MaxActivations),
		LeaseSeconds:   optionalCount(rec.LeaseSeconds),
		Entitlements:   map[string]any{},
		Metadata:       map[string]string{},
		Revision:       rec.Revision,
		CreatedAt:      rec.CreatedAt,
		UpdatedAt:      rec.UpdatedAt,
	}
	err := errors.Join(decode(rec.Entitlements, &l.Entitlements), decode(rec.Metadata, &l.Metadata))
	if err != nil {
		return License{}, fmt.Errorf("license %s: stored document: %w", rec.ID, err)
	}
	return l, nil
}

// params returns the fields that a caller can set.
func (l License) params() CreateParams {
	return CreateParams{
		Name:           l.Name,
		ProductID:      l.ProductID,
		CustomerID:     l.CustomerID,
		Key:            l.Key,
		StartsAt:       l.StartsAt,
		ExpiresAt:      l.ExpiresAt,
		GraceSeconds:   l.GraceSeconds,
		MaxActivations: l.MaxActivations,
		LeaseSeconds:   l.LeaseSeconds,
		Entitlements:   l.Entitlements,
		Metadata:       l.Metadata,
	}
}

// write copies the checked fields of p, and values derived from them, to a
// record.
func (p CreateParams) write(rec *store.License) {
	rec.Name, rec.ProductID, rec.CustomerID, rec.Key = p.Name, p.ProductID, p.CustomerID, p.Key
	rec.StartsAt, rec.ExpiresAt = timeOrZero(p.StartsAt), timeOrZero(p.ExpiresAt)
	rec.GraceSeconds = p.GraceSeconds
	rec.MaxActivations, rec.LeaseSeconds = countOrNegative(p.MaxActivations), countOrNegative(p.LeaseSeconds)
	rec.Entitlements, rec.Metadata = encodeMap(p.Entitlements), encodeMap(p.Metadata)
}

// decode decodes a JSON document. An empty document leaves v unchanged.
func decode(document []byte, v any) error {
	if len(document) == 0 {
		return nil
	}
	return json.Unmarshal(document, v)
}

// encodeMap returns m as JSON with sorted names, or nil if m is empty.
// Encoding the values cannot fail.
func encodeMap[V any](m map[string]V) []byte {
	if len(m) == 0 {
		return nil
	}
	return encode(m)
}

// encode returns v as JSON. Encoding v must not be able to fail.
func encode(v any) []byte {
	document, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return document
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func optionalCount(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func countOrNegative(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// isID reports whether s is a well-formed ID with the given prefix.
func isID(prefix, s string) bool {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	if len(s) != len(prefix)+1+26 || s[:len(prefix)] != prefix || s[len(prefix)] != '_' {
		return false
	}
	for _, c := range []byte(s[len(prefix)+1:]) {
		if strings.IndexByte(alphabet, c) < 0 {
			return false
		}
	}
	return true
}
