package licensingtest

import (
	"net/http"
	"slices"
)

// testUpdates updates licenses with and without an ID.
func testUpdates(a *site) {
	a.test("a merge patch changes what it names", func(a *site) {
		expires := stamp(Start.AddDate(1, 0, 0))
		id := a.post("license", object("name", "n", "product_id", "p", "customer_id", "c",
			"expires_at", expires, "max_activations", 3,
			"entitlements", map[string]any{"a": true, "b": 1, "c": "x"},
			"metadata", map[string]string{"k": "v", "l": "w"})).is(http.StatusCreated).text("id")
		a.patch("license/"+id, `{"max_activations":null,"entitlements":{"a":null,"b":2,"d":"new"},"metadata":{"l":null}}`,
			headers{"Content-Type": "application/merge-patch+json"}).is(http.StatusOK).
			has("name", "n").
			has("expires_at", expires).
			has("max_activations", nil).
			has("entitlements", map[string]any{"b": 2, "c": "x", "d": "new"}).
			has("metadata", map[string]string{"k": "v"}).
			has("revision", 2).
			has("updated_at", stamp(a.Clock.Now())).
			hasHeader("Etag", `"2.active"`)
		a.patch("license/"+id, `{"expires_at":null,"entitlements":null,"metadata":null}`).is(http.StatusOK).
			has("expires_at", nil).
			has("entitlements", map[string]any{}).
			has("metadata", map[string]any{}).
			has("revision", 3)
	})

	a.test("the body of the specification works with an id in the path", func(a *site) {
		id := a.create("n", "p", "c")
		a.patch("license/"+id, licenseBody("m", "q", "d")).is(http.StatusOK).
			has("id", id).has("name", "m").has("product_id", "q").has("customer_id", "d")
	})

	a.test("a patch that changes nothing leaves no trace", func(a *site) {
		id := a.create("n", "p", "c")
		before := a.snapshot()
		a.patch("license/"+id, licenseBody("n", "p", "c")).is(http.StatusOK).has("revision", 1)
		a.patch("license/"+id, `{}`).is(http.StatusOK).has("revision", 1)
		a.patch("license/"+id, `{"expires_at":null,"metadata":{"absent":null}}`).is(http.StatusOK).has("revision", 1)
		a.same(before)
	})

	a.test("the id as a member, in the query, and in both", func(a *site) {
		id := a.create("n", "p", "c")
		a.patch("license", object("id", id, "name", "member")).is(http.StatusOK).has("id", id).has("name", "member")
		a.patch("license?id="+id, object("name", "query")).is(http.StatusOK).has("id", id).has("name", "query")
		a.patch("license?id="+id, object("id", id, "name", "both")).is(http.StatusOK).has("name", "both")
		a.patch("license/"+id, object("id", id, "name", "path and member")).is(http.StatusOK).has("name", "path and member")
		a.patch("license", object("id", id, "product_id", "q", "customer_id", "d")).is(http.StatusOK).
			has("name", "path and member").has("product_id", "q").has("customer_id", "d")
	})

	a.test("ids that disagree, or name nothing", func(a *site) {
		id, other := a.create("n", "p", "c"), a.create("n", "p", "other")
		before := a.snapshot()
		a.patch("license?id="+id, object("id", other, "name", "x")).is(http.StatusBadRequest).names("id")
		a.patch("license/"+id, object("id", other, "name", "x")).is(http.StatusBadRequest).names("id")
		a.patch("license?id="+noLicense, object("name", "x")).is(http.StatusNotFound)
		a.patch("license", object("id", noLicense, "name", "x")).is(http.StatusNotFound)
		a.patch("license", object("id", "c", "name", "x")).is(http.StatusNotFound)
		a.same(before)
	})

	a.test("without an id, product and customer name the license", func(a *site) {
		id := a.create("before", "only-product", "only-customer")
		a.create("before", "only-product", "another-customer")
		a.create("before", "another-product", "only-customer")
		a.patch("license", licenseBody("after", "only-product", "only-customer")).is(http.StatusOK).
			has("id", id).has("name", "after").has("revision", 2)
		a.get("license?name=after").is(http.StatusBadRequest) // there is no such filter
		a.patch("license", object("name", "still after", "product_id", "only-product", "customer_id", "only-customer",
			"metadata", map[string]string{"k": "v"})).is(http.StatusOK).
			has("id", id).has("name", "still after").has("metadata", map[string]string{"k": "v"})
	})

	a.test("without an id, nothing is changed by guess", func(a *site) {
		first, second := a.create("n", "twice", "c"), a.create("m", "twice", "c")
		before := a.snapshot()
		got := a.patch("license", licenseBody("x", "twice", "c")).is(http.StatusConflict).has("code", "license_ambiguous")
		if ids := stringsIn(got.at("ids")); !slices.Equal(ids, []string{first, second}) {
			got.errorf("ids should be %v", []string{first, second})
		}
		a.patch("license", licenseBody("x", "twice", "cus_none")).is(http.StatusNotFound)
		a.patch("license", object("name", "x")).is(http.StatusUnprocessableEntity).names("#/product_id").names("#/customer_id")
		a.patch("license", object("product_id", "twice", "customer_id", "c")).is(http.StatusUnprocessableEntity).names("#/name")
		a.patch("license", object("name", "x", "customer_id", "c")).is(http.StatusUnprocessableEntity).names("#/product_id")
		a.patch("license", object("name", "x", "product_id", "twice")).is(http.StatusUnprocessableEntity).names("#/customer_id")
		a.same(before)
	})
}

// stringsIn returns the strings of a JSON array.
func stringsIn(v any) []string {
	list, _ := v.([]any)
	var texts []string
	for _, e := range list {
		s, _ := e.(string)
		texts = append(texts, s)
	}
	return texts
}
