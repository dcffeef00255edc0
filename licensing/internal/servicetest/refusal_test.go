package servicetest

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestRefusalsHaveTheAddress: a refusal has the address by Options.ClientIP,
// or that of the connection; none if it is unknown.
func TestRefusalsHaveTheAddress(t *testing.T) {
	for name, test := range map[string]struct {
		clientIP func(*http.Request) netip.Addr
		want     string
	}{
		"connection": {nil, "192.0.2.1"},
		"proxy":      {func(*http.Request) netip.Addr { return netip.MustParseAddr("::ffff:203.0.113.9") }, "203.0.113.9"},
		"unknown":    {func(*http.Request) netip.Addr { return netip.Addr{} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			c := newCaller(t, licensing.Options{ClientIP: test.clientIP})
			a := c.do("POST", "/license", `{"name":"A","product_id":"atlas","customer_id":"cus_1","max_activations":0}`)
			id, key := a.json["id"].(string), a.json["key"].(string)
			body := `{"key":"` + key + `","fingerprint":"host-1"}`
			is.Equal(c.do("POST", "/license/activate", body, "Authorization", "").Code, http.StatusConflict)
			list := c.do("GET", "/license/"+id+"/refusal", "").json["data"].([]any)
			is.Equal(len(list), 1)
			is.Equal(list[0].(map[string]any)["code"], "activation_limit")
			is.Equal(list[0].(map[string]any)["recent"].([]any)[0].(map[string]any)["address"], test.want)
		})
	}
}

// TestDrainStoresRefusals: the end of Run stores what was refused before.
func TestDrainStoresRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		h := licensing.NewHandler(st, licensing.Options{Logger: discard})
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { _ = h.Run(ctx) })
		time.Sleep(time.Second)
		l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "A", ProductID: "p", CustomerID: "c"})
		is.NoErr(err)
		_, err = h.Service().Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, ProductID: "q"})
		is.NoErr(err)
		_, err = st.Entry(t.Context(), "refusal", l.ID)
		require.ErrorIs(t, err, store.ErrNotFound)
		stop()
		run.Wait()
		_, err = st.Entry(t.Context(), "refusal", l.ID)
		is.NoErr(err)
	})
}
