package licenses

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/keytext"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/store"
)

// FromRow converts a row of the store to its state at an instant.
func FromRow(row store.License, at time.Time) (api.License, error) {
	rec, err := Read(row, at)
	if err != nil {
		return api.License{}, err
	}
	return FromRecord(rec, at)
}

// FromRecord converts a stored license to its state at an instant.
func FromRecord(rec record.License, at time.Time) (api.License, error) {
	entitlements, metadata := map[string]any{}, map[string]string{}
	var meters map[string]api.Meter
	err := errors.Join(call.Decode(rec.Entitlements, &entitlements), call.Decode(rec.Metadata, &metadata), call.Decode(rec.Meters, &meters))
	if err != nil {
		return api.License{}, fmt.Errorf("license %s: stored document: %w", rec.ID, err)
	}
	l := FromParts(rec, entitlements, metadata, meters, at)
	l.Upcoming, err = upcoming(rec)
	return l, err
}

// FromParts is fromRecord with the decoded documents of the record.
func FromParts(rec record.License, entitlements map[string]any, metadata map[string]string, meters map[string]api.Meter, at time.Time) api.License {
	return api.License{
		Object:       "license",
		ID:           rec.ID,
		Name:         rec.Name,
		ProductID:    rec.ProductID,
		CustomerID:   rec.CustomerID,
		Key:          keyText(rec),
		Status:       StatusAt(rec.License, at),
		StatusReason: rec.StateReason,
		StartsAt:     record.OptionalTime(rec.StartsAt),
		ExpiresAt:    record.OptionalTime(rec.ExpiresAt),
		Terms: api.Terms{
			GraceSeconds:   rec.GraceSeconds,
			MaxActivations: optionalCount(rec.MaxActivations),
			LeaseSeconds:   optionalCount(rec.LeaseSeconds),
			OfflineSeconds: optionalCount(rec.OfflineSeconds),
			Entitlements:   entitlements,
			Meters:         meters,
		},
		Generation:   revocations.Generation(rec),
		Metadata:     metadata,
		PlanID:       rec.PlanID,
		Reference:    rec.Reference,
		UpdatesUntil: record.OptionalTime(rec.UpdatesUntil),
		Starts:       startsOf(rec),
		Revision:     rec.Revision,
		CreatedAt:    rec.CreatedAt,
		UpdatedAt:    rec.UpdatedAt,
	}
}

func startsOf(rec record.License) (starts api.Starts) {
	if rec.Awaits {
		starts = api.StartsActivation
	}
	return starts
}

