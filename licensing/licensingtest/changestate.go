package licensingtest

import (
	"net/http"
	"time"
)

// testMoves tests state changes, renewal and rekeying.
func testMoves(a *site) {
	a.test("a license of three fields is usable immediately", func(a *site) {
		made := a.post("license", licenseBody("n", "p", "c")).is(http.StatusCreated).
			has("status", "active").has("expires_at", nil).has("max_activations", nil).has("lease_seconds", nil)
		for _, pc := range []string{"pc-1", "pc-2", "pc-3"} {
			a.activate(made.text("key"), pc).is(http.StatusOK).has("valid", true).has("next_change_at", nil)
		}
	})

	a.test("every change of state from every state", func(a *site) {
		allowed := map[string]map[string]string{ // state, change, and where it leads
			"active":    {"suspend": "suspended", "revoke": "revoked", "rekey": "active"},
			"suspended": {"reinstate": "active", "revoke": "revoked", "rekey": "suspended"},
			"revoked":   {},
		}
		leads := map[string]string{"suspend": "suspended", "reinstate": "active", "revoke": "revoked", "rekey": "revoked"}
		ways := map[string][]string{"active": nil, "suspended": {"suspend"}, "revoked": {"revoke"}}
		for _, state := range []string{"active", "suspended", "revoked"} {
			for _, move := range []string{"suspend", "reinstate", "revoke", "rekey"} {
				id := a.create("n", "p", "c")
				for _, way := range ways[state] {
					a.post("license/"+id+"/"+way, "").is(http.StatusOK).has("status", state)
				}
				before := a.snapshot()
				got := a.post("license/"+id+"/"+move, object("reason", "as agreed"))
				if to, ok := allowed[state][move]; ok {
					got.is(http.StatusOK).has("id", id).has("status", to)
					if move != "rekey" {
						got.has("status_reason", "as agreed")
					}
					continue
				}
				got.is(http.StatusConflict).has("code", "state_forbidden").has("from", state).has("to", leads[move])
				a.same(before)
			}
		}
	})

	a.test("a change of state is conditional, repeatable and told", func(a *site) {
		id := a.create("n", "p", "c")
		a.post("license/"+id+"/suspend", "", headers{"If-Match": `"2.active"`}).is(http.StatusPreconditionFailed).hasHeader("Etag", `"1.active"`)
		events := len(a.Events())
		first := a.post("license/"+id+"/suspend", object("reason", "unpaid"), headers{"If-Match": `"1.active"`, "Idempotency-Key": "suspend-1"}).
			is(http.StatusOK).hasHeader("Etag", `"2.suspended"`)
		again := a.post("license/"+id+"/suspend", object("reason", "unpaid"), headers{"If-Match": `"1.active"`, "Idempotency-Key": "suspend-1"}).
			is(http.StatusOK).hasHeader("Etag", `"2.suspended"`).hasHeader("Idempotency-Replayed", "true")
		if string(again.body) != string(first.body) {
			again.errorf("the first answer was %s", first.body)
		}
		a.post("license/"+id+"/reinstate", "", key("suspend-1")).is(http.StatusUnprocessableEntity).has("code", "idempotency_key_reused")
		if all := a.Events(); len(all) != events+1 || all[events].Type != "license.suspended" {
			a.t.Errorf("a suspension sent twice left %d events", len(all)-events)
		}
		a.post("license/"+id+"/reinstate", "").is(http.StatusOK).has("status", "active").has("status_reason", nil)
	})

	a.test("renewing by date and by calendar", func(a *site) {
		made := a.post("license", object("name", "n", "product_id", "p", "customer_id", "c", "expires_at", "2027-01-31T00:00:00Z")).is(http.StatusCreated)
		path := "license/" + made.text("id") + "/renew"
		a.post(path, object("duration", "P1M")).is(http.StatusOK).has("expires_at", "2027-02-28T00:00:00Z")
		a.post(path, object("duration", "P1Y", "from", "expiry", "reason", "paid")).is(http.StatusOK).has("expires_at", "2028-02-28T00:00:00Z")
		a.post(path, object("duration", "P10Y", "from", "now")).is(http.StatusOK).has("expires_at", stamp(a.Clock.Now().AddDate(10, 0, 0)))
		a.post(path, object("expires_at", "2099-01-01T00:00:00Z")).is(http.StatusOK).has("expires_at", "2099-01-01T00:00:00Z")
		endless := "license/" + a.create("n", "p", "endless") + "/renew"
		before := a.snapshot()
		for _, wrong := range []string{
			object("expires_at", "2098-01-01T00:00:00Z"), "", object("expires_at", nil), object("duration", "P1D", "expires_at", "2100-01-01T00:00:00Z"),
		} {
			a.post(path, wrong).is(http.StatusUnprocessableEntity).names("#/expires_at")
		}
		a.post(path, object("duration", "1 month")).is(http.StatusUnprocessableEntity).names("#/duration")
		a.post(path, object("duration", "P1D", "from", "here")).is(http.StatusUnprocessableEntity).names("#/from")
		a.post(endless, object("duration", "P1D")).is(http.StatusUnprocessableEntity).names("#/expires_at")
		a.same(before)
	})

	a.test("an expired license is renewed from now", func(a *site) {
		back := a.Clock.Now()
		ends := back.Add(time.Hour)
		id := a.post("license", object("name", "n", "product_id", "p", "customer_id", "c", "expires_at", stamp(ends))).text("id")
		a.Clock.Advance(48 * time.Hour)
		a.get("license/"+id).has("status", "expired")
		a.post("license/"+id+"/renew", object("duration", "P1D")).is(http.StatusOK).has("status", "active").has("expires_at", stamp(a.Clock.Now().Add(24*time.Hour)))
		a.Clock.Set(back)
	})

	a.test("a key that leaked opens nothing any more", func(a *site) {
		made := a.post("license", licenseBody("n", "p", "c"))
		other := a.post("license", licenseBody("n", "p", "c"))
		leaked := made.text("key")
		path := "license/" + made.text("id") + "/rekey"
		renewed := a.post(path, object("reason", "leaked")).is(http.StatusOK).text("key")
		a.validate("key", leaked).has("code", "not_found")
		a.validate("key", renewed).has("code", "valid")
		a.post(path, object("key", "AN-OLD-KEY-OF-OURS")).is(http.StatusOK).has("key", "AN-OLD-KEY-OF-OURS")
		a.post(path, object("key", other.text("key"))).is(http.StatusConflict).has("code", "key_taken")
		a.post(path, object("key", "short")).is(http.StatusUnprocessableEntity).names("#/key")
	})

	a.test("a refused change of state leaves no trace", func(a *site) {
		id := a.create("n", "p", "c")
		before := a.snapshot()
		a.post("license/"+noLicense+"/renew", object("duration", "P1D")).is(http.StatusNotFound)
		for _, move := range []string{"suspend", "reinstate", "revoke", "rekey"} {
			a.post("license/"+noLicense+"/"+move, "").is(http.StatusNotFound)
		}
		for _, move := range []string{"suspend", "reinstate", "revoke", "renew", "rekey"} {
			a.post("license/"+id+"/"+move, object("reason", 5)).is(http.StatusUnprocessableEntity).names("#/reason")
			a.post("license/"+id+"/"+move, object("reason", "a\nb")).is(http.StatusUnprocessableEntity).names("#/reason")
			a.post("license/"+id+"/"+move, object("why", "x")).is(http.StatusUnprocessableEntity).names("#/why")
			a.post("license/"+id+"/"+move, "{").is(http.StatusBadRequest)
			a.post("license/"+id+"/"+move, "{}", headers{"Content-Type": "text/plain"}).is(http.StatusUnsupportedMediaType)
			a.post("license/"+id+"/"+move+"?force=1", "").is(http.StatusBadRequest).names("force")
			a.get("license/" + id + "/" + move).is(http.StatusMethodNotAllowed)
		}
		a.same(before)
	})
}
