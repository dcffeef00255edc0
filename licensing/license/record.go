package license

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// fromRow converts a row of the store to its state at an instant.
func fromRow(row store.License, at time.Time) (api.License, error) {
	rec, err := record.ReadLicense(row)
	if err != nil {
		return api.License{}, err
	}
	return fromRecord(rec, at)
}

// fromRecord converts a stored license to its state at an instant.
func fromRecord(rec record.License, at time.Time) (api.License, error) {
	entitlements, metadata := map[string]any{}, map[string]string{}
	err := errors.Join(decode(rec.Entitlements, &entitlements), decode(rec.Metadata, &metadata))
	if err != nil {
		return api.License{}, fmt.Errorf("license %s: stored document: %w", rec.ID, err)
	}
	return fromParts(rec, entitlements, metadata, at), nil
}

// fromParts is fromRecord with the decoded documents of the record.
func fromParts(rec record.License, entitlements map[string]any, metadata map[string]string, at time.Time) api.License {
	return api.License{
		Object:       "license",
		ID:           rec.ID,
		Name:         rec.Name,
		ProductID:    rec.ProductID,
		CustomerID:   rec.CustomerID,
		Key:          keyText(rec),
		Status:       statusAt(rec.License, at),
		StatusReason: rec.StateReason,
		StartsAt:     record.OptionalTime(rec.StartsAt),
		ExpiresAt:    record.OptionalTime(rec.ExpiresAt),
		Terms: api.Terms{
			GraceSeconds:   rec.GraceSeconds,
			MaxActivations: optionalCount(rec.MaxActivations),
			LeaseSeconds:   optionalCount(rec.LeaseSeconds),
			OfflineSeconds: optionalCount(rec.OfflineSeconds),
			Entitlements:   entitlements,
		},
		Generation:   generation(rec),
		Metadata:     metadata,
		PlanID:       rec.PlanID,
		Reference:    rec.Reference,
		UpdatesUntil: record.OptionalTime(rec.UpdatesUntil),
		Revision:     rec.Revision,
		CreatedAt:    rec.CreatedAt,
		UpdatedAt:    rec.UpdatedAt,
	}
}

// paramsOf returns the fields of a license that a caller can set.
func paramsOf(l api.License) api.CreateLicenseParams {
	return api.CreateLicenseParams{
		Name:         l.Name,
		ProductID:    l.ProductID,
		CustomerID:   l.CustomerID,
		Key:          l.Key,
		StartsAt:     l.StartsAt,
		ExpiresAt:    l.ExpiresAt,
		Terms:        l.Terms,
		UpdatesUntil: l.UpdatesUntil,
		Metadata:     l.Metadata,
		PlanID:       l.PlanID,
	}
}

// writeFields copies the checked fields of p, and values derived from them, to a
// record. Without a key, it generates one.
func writeFields(p api.CreateLicenseParams, rec *record.License) {
	rec.Name, rec.ProductID, rec.CustomerID = p.Name, p.ProductID, p.CustomerID
	if p.Key != "" {
		setKey(rec, p.Key)
	} else {
		rec.Key = NewKey()
	}
	rec.StartsAt, rec.ExpiresAt = timeOrZero(p.StartsAt), timeOrZero(p.ExpiresAt)
	rec.GraceSeconds = p.GraceSeconds
	rec.MaxActivations, rec.LeaseSeconds = countOrNegative(p.MaxActivations), countOrNegative(p.LeaseSeconds)
	rec.OfflineSeconds = countOrNegative(p.OfflineSeconds)
	rec.UpdatesUntil = timeOrZero(p.UpdatesUntil)
	rec.Entitlements, rec.Metadata = encodeMap(p.Entitlements), encodeMap(p.Metadata)
	rec.PlanID = p.PlanID
	rec.Text = textOf(*rec, p.Metadata)
}

// apply changes the fields that p sets.
func apply(p api.UpdateLicenseParams, fields *api.CreateLicenseParams) {
	record.Set(&fields.Name, p.Name)
	record.Set(&fields.ProductID, p.ProductID)
	record.Set(&fields.CustomerID, p.CustomerID)
	change(&fields.StartsAt, p.StartsAt)
	change(&fields.ExpiresAt, p.ExpiresAt)
	record.Set(&fields.GraceSeconds, p.GraceSeconds)
	change(&fields.MaxActivations, p.MaxActivations)
	change(&fields.LeaseSeconds, p.LeaseSeconds)
	change(&fields.OfflineSeconds, p.OfflineSeconds)
	change(&fields.UpdatesUntil, p.UpdatesUntil)
	fields.Entitlements = mergeMap(fields.Entitlements, p.Entitlements, func(v any) (any, bool) { return v, v != nil })
	fields.Metadata = mergeMap(fields.Metadata, p.Metadata, func(v *string) (string, bool) {
		if v == nil {
			return "", false
		}
		return *v, true
	})
}

