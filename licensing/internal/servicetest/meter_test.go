package servicetest

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestMetersOverHTTP: the wire form of meters in licenses, patches and plans, and the
// members that errors name.
func TestMetersOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	a := c.do("POST", "/license", `{"name":"Ada","product_id":"atlas","customer_id":"ada","meters":{"exports":{"limit":100,"per":"month"},"calls":{"limit":null,"per":null}}}`)
	is.Equal(a.Code, 201)
	is.Equal(a.json["meters"], map[string]any{"exports": map[string]any{"limit": 100.0, "per": "month"}, "calls": map[string]any{}})
	path := "/license/" + a.json["id"].(string)
	read := c.do("GET", path, "")
	is.Equal(read.json, a.json)
	a = c.do("PATCH", path, `{"meters":{"exports":{"limit":200},"calls":null,"pack":{"limit":5,"soft":true}}}`)
	is.Equal(a.Code, 200)
	is.Equal(a.json["meters"], map[string]any{"exports": map[string]any{"limit": 200.0, "per": "month"}, "pack": map[string]any{"limit": 5.0, "soft": true}})
	for body, want := range map[string]string{
		`{"meters":[]}`:                         "#/meters invalid_type",
		`{"meters":{"exports":1}}`:              "#/meters/exports invalid_type",
		`{"meters":{"exports":{"limit":-1}}}`:   "#/meters/exports/limit out_of_range",
		`{"meters":{"exports":{"limit":"1"}}}`:  "#/meters/exports/limit invalid_type",
		`{"meters":{"exports":{"pr":"day"}}}`:   "#/meters/exports/pr unknown",
		`{"meters":{"exports":{"per":"week"}}}`: "#/meters/exports/per unknown",
	} {
		a := c.do("PATCH", path, body)
		is.Equal(a.Code, 422)
		wrong := a.json["errors"].([]any)[0].(map[string]any)
		is.Equal(wrong["pointer"].(string)+" "+wrong["code"].(string), want)
		plan := `{"product_id":"atlas",` + body[1:]
		a = c.do("PUT", "/plan/p", plan)
		is.Equal(a.Code, 422)
		wrong = a.json["errors"].([]any)[0].(map[string]any)
		is.Equal(wrong["pointer"].(string)+" "+wrong["code"].(string), want)
	}
	a = c.do("PUT", "/plan/p", `{"product_id":"atlas","meters":{"exports":{"limit":10,"per":"license_month"}}}`)
	is.Equal(a.Code, 201)
	is.Equal(a.json["meters"], map[string]any{"exports": map[string]any{"limit": 10.0, "per": "license_month"}})
}
