package purchases

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// checkSuspension checks what a row says of who suspends its license.
func checkSuspension(is terms.Suspension) (broken []api.FieldError) {
	for _, reason := range [...][2]string{{"held_reason", is.HeldReason}, {"customer_reason", is.CustomerReason}, {"by_reason", is.ByReason}} {
		if reason[1] == "" {
			continue
		}
		if wrong := call.CheckValue(reason[0], reason[1], 1, 255); wrong != nil {
			broken = append(broken, *wrong)
		}
	}
	if is.By != "" && !call.IsIdentifier(is.By) {
		broken = append(broken, api.FieldError{Field: "by", Code: api.FieldInvalidFormat, Detail: call.IdentifierRule})
	}
	if slices.ContainsFunc(is.Lifted, func(reference string) bool { return !call.IsIdentifier(reference) }) {
		broken = append(broken, api.FieldError{Field: "lifted", Code: api.FieldInvalidFormat, Detail: "each reference " + call.IdentifierRule})
	}
	return broken
}

// namesOfHand are the names in [terms.Hand] of the fields of a license that have other ones.
var namesOfHand = map[string]string{
	"product_id": "product", "plan_id": "plan", "expires_at": "expires", "updates_until": "updates",
	"grace_seconds": "grace", "max_activations": "seats", "lease_seconds": "lease", "offline_seconds": "offline",
}

// checkHand checks what a row says was set by hand, as the creation of a license checks its
// fields. A part that may be less than zero is checked without its sign.
func checkHand(h terms.Hand) (broken []api.FieldError) {
	text := func(s *string, absent string) string {
		if s == nil {
			return absent
		}
		return *s
	}
	instant := func(t *time.Time) *time.Time {
		if t == nil || t.IsZero() {
			return nil
		}
		return t
	}
	size := func(n *int64) *int64 {
		if n == nil {
			return nil
		}
		return new(max(*n, -*n))
	}
	seconds := func(n *int64) *int64 {
		if n == nil || *n < 0 {
			return nil
		}
		return n
	}
	p := api.CreateLicenseParams{
		Name: text(h.Name, "-"), ProductID: text(h.ProductID, "-"), CustomerID: "-", PlanID: text(h.PlanID, ""),
		ExpiresAt: instant(h.ExpiresAt), UpdatesUntil: instant(h.UpdatesUntil), Metadata: map[string]string{},
	}
	if h.GraceSeconds != nil {
		p.GraceSeconds = *h.GraceSeconds
	}
	p.MaxActivations, p.LeaseSeconds, p.OfflineSeconds = size(h.Seats), seconds(h.LeaseSeconds), seconds(h.OfflineSeconds)
	p.Entitlements, p.Meters = map[string]any{}, map[string]api.Meter{}
	var removed [][2]string // fields and names; more can have been removed than a license may have
	for name, v := range h.Entitlements {
		if p.Entitlements[name] = v; v == nil {
			delete(p.Entitlements, name)
			removed = append(removed, [2]string{"entitlements", name})
		}
	}
	for name, v := range h.Metadata {
		if v == nil {
			removed = append(removed, [2]string{"metadata", name})
			continue
		}
		p.Metadata[name] = *v
	}
	for name, m := range h.Meters {
		if m == nil {
			removed = append(removed, [2]string{"meters", name})
			continue
		}
		p.Meters[name] = api.Meter{Limit: size(m.Limit), Per: m.Per, Soft: m.Soft}
	}
	for _, e := range call.CheckCreate(&p) {
		name, rest, _ := strings.Cut(e.Field, "/")
		if known, ok := namesOfHand[name]; ok {
			name = known
		}
		e.Field = strings.TrimSuffix(name+"/"+rest, "/")
		broken = append(broken, e)
	}
	for _, r := range removed {
		if _, wrong := call.CheckMetadata(map[string]string{r[1]: ""}); wrong != nil {
			return append(broken, api.FieldError{Field: r[0], Code: wrong[0].Code, Detail: wrong[0].Detail})
		}
	}
	return broken
}

// checkStored checks the fields of a purchase that no event brings.
func checkStored(p Purchase) (broken []api.FieldError) {
	if id, own := strings.CutPrefix(p.Reference, ownPrefix); own && !record.IsID("lic", id) {
		broken = append(broken, ErrOwn)
	}
	if p.NotFor != "" && !record.IsID("lic", p.NotFor) {
		broken = append(broken, api.FieldError{Field: "not_for", Code: api.FieldInvalidFormat, Detail: `must be "lic_" followed by 26 characters`})
	}
	for digest := range p.Former {
		if len(digest) != len(call.Digest("")) || strings.Trim(digest, "0123456789abcdef") != "" {
			return append(broken, api.FieldError{Field: "former", Code: api.FieldInvalidFormat, Detail: "must have digests in hexadecimal as names"})
		}
	}
	return broken
}
