package licensingtest

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

var (
	licenseID  = regexp.MustCompile(`^lic_[0-9a-hjkmnp-tv-z]{26}$`)
	licenseKey = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}$`)
)

// stamp formats a time as in the API.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }

// testLicenses tests the life cycle of a license.
func testLicenses(a *site) {
	a.test("the three fields of the specification are enough", func(a *site) {
		got := a.post("license", licenseBody("Atlas Team", "atlas", "cus_1")).is(http.StatusCreated).
			has("object", "license").
			has("name", "Atlas Team").
			has("product_id", "atlas").
			has("customer_id", "cus_1").
			has("status", "active").
			has("starts_at", nil).
			has("expires_at", nil).
			has("grace_seconds", 0).
			has("max_activations", nil).
			has("lease_seconds", nil).
			has("entitlements", map[string]any{}).
			has("metadata", map[string]any{}).
			has("revision", 1).
			has("created_at", stamp(a.Clock.Now())).
			has("updated_at", stamp(a.Clock.Now())).
			hasHeader("Etag", `"1.active"`)
		id := got.text("id")
		if !licenseID.MatchString(id) || !licenseKey.MatchString(got.text("key")) {
			got.errorf("the id or the key has not the documented form")
		}
		// The address in Location is relative to the request's, which ends in /license.
		if want := "license/" + id; strings.TrimPrefix(got.header.Get("Location"), "./") != want {
			got.errorf("Location should be %s", want)
		}
		again := a.get("license/"+id).is(http.StatusOK).hasHeader("Etag", `"1.active"`)
		if string(again.body) != string(got.body) {
			again.errorf("GET should answer what POST did: %s", got.body)
		}
	})

	a.test("every field comes back", func(a *site) {
		starts, expires := Start.AddDate(0, -1, 0), Start.AddDate(1, 0, 0)
		got := a.post("license", object(
			"name", "Größe 中文 🚀", "product_id", "p/1?#%", "customer_id", "c&2;=",
			"starts_at", stamp(starts), "expires_at", stamp(expires), "grace_seconds", 86400,
			"max_activations", 5, "lease_seconds", 3600,
			"entitlements", map[string]any{"export": true, "seats": 12.5, "tier": "gold"},
			"metadata", map[string]string{"order": "A-1", "note": ""},
		)).is(http.StatusCreated)
		a.get("license/"+got.text("id")).is(http.StatusOK).
			has("name", "Größe 中文 🚀").
			has("product_id", "p/1?#%").
			has("customer_id", "c&2;=").
			has("starts_at", stamp(starts)).
			has("expires_at", stamp(expires)).
			has("grace_seconds", 86400).
			has("max_activations", 5).
			has("lease_seconds", 3600).
			has("entitlements", map[string]any{"export": true, "seats": 12.5, "tier": "gold"}).
			has("metadata", map[string]string{"order": "A-1", "note": ""})
	})

	a.test("the status follows the clock", func(a *site) {
		now := a.Clock.Now()
		id := a.post("license", object("name", "n", "product_id", "p", "customer_id", "c",
			"starts_at", stamp(now.Add(time.Hour)), "expires_at", stamp(now.Add(2*time.Hour)))).
			is(http.StatusCreated).has("status", "scheduled").text("id")
		a.Clock.Set(now.Add(time.Hour))
		a.get("license/"+id).has("status", "active").hasHeader("Etag", `"1.active"`)
		a.Clock.Set(now.Add(2 * time.Hour))
		a.get("license/"+id).has("status", "expired").hasHeader("Etag", `"1.expired"`).has("revision", 1)
	})

	a.test("an event for every change, and no key in it", func(a *site) {
		before := len(a.Events())
		made := a.post("license", licenseBody("Atlas", "atlas", "cus_9")).is(http.StatusCreated)
		id, key := made.text("id"), made.text("key")
		changed := a.patch("license/"+id, object("name", "Atlas Pro")).is(http.StatusOK)
		gone := a.delete("license/" + id).is(http.StatusOK)
		events := a.Events()[before:]
		want := []struct {
			kind string
			by   *answer
		}{{"license.created", made}, {"license.updated", changed}, {"license.deleted", gone}}
		if len(events) != len(want) {
			a.t.Fatalf("%d events, want %d", len(events), len(want))
		}
		for i, e := range events {
			if e.Type != want[i].kind || e.Subject != id || e.ProductID != "atlas" || e.CustomerID != "cus_9" ||
				e.Actor != "client:"+a.Client.ID || e.RequestID != want[i].by.header.Get("X-Request-Id") {
				a.t.Errorf("event %d is %+v, want a %s of %s", i, e, want[i].kind, id)
			}
			if strings.Contains(string(e.Data), key) {
				a.t.Errorf("the %s event holds the license key", e.Type)
			}
		}
	})

	a.test("deleting confirms once", func(a *site) {
		id := a.create("n", "p", "c")
		a.delete("license/"+id).is(http.StatusOK).
			has("object", "license").has("id", id).has("deleted", true)
		a.get("license/" + id).is(http.StatusNotFound)
		a.delete("license/" + id).is(http.StatusNotFound)
		a.patch("license/"+id, object("name", "n")).is(http.StatusNotFound)
	})

	a.test("a license and a customer share a path and are distinguished", func(a *site) {
		id := a.create("n", "p", "someone")
		a.get("license/"+id).is(http.StatusOK).has("object", "license").has("id", id)
		a.get("license/someone").is(http.StatusOK).has("object", "list").has("data/0/id", id)
		a.get("license/no-one").is(http.StatusNotFound)
		a.get("license/" + noLicense).is(http.StatusNotFound)
		a.get("license/lic_x").is(http.StatusNotFound)
	})

	a.test("HEAD answers as GET without a body", func(a *site) {
		id := a.create("n", "p", "c")
		got := a.call(http.MethodHead, "license/"+id, "").is(http.StatusOK).hasHeader("Etag", `"1.active"`)
		if len(got.body) > 0 {
			got.errorf("a body")
		}
	})
}
