package licensingtest

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// testProducts sends requests of a client that is limited to two products.
func testProducts(a *site) {
	mine, theirs := a.create("mine", "atlas", "cus_1"), a.create("theirs", "secret", "cus_1")
	a.create("theirs too", "secret", "cus_2")
	c, secret := a.NewClient(auth.CreateClientParams{Name: "limited", Products: []string{"atlas", "beacon"}})
	token, _ := a.NewToken(c.ID, secret)
	limited := a.as(token)

	limited.test("what is within the limit works", func(a *site) {
		a.get("license/"+mine).is(http.StatusOK).has("id", mine)
		id := a.create("n", "beacon", "cus_3")
		a.patch("license/"+id, object("name", "m", "product_id", "atlas")).is(http.StatusOK).has("product_id", "atlas")
		a.delete("license/" + id).is(http.StatusOK)
	})

	before := a.snapshot()
	limited.test("other products do not exist", func(a *site) {
		for _, answers := range [][2]*answer{
			{a.get("license/" + theirs), a.get("license/" + noLicense)},
			{a.patch("license/"+theirs, object("name", "x")), a.patch("license/"+noLicense, object("name", "x"))},
			{a.patch("license", object("id", theirs, "name", "x")), a.patch("license", object("id", noLicense, "name", "x"))},
			{a.patch("license", licenseBody("x", "secret", "cus_1")), a.patch("license", licenseBody("x", "atlas", "no-one"))},
			{a.delete("license/" + theirs), a.delete("license/" + noLicense)},
			{a.get("license/cus_2"), a.get("license/no-one")},
		} {
			foreign, missing := answers[0].is(http.StatusNotFound), answers[1].is(http.StatusNotFound)
			for _, member := range []string{"type", "title", "code", "detail"} {
				foreign.has(member, missing.at(member))
			}
		}
	})

	limited.test("lists leave them out", func(a *site) {
		for _, path := range []string{"license", "license?customer_id=cus_1", "license/cus_1", "license?status=active"} {
			if got := a.get(path).is(http.StatusOK); !sameSet(got.ids(), []string{mine}) {
				got.errorf("the list should hold %s alone", mine)
			}
		}
		a.get("license?product_id=secret").is(http.StatusOK).has("data", []any{})
		a.get("license?customer_id=cus_2").is(http.StatusOK).has("data", []any{})
	})

	limited.test("creating or moving there is refused", func(a *site) {
		a.post("license", licenseBody("n", "secret", "cus_1")).is(http.StatusForbidden).names("product")
		a.patch("license/"+mine, object("product_id", "secret")).is(http.StatusForbidden).names("product")
	})

	limited.test("another client's cursor does not bypass the limit", func(limited *site) {
		page := a.get("license?limit=1").is(http.StatusOK)
		limited.get("license?limit=1&cursor=" + page.text("next_cursor")).is(http.StatusBadRequest).names("cursor")
	})
	a.same(before)
}
