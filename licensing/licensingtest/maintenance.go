package licensingtest

import (
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// testMaintenance tests licenses and plans that include updates until a date.
func testMaintenance(a *site) {
	const first, last = "2027-01-31T00:00:00Z", "2027-01-31T00:00:01Z" // the last build that is included, and the next
	made := a.post("license", object("name", "Ada", "product_id", "atlas", "customer_id", "ada", "updates_until", first)).is(http.StatusCreated).has("updates_until", first)
	id, key := "license/"+made.text("id"), made.text("key")

	a.test("earlier builds are valid", func(a *site) {
		a.post("license", object("name", "Ada", "product_id", "atlas", "customer_id", "ada", "updates_until", "soon")).is(http.StatusUnprocessableEntity).names("#/updates_until")
		a.post("license/validate", object("key", key, "built_at", "today")).is(http.StatusUnprocessableEntity).names("#/built_at")
		a.activate(key, "pc", "built_at", last).is(http.StatusConflict).has("code", "updates_ended")
		a.activate(key, "pc", "built_at", first).is(http.StatusOK).has("code", "valid")
		a.validate("key", key, "fingerprint", "pc", "built_at", first).has("code", "valid")
		a.validate("key", key, "fingerprint", "pc", "built_at", last).because("updates_ended").
			has("reasons/0/detail", "The license includes updates until "+first+", and this build is newer; builds made until then keep running.")
		a.get(id+"/verdict?built_at="+last).has("code", "updates_ended")
		a.post(id+"/suspend", "")
		a.validate("key", key, "fingerprint", "other", "customer_id", "eve", "built_at", last).because("suspended", "customer_mismatch", "updates_ended", "not_activated")
		a.post(id+"/reinstate", "")
	})

	a.test("files say it, and an earlier date outdates them", func(a *site) {
		text := a.quietly().post(id+"/file", object("fingerprint", "pc", "lifetime", "P14D")).is(http.StatusOK).text("file")
		keys, err := a.Handler.Files().KeySet(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		file, err := keys.Verify(text)
		if err != nil {
			a.t.Fatal(err)
		}
		for _, built := range []time.Time{file.UpdatesUntil, file.UpdatesUntil.Add(time.Second)} {
			err := file.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: "pc", BuiltAt: built, Now: a.Clock.Now()})
			if stamp(file.UpdatesUntil) != first || (err == nil) != (stamp(built) == first) {
				a.t.Errorf("a build of %v with updates until %v: %v", built, file.UpdatesUntil, err)
			}
		}
		a.patch(id, object("updates_until", "2027-01-30T00:00:00Z")).is(http.StatusOK).has("generation", 2)
	})

	a.test("either end is renewed", func(a *site) {
		a.post(id+"/renew", object("extend", "updates", "duration", "P1Y")).is(http.StatusOK).has("updates_until", "2028-01-30T00:00:00Z")
		a.post(id+"/renew", object("updates_until", "2029-01-30T00:00:00Z")).is(http.StatusOK).has("updates_until", "2029-01-30T00:00:00Z").has("expires_at", nil)
		a.post(id+"/renew", object("updates_until", "2029-01-29T00:00:00Z")).is(http.StatusUnprocessableEntity).names("#/updates_until")
		a.post(id+"/renew", object("duration", "P1Y")).is(http.StatusUnprocessableEntity).names("#/expires_at") // has none
		a.post(id+"/renew", object("expires_at", "2029-01-29T00:00:00Z", "extend", "updates")).is(http.StatusUnprocessableEntity).names("#/extend")
		a.post(id+"/renew", object("updates_until", "2030-01-29T00:00:00Z", "duration", "P1Y")).is(http.StatusUnprocessableEntity).names("#/expires_at")
		a.post(id+"/renew", object("duration", "P1Y", "extend", "seats")).is(http.StatusUnprocessableEntity).names("#/extend")
	})

	a.test("out and in again, and no end", func(a *site) {
		out := a.get("export/license").is(http.StatusOK)
		if !strings.Contains(string(out.body), `"updates_until":"2029-01-30T00:00:00Z"`) {
			out.errorf("the row should have updates_until")
		}
		a.delete(id).is(http.StatusOK)
		a.importing(out.lines()...).is(http.StatusOK).has("result", "created")
		a.get(id).has("updates_until", "2029-01-30T00:00:00Z")
		a.patch(id, object("updates_until", nil)).is(http.StatusOK).has("updates_until", nil)
	})

	a.test("a purchase ends the updates", func(a *site) {
		plan := object("product_id", "atlas", "duration", "P1Y", "until_ends", "updates", "max_activations", 2)
		a.call(http.MethodPut, "plan/maintained", plan).is(http.StatusCreated).has("until_ends", "updates")
		a.call(http.MethodPut, "plan/monthly", object("product_id", "atlas", "duration", "P1M")).is(http.StatusCreated).has("until_ends", "license")
		a.call(http.MethodPut, "plan/boxed", object("product_id", "atlas", "duration", "P1Y", "starts", "activation")).is(http.StatusCreated).has("starts", "activation")
		a.call(http.MethodPut, "plan/wrong", object("product_id", "atlas", "starts", "activation")).is(http.StatusUnprocessableEntity).names("#/starts")
		a.call(http.MethodPut, "plan/wrong", object("product_id", "atlas", "until_ends", "seats")).is(http.StatusUnprocessableEntity).names("#/until_ends")
		a.post("license/trial", object("plan_id", "maintained", "customer_id", "ada")).is(http.StatusUnprocessableEntity).names("#/plan_id")
		now := a.Clock.Now()
		tell := func(pairs ...any) *answer {
			a.t.Helper()
			return a.call(http.MethodPut, "purchase/shop:1", object(append(pairs, "at", stamp(a.Clock.Now()))...))
		}
		tell("customer_id", "ada", "plan_id", "maintained", "state", "active").is(http.StatusCreated).
			has("license/expires_at", nil).has("license/updates_until", stamp(now.AddDate(1, 0, 0)))
		tell("until", first).is(http.StatusOK).has("license/expires_at", nil).has("license/updates_until", first)
		ended := a.Clock.Now()
		tell("state", "ended").is(http.StatusOK).has("license/status", "active").has("license/expires_at", nil).has("license/updates_until", stamp(ended))
		tell("plan_id", "monthly").is(http.StatusOK).has("license/status", "expired").has("license/expires_at", stamp(ended)).has("license/updates_until", nil)
		tell("plan_id", "maintained").is(http.StatusOK).has("license/expires_at", nil).has("license/updates_until", stamp(ended))
		a.post("license", object("name", "n", "customer_id", "c", "plan_id", "maintained", "updates_until", nil)).is(http.StatusCreated).
			has("expires_at", nil).has("updates_until", nil)
	})
}
