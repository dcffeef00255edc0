package licensingtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// validate validates a license key without a token.
func (a *site) validate(pairs ...any) *answer {
	a.t.Helper()
	return a.post("license/validate", object(pairs...), anonymous).is(http.StatusOK)
}

// reasons returns the reason codes of a verdict in order.
func (an *answer) reasons() []string {
	list, _ := an.at("reasons").([]any)
	codes := []string{}
	for _, reason := range list {
		reason, _ := reason.(map[string]any)
		code, _ := reason["code"].(string)
		codes = append(codes, code)
	}
	return codes
}

// because checks the reasons of a verdict.
func (an *answer) because(codes ...string) *answer {
	an.t.Helper()
	if !slices.Equal(an.reasons(), codes) {
		an.errorf("the reasons should be %v", codes)
	}
	return an.has("valid", false).has("code", codes[0])
}

// testVerdicts tests validation.
func testVerdicts(a *site) {
	start := a.Clock.Now()
	starts, ends := start.AddDate(0, 0, 10), start.AddDate(0, 0, 20)
	made := a.post("license", object("name", "n", "product_id", "atlas", "customer_id", "cus_1",
		"starts_at", stamp(starts), "expires_at", stamp(ends), "grace_seconds", 86400, "max_activations", 1,
		"entitlements", map[string]any{"export": true})).is(http.StatusCreated)
	id, licenseKey := made.text("id"), made.text("key")

	a.test("the verdict over time, now and explained before", func(a *site) {
		for _, at := range []struct {
			when time.Time
			code string
			next any
		}{
			{starts.Add(-time.Minute), "scheduled", starts},
			{starts, "valid", ends},
			{ends.Add(-time.Minute), "valid", ends},
			{ends, "in_grace", ends.AddDate(0, 0, 1)},
			{ends.AddDate(0, 0, 1), "expired", nil},
		} {
			if when, ok := at.next.(time.Time); ok {
				at.next = stamp(when)
			}
			before := a.snapshot()
			explained := a.get("license/"+id+"/verdict?at="+stamp(at.when)).is(http.StatusOK).has("code", at.code).has("next_change_at", at.next)
			a.same(before)
			a.Clock.Set(at.when.Add(-time.Second)) // each call moves it on by one
			asked := a.validate("key", licenseKey).has("code", at.code).has("next_change_at", at.next).has("license/key", nil)
			if string(asked.body) != string(explained.body) {
				asked.errorf("the verdict was explained as %s", explained.body)
			}
			a.Clock.Set(start)
		}
	})

	a.test("the answer says when to ask again", func(a *site) {
		a.Clock.Set(ends.Add(-time.Hour - time.Second))
		a.validate("key", licenseKey).has("valid", true).has("recheck_after", 3600)
		a.Clock.Set(start)
	})

	a.test("every reason, in one order", func(a *site) {
		a.post("license/"+id+"/suspend", object("reason", "unpaid")).is(http.StatusOK)
		everything := []string{"suspended", "scheduled", "product_mismatch", "customer_mismatch", "not_activated", "entitlement_missing", "entitlement_missing"}
		a.validate("key", licenseKey, "product_id", "beacon", "customer_id", "cus_2", "fingerprint", "pc", "entitlements", []string{"sso", "export", "api"}).
			because(everything...).has("license/status_reason", "unpaid")
		q := url.Values{"product_id": {"beacon"}, "customer_id": {"cus_2"}, "fingerprint": {"pc"}, "entitlements": {"sso", "export", "api"}}
		a.get("license/" + id + "/verdict?" + q.Encode()).is(http.StatusOK).because(everything...)
		a.post("license/"+id+"/revoke", "").is(http.StatusOK)
		a.validate("key", licenseKey).because("revoked", "scheduled")
		a.get("license/"+id+"/verdict?at="+stamp(ends.AddDate(1, 0, 0))).because("revoked", "expired")
	})

	a.test("a revoked license keeps its record, a deleted one its event", func(a *site) {
		made := a.post("license", licenseBody("n", "p", "c"))
		a.post("license/"+made.text("id")+"/revoke", object("reason", "refunded")).is(http.StatusOK)
		a.get("license/"+made.text("id")).is(http.StatusOK).has("status", "revoked").has("status_reason", "refunded")
		a.delete("license/" + made.text("id")).is(http.StatusOK)
		a.validate("key", made.text("key")).because("not_found")
	})

	a.test("an unknown key is no hint", func(a *site) {
		unknown := a.validate("key", "00000-00000-00000-00000-00000", "product_id", "atlas", "fingerprint", "pc").
			because("not_found").has("license", nil).has("activation", nil).has("next_change_at", nil)
		for _, key := range []string{"x", "an old key, with blanks", "11111-11111-11111-11111-11111", "lic_00000000000000000000000000", made.text("id")} {
			if got := a.validate("key", key, "product_id", "atlas", "fingerprint", "pc"); string(got.body) != string(unknown.body) {
				got.errorf("for another unknown key the answer was %s", unknown.body)
			}
		}
		for _, key := range []string{"x", "11111-11111-11111-11111-11111"} {
			a.post("license/activate", object("key", key, "fingerprint", "pc"), anonymous).is(http.StatusNotFound).has("code", "not_found").has("verdict", nil)
		}
		first := a.post("license/deactivate", object("key", "x", "fingerprint", "pc"), anonymous).is(http.StatusNotFound)
		for _, key := range []string{"x", "11111-11111-11111-11111-11111", licenseKey} { // of the last, the fingerprint is unknown
			a.post("license/deactivate", object("key", key, "fingerprint", "unknown"), anonymous).is(http.StatusNotFound).
				has("code", "not_found").has("detail", first.at("detail")).has("verdict", nil)
		}
	})

	a.test("a key is read as people type it", func(a *site) {
		key := a.post("license", licenseBody("n", "p", "c")).text("key")
		a.quietly().validate("key", " "+strings.ToLower(strings.ReplaceAll(key, "-", " "))+" ").has("valid", true)
		a.quietly().validate("key", strings.ReplaceAll(strings.ReplaceAll(key, "1", "l"), "0", "o")).has("valid", true)
	})

	a.test("what is refused", func(a *site) {
		before := a.snapshot()
		for body, pointer := range map[string]string{
			`{}`:                                   "#/key",
			`{"key":""}`:                           "#/key",
			`{"key":5}`:                            "#/key",
			`{"key":null}`:                         "#/key",
			`{"key":"x","entitlements":"export"}`:  "#/entitlements",
			`{"key":"x","entitlements":[1]}`:       "#/entitlements",
			`{"key":"x","fingerprint":"a\u0000b"}`: "#/fingerprint",
			`{"key":"x","product":"atlas"}`:        "#/product",
			`{"key":"x","product_id":" atlas"}`:    "#/product_id",
		} {
			a.quietly().post("license/validate", body, anonymous).is(http.StatusUnprocessableEntity).names(pointer)
		}
		a.post("license/validate?key=x", object("key", "x"), anonymous).is(http.StatusBadRequest).names("key")
		a.get("license/" + id + "/verdict?at=tomorrow").is(http.StatusBadRequest).names("at")
		a.get("license/" + id + "/verdict?at=1500-01-01T00:00:00Z").is(http.StatusBadRequest).names("at")
		a.get("license/" + noLicense + "/verdict").is(http.StatusNotFound)
		a.get("license/cus_1/verdict").is(http.StatusNotFound)
		a.get("license/"+id+"/verdict", anonymous).is(http.StatusUnauthorized)
		a.same(before)
	})

	a.test("a customer of that name is not in the way", func(a *site) {
		for _, name := range []string{"validate", "activate", "deactivate", "activation", "export", "import"} {
			id := a.create("n", "p", name)
			if got := a.get("license/" + name).is(http.StatusOK); !slices.Equal(got.ids(), []string{id}) {
				got.errorf("the licenses of the customer %s should be %s", name, id)
			}
		}
	})
}