// ParamsOf returns the fields of a license that a caller can set.
func ParamsOf(l api.License) api.CreateLicenseParams {
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

// WriteFields copies the checked fields of p, and values derived from them, to a
// record. Without a key, it generates one.
func WriteFields(p api.CreateLicenseParams, rec *record.License) {
	rec.Name, rec.ProductID, rec.CustomerID = p.Name, p.ProductID, p.CustomerID
	if p.Key != "" {
		setKey(rec, p.Key)
	} else {
		rec.Key = call.NewKey()
	}
	rec.StartsAt, rec.ExpiresAt = call.TimeOrZero(p.StartsAt), call.TimeOrZero(p.ExpiresAt)
	rec.GraceSeconds = p.GraceSeconds
	rec.MaxActivations, rec.LeaseSeconds = call.CountOrNegative(p.MaxActivations), call.CountOrNegative(p.LeaseSeconds)
	rec.OfflineSeconds = call.CountOrNegative(p.OfflineSeconds)
	rec.UpdatesUntil = call.TimeOrZero(p.UpdatesUntil)
	rec.Entitlements, rec.Metadata, rec.Meters = call.EncodeMap(p.Entitlements), call.EncodeMap(p.Metadata), call.EncodeMap(p.Meters)
	rec.PlanID = p.PlanID
	rec.Text = call.TextOf(*rec, p.Metadata)
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
	fields.Meters = mergeMeters(fields.Meters, p.Meters)
}

// mergeMeters returns the meters of a license with a change merged into them.
func mergeMeters(old map[string]api.Meter, c api.Change[map[string]*api.MeterChange]) map[string]api.Meter {
	changed := api.Change[map[string]*api.Meter]{Set: c.Set, Null: c.Null, Value: map[string]*api.Meter{}}
	for name, to := range c.Value {
		changed.Value[name] = nil
		if to != nil {
			m := old[name]
			change(&m.Limit, to.Limit)
			record.Set(&m.Soft, to.Soft)
			if to.Per.Set {
				m.Per = to.Per.Value
			}
			changed.Value[name] = &m
		}
	}
	return mergeMap(old, changed, func(m *api.Meter) (api.Meter, bool) {
		if m == nil {
			return api.Meter{}, false
		}
		return *m, true
	})
}

// change makes a change of a nullable field.
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
	changes := make(call.Changes)
	call.Note(changes, "name", before.Name == after.Name, before.Name, after.Name)
	call.Note(changes, "product_id", before.ProductID == after.ProductID, before.ProductID, after.ProductID)
	call.Note(changes, "customer_id", before.CustomerID == after.CustomerID, before.CustomerID, after.CustomerID)
	call.Note(changes, "status", before.Status == after.Status, before.Status, after.Status)
	call.Note(changes, "status_reason", before.StatusReason == after.StatusReason, before.StatusReason, after.StatusReason)
	call.Note(changes, "starts_at", call.SameTime(before.StartsAt, after.StartsAt), before.StartsAt, after.StartsAt)
	call.Note(changes, "starts", before.Starts == after.Starts, before.Starts, after.Starts)
	call.Note(changes, "expires_at", call.SameTime(before.ExpiresAt, after.ExpiresAt), before.ExpiresAt, after.ExpiresAt)
	call.Note(changes, "updates_until", call.SameTime(before.UpdatesUntil, after.UpdatesUntil), before.UpdatesUntil, after.UpdatesUntil)
	call.Note(changes, "generation", before.Generation == after.Generation, before.Generation, after.Generation)
	call.Note(changes, "metadata", maps.Equal(before.Metadata, after.Metadata), before.Metadata, after.Metadata)
	call.Note(changes, "plan_id", before.PlanID == after.PlanID, before.PlanID, after.PlanID)
	call.Note(changes, "upcoming", sameUpcoming(before.Upcoming, after.Upcoming), before.Upcoming, after.Upcoming)
	call.Note(changes, "reference", before.Reference == after.Reference, before.Reference, after.Reference)
	call.NoteTerms(changes, before.Terms, after.Terms)
	return changes
}

func optionalCount(n int64) *int64 {
	if n < 0 {
		return nil
	}
	count := n // only this is allocated
	return &count
}

// IdTime returns the time that an ID of a license encodes; zero: it is none.
func IdTime(id string) time.Time {
	if !record.IsID("lic", id) {
		return time.Time{}
	}
	ms := int64(0)
	for _, c := range []byte(id[len("lic_"):][:10]) {
		ms = ms<<5 | int64(strings.IndexByte(record.IDDigits, c))
	}
	return time.UnixMilli(ms).UTC()
}

// IdFrom returns the beginning of the IDs of licenses that encode a time.
func IdFrom(t time.Time) string { return store.NewID("lic", t)[:len("lic_")+10] }

// setKey sets the key of a license to a supplied text. A key from another system
// can look like a generated key, so the text is kept beside the canonical form,
// unless it has characters that no key has, or quotation marks or brackets around it.
func setKey(rec *record.License, text string) {
	rec.Key, rec.KeyText = call.CanonicalKey(text), ""
	if text != rec.Key && call.IsKey(text) && keytext.Bare(text) == text {
		rec.KeyText = text
	}
}

// keyText returns the key of a license unchanged from what the caller supplied.
func keyText(rec record.License) string { return cmp.Or(rec.KeyText, rec.Key) }
