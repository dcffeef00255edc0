package web

import (
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// appendList appends a page of licenses as encoding/json encodes it.
func appendList(b []byte, l list, licenses []license.License) (_ []byte, err error) {
	o := object{b: append(b, '{')}
	o.text("object", l.Object)
	o.label("data")
	o.b = append(o.b, '[')
	for i := range licenses {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		if o.b, err = appendLicense(o.b, &licenses[i]); err != nil {
			return nil, err
		}
	}
	o.b = append(o.b, ']')
	o.value("has_more", l.HasMore)
	o.value("next_cursor", l.NextCursor)
	return o.end()
}

// appendLicense appends a license as encoding/json encodes it, which takes several
// times as long.
func appendLicense(b []byte, l *license.License) ([]byte, error) {
	o := object{b: append(b, '{')}
	o.text("object", l.Object)
	o.text("id", l.ID)
	o.text("name", l.Name)
	o.text("product_id", l.ProductID)
	o.text("customer_id", l.CustomerID)
	o.optionalText("key", l.Key)
	o.text("status", string(l.Status))
	o.optionalText("status_reason", l.StatusReason)
	o.optionalTime("starts_at", l.StartsAt)
	o.optionalTime("expires_at", l.ExpiresAt)
	o.number("grace_seconds", l.GraceSeconds)
	o.optionalNumber("max_activations", l.MaxActivations)
	o.optionalNumber("lease_seconds", l.LeaseSeconds)
	o.optionalNumber("offline_seconds", l.OfflineSeconds)
	o.number("generation", l.Generation)
	if len(l.Entitlements) > 0 {
		o.value("entitlements", l.Entitlements)
	} else {
		o.empty("entitlements", l.Entitlements == nil)
	}
	if len(l.Metadata) > 0 {
		o.value("metadata", l.Metadata)
	} else {
		o.empty("metadata", l.Metadata == nil)
	}
	o.number("revision", l.Revision)
	o.time("created_at", l.CreatedAt)
	o.time("updated_at", l.UpdatedAt)
	o.optionalText("plan_id", l.PlanID)
	o.optionalText("reference", l.Reference)
	if l.UpdatesUntil != nil {
		o.time("updates_until", *l.UpdatesUntil)
	}
	return o.end()
}

// An object is a JSON object that is being written.
type object struct {
	b   []byte
	err error // the first
}

func (o *object) end() ([]byte, error) { return append(o.b, '}'), o.err }

// label begins a member.
func (o *object) label(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

// value leaves a value to encoding/json.
func (o *object) value(name string, v any) {
	o.label(name)
	o.other(v)
}

func (o *object) other(v any) {
	text, err := encode(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.b = append(o.b, text[:max(len(text)-1, 0)]...) // without the newline
}

func (o *object) text(name, v string) {
	o.label(name)
	for _, c := range []byte(v) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			o.other(v)
			return
		}
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, v...)
	o.b = append(o.b, '"')
}

func (o *object) optionalText(name, v string) {
	if v != "" {
		o.text(name, v)
	}
}

func (o *object) number(name string, v int64) {
	o.label(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) optionalNumber(name string, v *int64) {
	if v == nil {
		o.empty(name, true)
		return
	}
	o.number(name, *v)
}

func (o *object) time(name string, v time.Time) {
	o.label(name)
	var err error
	if o.b, err = v.AppendText(append(o.b, '"')); err != nil && o.err == nil {
		o.err = err
	}
	o.b = append(o.b, '"')
}

func (o *object) optionalTime(name string, v *time.Time) {
	if v == nil {
		o.empty(name, true)
		return
	}
	o.time(name, *v)
}

// empty appends null or an empty object.
func (o *object) empty(name string, null bool) {
	o.label(name)
	if null {
		o.b = append(o.b, "null"...)
	} else {
		o.b = append(o.b, "{}"...)
	}
}
