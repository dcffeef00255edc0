package licensingtest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// testHandover gives a license that was bought to another customer: with a new key,
// without its files, activations, name and metadata. One event says so and has
// nothing else of the former customer, and what the provider keeps sending with the
// old ID does not move the license back.
func testHandover(a *site) {
	a.call(http.MethodPut, "plan/pro", object("product_id", "atlas", "max_activations", 2)).is(http.StatusCreated)
	at := a.Clock.Now()
	tell := func(customer string, quantity int, after time.Duration) *answer {
		return a.call(http.MethodPut, "purchase/shop:1", object("at", stamp(at.Add(after)), "customer_id", customer, "plan_id", "pro", "state", "active",
			"quantity", quantity, "name", "Ada of Former", "metadata", map[string]string{"email": "ada@former.example"}))
	}
	bought := tell("ada", 1, 0).is(http.StatusCreated)
	id, key := bought.text("license_id"), bought.text("license/key")
	for i := range 2 {
		a.activate(key, fmt.Sprint("former-", i), "name", "Former PC", "file", "P1D").is(http.StatusOK)
	}
	path := "license/" + id + "/transfer"
	for _, wrong := range []string{`{}`, object("customer_id", "lic_x"), object("customer_id", "ada")} {
		a.post(path, wrong).is(http.StatusUnprocessableEntity).names("#/customer_id")
	}
	a.post(path, object("customer_id", "grace", "metadata", map[string]string{"": "x"})).is(http.StatusUnprocessableEntity).names("#/metadata")
	events := len(a.Events())

	moved := a.post(path, object("customer_id", "grace", "name", "Grace Hopper", "reason", "sold")).is(http.StatusOK).
		has("customer_id", "grace").has("name", "Grace Hopper").has("metadata", map[string]any{}).has("generation", 2).text("key")
	if moved == key {
		a.t.Error("the license should have a new key")
	}
	a.validate("key", key).because("not_found")
	list, err := a.Handler.Files().Revocations(a.t.Context(), "atlas")
	if err != nil {
		a.t.Fatal(err)
	}
	keys, err := a.Handler.Files().KeySet(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	if refused, err := keys.VerifyRevocations(list); err != nil || len(refused.Licenses) != 1 || refused.Licenses[0].Hash != licensefile.LicenseHash(id) || refused.Licenses[0].MinGeneration != 2 {
		a.t.Errorf("the files of the former customer should be void: %+v, %v", refused, err)
	}
	all := a.Events()
	if len(all) != events+1 || all[events].Type != "license.transferred" {
		a.t.Fatalf("a transfer left %d events", len(all)-events)
	}
	for _, former := range []string{"Ada of Former", "ada@former.example", "Former PC"} {
		if strings.Contains(string(all[events].Data), former) {
			a.t.Errorf("the event has %q of the former customer", former)
		}
	}

	// Each customer sees what is their own.
	a.get("license/ada").is(http.StatusNotFound)
	if _, err := a.Handler.Service().Customer("ada").Get(a.t.Context(), id); err == nil {
		a.t.Error("the former customer should not see the license")
	}
	a.get("license/"+id+"/activation?ended=true").has("data", []any{})
	for i := range 2 { // all seats are free
		a.activate(moved, fmt.Sprint("new-", i)).is(http.StatusOK)
	}

	// The purchase continues, under either ID. Under that of the former customer, it says
	// nothing of a person, and the answer has no license. Another ID is refused.
	tell("ada", 2, time.Second).is(http.StatusOK).has("result", "transferred").has("license", nil).has("fields", map[string]any{})
	a.get("license/"+id).has("customer_id", "grace").has("name", "Grace Hopper").has("max_activations", 4).has("metadata", map[string]any{})
	tell("grace", 3, 2*time.Second).is(http.StatusOK).has("result", "changed").has("customer_id", "grace").
		has("license/customer_id", "grace").has("license/max_activations", 6)
	tell("eve", 1, 0).is(http.StatusConflict).has("code", "reference_taken")

	// The key can stay; a revoked license is not transferred.
	a.post(path, object("customer_id", "eve", "keep_key", true)).is(http.StatusOK).has("key", moved).has("name", "eve")
	a.post("license/"+id+"/revoke", "").is(http.StatusOK)
	a.post(path, object("customer_id", "ada")).is(http.StatusConflict).has("code", "state_forbidden")
}
