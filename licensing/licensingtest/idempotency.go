package licensingtest

import (
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// key returns an Idempotency-Key header.
func key(k string) headers { return headers{"Idempotency-Key": k} }

// testIdempotency repeats requests.
func testIdempotency(a *site) {
	body := licenseBody("n", "p", "c")

	a.test("a repeated request is answered as the first was", func(a *site) {
		first := a.post("license", body, key("order-1")).is(http.StatusCreated)
		before := a.snapshot()
		again := a.post("license", body, key("order-1")).is(http.StatusCreated).
			hasHeader("Location", first.header.Get("Location")).
			hasHeader("Etag", first.header.Get("Etag"))
		if string(again.body) != string(first.body) {
			again.errorf("the first answer was %s", first.body)
		}
		if again.header.Get("Idempotency-Replayed") == "" || first.header.Get("Idempotency-Replayed") != "" {
			again.errorf("only the repeated answer is marked with Idempotency-Replayed")
		}
		// The value is a structured-field string, and members have no order.
		a.post("license", `{ "customer_id":"c", "product_id":"p", "name":"n" }`, key(`"order-1"`)).is(http.StatusCreated).has("id", first.text("id"))
		a.same(before)
	})

	a.test("a key is for one request", func(a *site) {
		first := a.post("license", body, key("order-2")).is(http.StatusCreated)
		before := a.snapshot()
		a.post("license", licenseBody("other", "p", "c"), key("order-2")).is(http.StatusUnprocessableEntity).names("Idempotency-Key")
		a.patch("license/"+first.text("id"), object("name", "x"), key("order-2")).is(http.StatusUnprocessableEntity).names("Idempotency-Key")
		a.same(before)
	})

	a.test("a failure is not kept", func(a *site) {
		a.post("license", object("name", ""), key("order-3")).is(http.StatusUnprocessableEntity)
		a.post("license", body, key("order-3")).is(http.StatusCreated)
	})

	a.test("a patch is repeated too", func(a *site) {
		id := a.create("n", "p", "c")
		a.patch("license/"+id, object("name", "m"), key("order-4")).is(http.StatusOK).has("revision", 2)
		a.patch("license/"+id, object("name", "o")).is(http.StatusOK).has("revision", 3)
		a.patch("license/"+id, object("name", "m"), key("order-4")).is(http.StatusOK).has("revision", 2).has("name", "m")
		a.get("license/"+id).has("name", "o").has("revision", 3)
	})

	a.test("a key belongs to its client, not to a token", func(a *site) {
		first := a.post("license", body, key("order-5")).is(http.StatusCreated).text("id")
		renewed, _ := a.NewToken(a.Client.ID, a.Secret)
		a.as(renewed).post("license", body, key("order-5")).is(http.StatusCreated).has("id", first)
		c, secret := a.NewClient(auth.CreateClientParams{Name: "another"})
		token, _ := a.NewToken(c.ID, secret)
		if got := a.as(token).post("license", body, key("order-5")).is(http.StatusCreated); got.text("id") == first {
			got.errorf("another client received the answer")
		}
	})

	a.test("a key is kept for a day", func(a *site) {
		first := a.post("license", body, key("order-6")).is(http.StatusCreated).text("id")
		a.Clock.Advance(23 * time.Hour)
		a.post("license", body, key("order-6")).is(http.StatusCreated).has("id", first)
		a.Clock.Advance(2 * time.Hour)
		if got := a.post("license", body, key("order-6")).is(http.StatusCreated); got.text("id") == first {
			got.errorf("the key should have expired")
		}
	})
}
