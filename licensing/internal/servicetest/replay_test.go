package servicetest

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestReplayAfterTheProductLimitNarrowed repeats requests of a client after its
// product limit lost one of two products.
//
// Fault: the kept reply hands out a license, and its key, that the client can
// no longer read.
func TestReplayAfterTheProductLimitNarrowed(t *testing.T) {
	for name, limit := range map[string][]string{"from two products": {"a", "b"}, "from all products": nil} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			c := newCaller(t, licensing.Options{})
			inA, inB := c.create("n", "a", "c"), c.create("n", "b", "c")
			client, secret := c.NewClient(auth.CreateClientParams{
				Name: "shop", Scopes: []string{auth.ScopeLicenseWrite, auth.ScopeWebhookWrite}, Products: limit,
			})
			hook := c.do("POST", "/webhook", `{"url":"https://shop.example/"}`, "Authorization", "Bearer "+token(c, client, secret))
			is.Equal(hook.Code, http.StatusCreated)
			requests := []struct {
				method, target, body string
				lost                 bool // with product a
			}{
				{"POST", "/license", `{"name":"n","product_id":"a","customer_id":"c"}`, true},
				{"POST", "/license", `{"name":"n","product_id":"b","customer_id":"c"}`, false},
				{"PATCH", "/license/" + inA, `{"name":"n"}`, true}, // changes nothing
				{"PATCH", "/license/" + inB, `{"name":"m"}`, false},
				{"POST", "/license/" + inA + "/rekey", "", true},
				{"POST", "/license/" + inB + "/suspend", "", false},
				{"PATCH", "/webhook/" + hook.json["id"].(string), `{"description":"d"}`, true},
			}
			do := func(i int) answer {
				r := requests[i]
				return c.do(r.method, r.target, r.body, "Authorization", "Bearer "+token(c, client, secret),
					"Idempotency-Key", "k"+string(rune('0'+i)))
			}
			var replies []answer
			for i := range requests {
				replies = append(replies, do(i))
				require.Less(t, replies[i].Code, 300)
			}
			events := len(c.Events())
			_, err := c.Handler.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: client.ID, Products: &[]string{"b"}})
			is.NoErr(err)
			for i, r := range requests {
				again := do(i)
				if r.lost {
					is.Equal(again.Code, http.StatusForbidden)
					is.Equal(again.json["code"], "product_forbidden")
					require.NotContains(t, again.Body.String(), `"key"`)
					continue
				}
				is.Equal(again.Body.String(), replies[i].Body.String())
				is.Equal(again.Header().Get("Idempotency-Replayed"), "true")
			}
			is.Equal(len(c.Events()), events+1) // that of the client
		})
	}
}

// TestShortenedLeaseWithAKey: a change with an Idempotency-Key shortens the leases of
// all activations, as one without it does.
func TestShortenedLeaseWithAKey(t *testing.T) {
	is := is.New(t)
	for _, key := range []string{"", "k"} {
		c := newCaller(t, licensing.Options{})
		id := c.create("n", "p", "c")
		rows := make([]store.Activation, 150)
		for i := range rows {
			rows[i] = store.Activation{LicenseID: id, ID: store.NewID("act", licensingtest.Start), Fingerprint: strconv.Itoa(i), Document: []byte("{}")}
		}
		is.NoErr(c.Store.Update(t.Context(), func(tx store.Tx) error { return tx.PutActivations(t.Context(), rows...) }))
		is.Equal(c.do("PATCH", "/license/"+id, `{"lease_seconds":600}`, "Idempotency-Key", key).Code, http.StatusOK)
		c.Clock.Advance(70 * time.Minute) // the recheck and the lease
		live, err := c.Store.Activations(t.Context(), store.ActivationQuery{LicenseID: id, LiveAt: c.Clock.Now()})
		is.NoErr(err)
		is.Equal(len(live), 0)
	}
}

// The query is part of a request: the same key for another license is refused.
func TestAKeyIsForOneQuery(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	for i, id := range []string{c.create("first", "p", "c"), c.create("second", "p", "c")} {
		a := c.do("PATCH", "/license?id="+id, `{"name":"renamed"}`, "Idempotency-Key", "k")
		is.Equal(a.Code, []int{http.StatusOK, http.StatusUnprocessableEntity}[i])
	}
}

func token(c *caller, client auth.Client, secret string) string {
	token, _ := c.NewToken(client.ID, secret)
	return token
}
