package api

import (
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// createParams reads the body of POST /license.
func createParams(body *web.Object) license.CreateParams {
	p := license.CreateParams{
		Name:           value(body.Text("name")),
		ProductID:      value(body.Text("product_id")),
		CustomerID:     value(body.Text("customer_id")),
		Key:            body.Filled("key"),
		StartsAt:       pointer(body.OptionalTime("starts_at")),
		ExpiresAt:      pointer(body.OptionalTime("expires_at")),
		GraceSeconds:   value(body.Int("grace_seconds")),
		MaxActivations: pointer(body.OptionalInt("max_activations")),
		LeaseSeconds:   pointer(body.OptionalInt("lease_seconds")),
		Entitlements:   body.OptionalMap("entitlements").Value,
		Metadata:       body.Texts("metadata"),
	}
	body.Refuse("is set by the service; leave it out", append(ofRecord, "id")...)
	p.Faults = body.Faults()
	return p
}

// updateParams reads the body of PATCH: a merge patch (RFC 7396), in which a
// member that is not there leaves its field, and null empties it. id is the
// one that the address names, if any.
func updateParams(body *web.Object, id string) (license.UpdateParams, error) {
	p := license.UpdateParams{
		Name:           body.Text("name"),
		ProductID:      body.Text("product_id"),
		CustomerID:     body.Text("customer_id"),
		StartsAt:       body.OptionalTime("starts_at"),
		ExpiresAt:      body.OptionalTime("expires_at"),
		GraceSeconds:   body.Int("grace_seconds"),
		MaxActivations: body.OptionalInt("max_activations"),
		LeaseSeconds:   body.OptionalInt("lease_seconds"),
		Entitlements:   body.OptionalMap("entitlements"),
		Metadata:       body.OptionalTexts("metadata"),
	}
	body.Refuse("cannot be changed by a patch; leave it out", append(ofRecord, "key")...)
	member := body.Text("id")
	switch {
	case member != nil && id != "" && *member != id:
		return p, &web.Problem{
			Status: http.StatusBadRequest, Code: "id_mismatch",
			Detail: "The address names one license and the member id another. Leave the member out, or make them agree.",
		}
	case id != "":
		p.ID = id
	case member != nil:
		if strings.Contains(*member, "\x00") {
			return p, license.ErrNotFound // no id has one, and not every store can look for it
		}
		p.ID = *member
	default:
		return p, nameByMatch(body, &p)
	}
	p.Faults = body.Faults()
	return p, nil
}

// nameByMatch lets the product and the customer in the body name the license
// that gets the name in it. This is how the specification writes a PATCH, and
// so all three must be there.
func nameByMatch(body *web.Object, p *license.UpdateParams) error {
	body.Require("name", "product_id", "customer_id")
	p.Faults = body.Faults()
	if p.Name == nil || p.ProductID == nil || p.CustomerID == nil || body.Has("id") {
		return &license.InvalidError{Fields: p.Faults}
	}
	p.Match = &license.Match{ProductID: *p.ProductID, CustomerID: *p.CustomerID}
	return nil
}

// ofRecord are the members of a license that no request sets.
var ofRecord = []string{"object", "status", "status_reason", "revision", "created_at", "updated_at"}

// value returns what p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// pointer returns the value of c, or nil if it has none.
func pointer[T any](c license.Change[T]) *T {
	if !c.Set || c.Null {
		return nil
	}
	return &c.Value
}
