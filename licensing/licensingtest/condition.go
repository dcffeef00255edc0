package licensingtest

import "net/http"

// testConditions sends preconditions (RFC 9110, 13).
func testConditions(a *site) {
	a.test("If-None-Match", func(a *site) {
		id := a.create("n", "p", "c")
		for _, tag := range []string{`"1.active"`, `W/"1.active"`, `"x", "1.active"`, `*`} {
			got := a.get("license/"+id, headers{"If-None-Match": tag}).is(http.StatusNotModified).hasHeader("Etag", `"1.active"`)
			if len(got.body) > 0 {
				got.errorf("a 304 has no body")
			}
		}
		a.get("license/"+id, headers{"If-None-Match": `"2.active"`}).is(http.StatusOK)
	})

	for _, path := range []string{"file/keys", "openapi.json"} {
		a.test("If-None-Match of "+path, func(a *site) {
			tag := a.get(path).is(http.StatusOK).header.Get("Etag")
			got := a.get(path, headers{"If-None-Match": tag}).is(http.StatusNotModified).hasHeader("Etag", tag)
			if len(got.body) > 0 {
				got.errorf("a 304 has no body")
			}
		})
	}

	a.test("If-None-Match of the revocation list of a product", func(a *site) {
		a.create("n", "p", "c")
		tag := a.get("file/revocations?product_id=p").is(http.StatusOK).header.Get("Etag")
		a.get("file/revocations?product_id=p", headers{"If-None-Match": tag}).is(http.StatusNotModified).hasHeader("Etag", tag)
		a.get("file/revocations?product_id=unknown").is(http.StatusNotFound)
	})

	a.test("an entity tag ends with the status", func(a *site) {
		ends := a.Clock.Now().AddDate(0, 0, 1)
		id := a.post("license", object("name", "n", "product_id", "p", "customer_id", "c", "expires_at", stamp(ends))).text("id")
		before := a.Clock.Now()
		a.Clock.Set(ends)
		a.get("license/"+id, headers{"If-None-Match": `"1.active"`}).is(http.StatusOK).has("status", "expired")
		a.patch("license/"+id, object("name", "x"), headers{"If-Match": `"1.active"`}).is(http.StatusPreconditionFailed)
		a.Clock.Set(before)
	})

	a.test("If-Match lets the right version through", func(a *site) {
		id := a.create("n", "p", "a-customer-of-its-own")
		a.patch("license/"+id, object("name", "2"), headers{"If-Match": `"1.active"`}).is(http.StatusOK).hasHeader("Etag", `"2.active"`)
		a.patch("license/"+id, object("name", "3"), headers{"If-Match": `"1.active", "2.active"`}).is(http.StatusOK)
		a.patch("license/"+id, object("name", "4"), headers{"If-Match": `*`}).is(http.StatusOK)
		a.patch("license", object("id", id, "name", "5"), headers{"If-Match": `"4.active"`}).is(http.StatusOK)
		a.patch("license", licenseBody("6", "p", "a-customer-of-its-own"), headers{"If-Match": `"5.active"`}).is(http.StatusOK).has("id", id)
		a.delete("license/"+id, headers{"If-Match": `"6.active"`}).is(http.StatusOK)
	})

	a.test("If-Match stops any other", func(a *site) {
		id := a.create("n", "p", "d")
		before := a.snapshot()
		for _, tag := range []string{`"2.active"`, `"1.expired"`, `W/"1.active"`, `"1"`, `"of-another-kind"`} {
			a.patch("license/"+id, object("name", "x"), headers{"If-Match": tag}).is(http.StatusPreconditionFailed).hasHeader("Etag", `"1.active"`)
			a.delete("license/"+id, headers{"If-Match": tag}).is(http.StatusPreconditionFailed)
		}
		a.patch("license", licenseBody("x", "p", "d"), headers{"If-Match": `"2.active"`}).is(http.StatusPreconditionFailed)
		a.patch("license/"+noLicense, object("name", "x"), headers{"If-Match": `*`}).is(http.StatusNotFound)
		a.same(before)
	})
}
