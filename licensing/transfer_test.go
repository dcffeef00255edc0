package licensing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// TestTransfer: a license goes to another customer with a new key, without its files,
// seats, name and metadata; one event says so and has nothing else of the former
// customer; and what the provider keeps sending with the old ID does not move it back.
func TestTransfer(t *testing.T) {
	is := is.New(t)
	v := newVendor(t)
	_, err := v.h.Service().PutPlan(t.Context(), license.PutPlanParams{ID: "pro", ProductID: "atlas", MaxActivations: new(int64(2))})
	is.NoErr(err)
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	email := "ada@former.example"
	tell := func(customer string, quantity int64, after time.Duration) license.Fulfillment {
		f, err := v.h.Service().Fulfill(t.Context(), license.FulfillParams{
			Reference: "shop:1", CustomerID: customer, PlanID: "pro", State: "active", At: at.Add(after), Quantity: &quantity,
			Name: "Ada of Former", Metadata: map[string]*string{"email": &email},
		})
		is.NoErr(err)
		return f
	}
	l := tell("ada", 1, 0).License
	for i := range 2 {
		v.do("POST", "/license/activate", fmt.Sprintf(`{"key":%q,"fingerprint":"former-%d","name":"Former PC","file":"P1D"}`, l.Key, i), 200)
	}
	path := "/license/" + l.ID + "/transfer"
	is.Equal(v.pointer("POST", path, `{}`), "#/customer_id")
	is.Equal(v.pointer("POST", path, `{"customer_id":"lic_x"}`), "#/customer_id")
	is.Equal(v.pointer("POST", path, `{"customer_id":"ada"}`), "#/customer_id")
	is.Equal(v.pointer("POST", path, `{"customer_id":"grace","metadata":{"":"x"}}`), "#/metadata")
	before := v.do("GET", "/event?limit=200", "", 200)["data"].([]any)

	got := v.do("POST", path, `{"customer_id":"grace","name":"Grace Hopper","reason":"sold"}`, 200)
	is.Equal([]any{got["customer_id"], got["name"], got["metadata"], got["generation"]}, []any{"grace", "Grace Hopper", map[string]any{}, 2.0})
	key := got["key"].(string)
	is.True(key != l.Key)
	is.Equal(v.do("POST", "/license/validate", fmt.Sprintf(`{"key":%q}`, l.Key), 200)["code"], "not_found")
	text, err := v.h.Files().Revocations(t.Context(), "atlas")
	is.NoErr(err)
	keys, err := v.h.Files().KeySet(t.Context())
	is.NoErr(err)
	list, err := keys.VerifyRevocations(text)
	is.NoErr(err)
	is.Equal([]any{len(list.Licenses), list.Licenses[0].Hash, list.Licenses[0].MinGeneration}, []any{1, licensefile.LicenseHash(l.ID), int64(2)})
	events := v.do("GET", "/event?limit=200", "", 200)["data"].([]any)
	is.Equal(len(events), len(before)+1)
	event := fmt.Sprint(events[len(events)-1])
	is.True(strings.Contains(event, "license.transferred") && strings.Contains(event, "sold"))
	for _, former := range []string{"Ada of Former", email, "Former PC"} {
		is.True(!strings.Contains(event, former))
	}

	// Each customer sees what is their own.
	ada := v.h.Service().Customer("ada")
	mine, err := ada.List(t.Context(), 0, "")
	is.NoErr(err)
	is.Equal(len(mine.Data), 0)
	_, err = ada.Get(t.Context(), l.ID)
	is.True(err != nil)
	grace := v.h.Service().Customer("grace")
	seats, err := grace.Activations(t.Context(), license.ListActivationsParams{LicenseID: l.ID, Ended: true})
	is.NoErr(err)
	is.Equal(len(seats.Data), 0)
	for i := range 2 { // all seats are free
		v.do("POST", "/license/activate", fmt.Sprintf(`{"key":%q,"fingerprint":"new-%d"}`, key, i), 200)
	}

	// The purchase continues, under either ID, and another customer's is refused.
	for i, customer := range []string{"ada", "grace", ""} {
		f := tell(customer, int64(i)+2, time.Duration(i+1)*time.Minute)
		is.Equal([]any{f.CustomerID, f.License.CustomerID, f.License.Name, *f.License.MaxActivations}, []any{"ada", "grace", "Grace Hopper", int64(2*i) + 4})
		is.Equal(len(f.License.Metadata), 0)
	}
	_, err = v.h.Service().Fulfill(t.Context(), license.FulfillParams{Reference: "shop:1", CustomerID: "eve", At: at})
	is.True(err != nil)

	// The key can stay; a revoked license is not transferred.
	is.Equal(v.do("POST", path, `{"customer_id":"eve","keep_key":true}`, 200)["key"], key)
	is.Equal(v.do("GET", "/license/"+l.ID, "", 200)["name"], "eve")
	v.do("POST", "/license/"+l.ID+"/revoke", `{}`, 200)
	is.Equal(v.do("POST", path, `{"customer_id":"ada"}`, 409)["code"], "move_forbidden")
}

// TestTransferWithManySeats: more activations than one batch are all deleted.
func TestTransferWithManySeats(t *testing.T) {
	is := is.New(t)
	v := newVendor(t)
	s := v.h.Service()
	l, err := s.Create(t.Context(), license.CreateParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", MaxActivations: new(int64(500))})
	is.NoErr(err)
	is.NoErr(s.Atomically(t.Context(), func(s *license.Service) error {
		for i := range 450 {
			if _, err := s.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	moved, err := s.Transfer(t.Context(), license.TransferParams{ID: l.ID, CustomerID: "grace"})
	is.NoErr(err)
	is.Equal(moved.Revision, int64(2))
	seats, err := s.ListActivations(t.Context(), license.ListActivationsParams{LicenseID: l.ID, Ended: true})
	is.NoErr(err)
	is.Equal(len(seats.Data), 0)
}
