package licensingtest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// activate activates a fingerprint with a license key and without a token.
func (a *site) activate(key, fingerprint string, more ...any) *answer {
	a.t.Helper()
	return a.post("license/activate", object(append([]any{"key", key, "fingerprint", fingerprint}, more...)...), anonymous)
}

func (a *site) deactivate(key, fingerprint string) *answer {
	a.t.Helper()
	return a.post("license/deactivate", object("key", key, "fingerprint", fingerprint), anonymous)
}

// licenseOf creates a license with the given seats and lease (0: no lease) and
// returns its ID and key.
func (a *site) licenseOf(seats, lease int) (id, key string) {
	a.t.Helper()
	pairs := []any{"name", "n", "product_id", "atlas", "customer_id", "c", "max_activations", seats}
	if lease > 0 {
		pairs = append(pairs, "lease_seconds", lease)
	}
	made := a.post("license", object(pairs...)).is(http.StatusCreated)
	return made.text("id"), made.text("key")
}

// testActivations creates, renews and releases activations.
func testActivations(a *site) {
	a.test("activating again is the same seat", func(a *site) {
		id, key := a.licenseOf(1, 0)
		first := a.activate(key, "pc-1", "name", "Ada's", "metadata", map[string]string{"os": "plan9"}).is(http.StatusOK).
			has("valid", true).has("activation/status", "live").has("activation/license_id", id).
			has("activation/fingerprint", "pc-1").has("activation/name", "Ada's").has("activation/metadata/os", "plan9").
			has("activation/lease_ends_at", nil).has("license/id", id).has("license/key", nil)
		seat := first.text("activation/id")
		a.activate(key, "pc-1").is(http.StatusOK).has("activation/id", seat).has("activation/name", "Ada's")
		a.activate(key, "pc-1", "name", "Grace's").is(http.StatusOK).has("activation/id", seat).has("activation/name", "Grace's")
		a.validate("key", key, "fingerprint", "pc-1").has("valid", true).has("activation/id", seat)
		a.validate("key", key, "fingerprint", "pc-2").because("not_activated", "activation_limit")
		a.activate(key, "pc-2").is(http.StatusConflict).has("code", "activation_limit").has("verdict/valid", false).has("verdict/license/id", id)
	})

	a.test("a released seat is free", func(a *site) {
		id, key := a.licenseOf(1, 0)
		seat := a.activate(key, "pc-1").text("activation/id")
		a.deactivate(key, "pc-2").is(http.StatusNotFound)
		released := a.deactivate(key, "pc-1").is(http.StatusOK).has("object", "activation").has("id", seat).has("status", "released")
		a.deactivate(key, "pc-1").is(http.StatusOK).has("ended_at", released.at("ended_at")) // and only once
		a.validate("key", key, "fingerprint", "pc-1").because("not_activated")
		a.activate(key, "pc-2").is(http.StatusOK)
		if got := a.get("license/" + id + "/activation").is(http.StatusOK); len(got.ids()) != 1 {
			got.errorf("one seat should be taken")
		}
	})

	a.test("a lease ends by the clock, and is not revived", func(a *site) {
		_, key := a.licenseOf(1, 600)
		seat := a.activate(key, "pc-1").is(http.StatusOK).has("activation/lease_ends_at", stamp(a.Clock.Now().Add(10*time.Minute))).
			has("recheck_after", 300).text("activation/id")
		a.Clock.Advance(9 * time.Minute)
		a.validate("key", key, "fingerprint", "pc-1").has("valid", true).has("activation/lease_ends_at", stamp(a.Clock.Now().Add(10*time.Minute)))
		a.Clock.Advance(10*time.Minute - 2*time.Second)
		a.activate(key, "pc-2").is(http.StatusConflict) // the last second of the lease
		a.validate("key", key, "fingerprint", "pc-1").because("lease_ended")
		a.activate(key, "pc-2").is(http.StatusOK) // although nothing swept the seat
		a.validate("key", key, "fingerprint", "pc-1").because("lease_ended", "activation_limit")
		a.activate(key, "pc-1").is(http.StatusConflict).has("code", "activation_limit")
		a.Clock.Advance(10 * time.Minute)
		if back := a.activate(key, "pc-1").is(http.StatusOK); back.text("activation/id") == seat {
			back.errorf("coming back should be a new activation")
		}
	})

	a.test("a lease is not renewed while the license forbids it", func(a *site) {
		id, key := a.licenseOf(1, 600)
		ends := a.activate(key, "pc-1").at("activation/lease_ends_at")
		a.post("license/"+id+"/suspend", "").is(http.StatusOK)
		a.Clock.Advance(5 * time.Minute)
		a.validate("key", key, "fingerprint", "pc-1").because("suspended").has("activation/lease_ends_at", ends)
		a.activate(key, "pc-1").is(http.StatusConflict).has("code", "suspended")
	})

	a.test("taking over the oldest, and the evicted program learns of it", func(a *site) {
		id, key := a.licenseOf(2, 0)
		first, second := a.activate(key, "pc-1").text("activation/id"), a.activate(key, "pc-2").text("activation/id")
		a.activate(key, "pc-3", "take_over", "oldest").is(http.StatusOK).has("activation/fingerprint", "pc-3")
		a.validate("key", key, "fingerprint", "pc-1").because("evicted", "activation_limit").has("activation/id", first)
		a.activate(key, "pc-1", "take_over", second).is(http.StatusOK)
		a.validate("key", key, "fingerprint", "pc-2").because("evicted", "activation_limit")
		a.activate(key, "pc-2", "take_over", second).is(http.StatusConflict) // which has ended
		_, other := a.licenseOf(1, 0)
		foreign := a.activate(other, "pc-1").text("activation/id")
		a.activate(key, "pc-2", "take_over", foreign).is(http.StatusConflict)
		a.activate(key, "pc-2", "take_over", "the newest").is(http.StatusUnprocessableEntity).names("#/take_over")
		a.validate("key", other, "fingerprint", "pc-1").has("valid", true)
		if got := a.get("license/" + id + "/activation").is(http.StatusOK); len(got.ids()) != 2 {
			got.errorf("two seats should be taken")
		}
	})

	a.test("a limit lowered below use admits none, and evicts none", func(a *site) {
		id, key := a.licenseOf(3, 0)
		for i := range 3 {
			a.activate(key, fmt.Sprint("pc-", i)).is(http.StatusOK)
		}
		a.patch("license/"+id, object("max_activations", 1)).is(http.StatusOK)
		a.validate("key", key, "fingerprint", "pc-2").has("valid", true)
		a.activate(key, "pc-9").is(http.StatusConflict)
		a.activate(key, "pc-9", "take_over", "oldest").is(http.StatusConflict)
		a.activate(key, "pc-0").is(http.StatusOK) // which is inside
	})

	a.test("operators see seats, and free them", func(a *site) {
		id, key := a.licenseOf(5, 0)
		var seats []string
		for i := range 5 {
			seats = append(seats, a.activate(key, fmt.Sprint("pc-", i)).text("activation/id"))
		}
		var listed []string
		for next := "license/" + id + "/activation?limit=2"; next != ""; {
			page := a.get(next).is(http.StatusOK).has("object", "list")
			listed = append(listed, page.ids()...)
			next = ""
			if page.at("has_more") == true {
				next = "license/" + id + "/activation?limit=2&cursor=" + page.text("next_cursor")
			}
		}
		if !slices.Equal(listed, seats) {
			a.t.Errorf("the seats are %v, want %v", listed, seats)
		}
		a.delete("license/"+id+"/activation/"+seats[0]+"?reason=by+mail").is(http.StatusOK).has("status", "released").has("id", seats[0])
		a.delete("license/"+id+"/activation/"+seats[0]).is(http.StatusOK).has("status", "released")
		if got := a.get("license/" + id + "/activation"); !slices.Equal(got.ids(), seats[1:]) {
			got.errorf("the list should be %v", seats[1:])
		}
		if got := a.get("license/" + id + "/activation?ended=true"); !slices.Equal(got.ids(), seats) {
			got.errorf("the list should be %v", seats)
		}
		other, _ := a.licenseOf(1, 0)
		a.delete("license/" + other + "/activation/" + seats[1]).is(http.StatusNotFound)
		a.delete("license/" + id + "/activation/" + noLicense).is(http.StatusNotFound)
		a.get("license/" + noLicense + "/activation").is(http.StatusNotFound)
		a.get("license/" + id + "/activation?limit=0").is(http.StatusBadRequest).names("limit")
		a.get("license/" + id + "/activation?ended=yes").is(http.StatusBadRequest).names("ended")
		a.get("license/" + id + "/activation?cursor=x").is(http.StatusBadRequest).names("cursor")
		a.delete("license/"+id+"/activation/"+seats[1], headers{"If-Match": `"1.active"`}).is(http.StatusBadRequest).names("If-Match")
		a.get("license/"+id+"/activation", anonymous).is(http.StatusUnauthorized)
	})

	a.test("with a key, only what the options allow", func(a *site) {
		_, key := a.licenseOf(5, 0)
		seat := a.activate(key, "pc-1").text("activation/id")
		for _, key := range []string{key, "x"} {
			a.post("license/activation", object("key", key), anonymous).is(http.StatusForbidden).has("code", "forbidden")
			a.post("license/deactivate", object("key", key, "activation_id", seat), anonymous).is(http.StatusForbidden)
		}
		a.post("license/deactivate", object("key", key, "activation_id", seat, "fingerprint", "pc-1"), anonymous).is(http.StatusUnprocessableEntity).names("#/fingerprint")
		a.validate("key", key, "fingerprint", "pc-1").has("valid", true)
	})

	a.test("exactly as many seats under concurrent activations", func(a *site) {
		const n = 120
		id, key := a.licenseOf(7, 0)
		a, events := a.quietly(), len(a.Events())
		answers := together(n, func(i int) *answer { return a.activate(key, fmt.Sprint("pc-", i)) })
		if in, out := count(answers, http.StatusOK), count(answers, http.StatusConflict); in != 7 || out != n-7 {
			a.t.Errorf("%d were admitted to 7 seats, and %d of %d refused", in, out, n)
		}
		if got := a.get("license/" + id + "/activation").is(http.StatusOK); len(got.ids()) != 7 {
			got.errorf("seven seats should be taken")
		}
		if got := len(a.Events()) - events; got != 7 {
			a.t.Errorf("%d events for 7 activations", got)
		}
	})

	a.test("one seat for concurrent activations of one program", func(a *site) {
		_, key := a.licenseOf(5, 0)
		a = a.quietly()
		for _, an := range together(50, func(int) *answer { return a.activate(key, "pc") }) {
			an.is(http.StatusOK)
		}
		for i := range 4 {
			a.activate(key, fmt.Sprint("other-", i)).is(http.StatusOK)
		}
		a.activate(key, "one too many").is(http.StatusConflict)
	})
}