// change makes a Change of a nullable field.
func change[T any](field **T, c api.Change[T]) {
	switch {
	case c.Set && c.Null:
		*field = nil
	case c.Set:
		*field = &c.Value
	}
}

// mergeMap returns old, which it may change, with c merged into it. keep
// returns the value to set, or false to remove the entry.
func mergeMap[V, P any](old map[string]V, c api.Change[map[string]P], keep func(P) (V, bool)) map[string]V {
	if !c.Set {
		return old
	}
	if c.Null {
		return nil
	}
	merged := make(map[string]V, len(old)+len(c.Value))
	for name, v := range old {
		merged[name] = v
	}
	for name, patch := range c.Value {
		if v, ok := keep(patch); ok {
			merged[name] = v
		} else {
			delete(merged, name)
		}
	}
	return merged
}

// diff returns the fields in which two states of a license differ, except
// the key and internal fields.
func diff(before, after api.License) map[string]api.FieldChange {
	changes := make(changes)
	note(changes, "name", before.Name == after.Name, before.Name, after.Name)
	note(changes, "product_id", before.ProductID == after.ProductID, before.ProductID, after.ProductID)
	note(changes, "customer_id", before.CustomerID == after.CustomerID, before.CustomerID, after.CustomerID)
	note(changes, "status", before.Status == after.Status, before.Status, after.Status)
	note(changes, "status_reason", before.StatusReason == after.StatusReason, before.StatusReason, after.StatusReason)
	note(changes, "starts_at", sameTime(before.StartsAt, after.StartsAt), before.StartsAt, after.StartsAt)
	note(changes, "expires_at", sameTime(before.ExpiresAt, after.ExpiresAt), before.ExpiresAt, after.ExpiresAt)
	note(changes, "updates_until", sameTime(before.UpdatesUntil, after.UpdatesUntil), before.UpdatesUntil, after.UpdatesUntil)
	note(changes, "generation", before.Generation == after.Generation, before.Generation, after.Generation)
	note(changes, "metadata", maps.Equal(before.Metadata, after.Metadata), before.Metadata, after.Metadata)
	note(changes, "plan_id", before.PlanID == after.PlanID, before.PlanID, after.PlanID)
	note(changes, "reference", before.Reference == after.Reference, before.Reference, after.Reference)
	noteTerms(changes, before.Terms, after.Terms)
	return changes
}

// noteTerms adds the terms in which two states of a license or a plan differ.
func noteTerms(c changes, before, after api.Terms) {
	note(c, "grace_seconds", before.GraceSeconds == after.GraceSeconds, before.GraceSeconds, after.GraceSeconds)
	note(c, "max_activations", sameCount(before.MaxActivations, after.MaxActivations), before.MaxActivations, after.MaxActivations)
	note(c, "lease_seconds", sameCount(before.LeaseSeconds, after.LeaseSeconds), before.LeaseSeconds, after.LeaseSeconds)
	note(c, "offline_seconds", sameCount(before.OfflineSeconds, after.OfflineSeconds), before.OfflineSeconds, after.OfflineSeconds)
	note(c, "entitlements", maps.Equal(before.Entitlements, after.Entitlements), before.Entitlements, after.Entitlements)
}

type changes map[string]api.FieldChange

// note adds a field that is not the same. It makes interfaces of no others.
func note[T any](c changes, name string, same bool, from, to T) {
	if !same {
		c[name] = api.FieldChange{From: from, To: to}
	}
}

func sameTime(a, b *time.Time) bool { return timeOrZero(a).Equal(timeOrZero(b)) }

func sameCount(a, b *int64) bool { return countOrNegative(a) == countOrNegative(b) }

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
	return record.Encode(m)
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
	count := n // only this is allocated
	return &count
}

func countOrNegative(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// idTime returns the time that an ID of a license encodes; zero: it is none.
func idTime(id string) time.Time {
	if !record.IsID("lic", id) {
		return time.Time{}
	}
	ms := int64(0)
	for _, c := range []byte(id[len("lic_"):][:10]) {
		ms = ms<<5 | int64(strings.IndexByte(record.IDDigits, c))
	}
	return time.UnixMilli(ms).UTC()
}

// idFrom returns the beginning of the IDs of licenses that encode a time.
func idFrom(t time.Time) string { return store.NewID("lic", t)[:len("lic_")+10] }
