package servicetest

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A countedReader counts the calls that show a purchase.
type countedReader struct {
	store.Reader
	calls *int
}

func (r countedReader) License(ctx context.Context, id string) (store.License, error) {
	*r.calls++
	return r.Reader.License(ctx, id)
}

func (r countedReader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	*r.calls++
	return r.Reader.Entry(ctx, kind, key)
}

func (r countedReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	*r.calls++
	return r.Reader.Entries(ctx, q)
}

func (r countedReader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	*r.calls++
	return r.Reader.Activations(ctx, q)
}

// A countedStore counts the reads of a View.
type countedStore struct {
	store.Store
	calls int
}

func (s *countedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(countedReader{r, &s.calls}) })
}

// TestAListOfPurchasesReadsTheLicenseOnce: a list makes as many calls of the store for 100
// purchases as for one, also while they wait for the first activation, for a plan, or for another
// purchase, and when their license is deleted. Its elements have the ID of the license alone.
func TestAListOfPurchasesReadsTheLicenseOnce(t *testing.T) {
	for name, test := range map[string]struct {
		plan string
		path string // of the list; empty: that of the license
		then string // the plan that each purchase has later
		gone bool   // the license is deleted
	}{
		"add-ons":                      {plan: `"product_id":"atlas","kind":"addon","max_activations":1`},
		"before the first activation":  {plan: `"product_id":"atlas","starts":"activation","duration":"P1Y"`},
		"of another product":           {plan: `"product_id":"borealis"`},
		"another product, and waiting": {plan: `"product_id":"borealis"`, path: "/purchase?limit=200"},
		"with a later plan":            {plan: `"product_id":"atlas","kind":"addon"`, then: "unknown"},
		"a later plan, and waiting":    {plan: `"product_id":"atlas","kind":"addon"`, then: "unknown", path: "/purchase?limit=200"},
		"of a deleted license":         {plan: `"product_id":"atlas","kind":"addon"`, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			c := newCaller(t, licensing.Options{})
			st := &countedStore{Store: c.Store}
			c.mount = licensing.NewHandler(st, licensing.Options{Now: c.Clock.Now, Logger: discard})
			is.Equal(c.do("PUT", "/plan/base", `{"product_id":"atlas"}`).Code, http.StatusCreated)
			is.Equal(c.do("PUT", "/plan/more", `{`+test.plan+`}`).Code, http.StatusCreated)
			at := c.Clock.Now().UTC()
			one, id := 0, ""
			for _, n := range []int{1, 100} {
				id = c.do("PUT", fmt.Sprint("/purchase/base:", n), `{"at":"`+at.Format(time.RFC3339)+`","customer_id":"c","state":"active","plan_id":"base"}`).json["license_id"].(string)
				for i := range n {
					body := `{"at":"` + at.Format(time.RFC3339) + `","customer_id":"c","state":"active","plan_id":"more","license_id":"` + id + `"}`
					is.Equal(c.do("PUT", fmt.Sprintf("/purchase/more:%d:%d", n, i), body).Code, http.StatusOK)
					if test.then != "" {
						body = `{"at":"` + at.Add(time.Second).Format(time.RFC3339) + `","plan_id":"` + test.then + `"}`
						is.Equal(c.do("PUT", fmt.Sprintf("/purchase/more:%d:%d", n, i), body).Code, http.StatusOK)
					}
				}
				if test.gone {
					is.Equal(c.do("DELETE", "/license/"+id, "").Code, http.StatusOK)
				}
				path, want := test.path, n
				if path == "" {
					path, want = "/purchase?license_id="+id, n+1
				}
				st.calls = 0
				a := c.do("GET", path, "")
				is.Equal(a.Code, http.StatusOK)
				rows := a.json["data"].([]any)
				if n > 1 {
					if test.path != "" {
						want++   // that of the first license
						one += 3 // the license, and its purchases
					}
					is.Equal(st.calls, one)
				}
				is.Equal(len(rows), want)
				one = st.calls
				for _, row := range rows {
					row := row.(map[string]any)
					_, has := row["license"]
					is.Equal([]any{row["license_id"] != "", has}, []any{true, false})
				}
			}
			if a := c.do("GET", "/purchase/more:1:0", ""); !test.gone {
				is.Equal(a.json["license"].(map[string]any)["id"], a.json["license_id"])
			}
		})
	}
}

// mallocs returns how many objects a function allocates: more than anything else, what it decodes.
func mallocs(do func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// TestCostsOfManyPurchases: an Update decodes each purchase of a license once, and equal plans once. A
// renewal of a license with 100 purchases allocates at most four times what that of a single one does;
// the 299th add-on of an Update allocates at most eight times what the tenth does.
func TestCostsOfManyPurchases(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	sales := c.Handler.Selling()
	for _, p := range []api.PutPlanParams{{ID: "base", ProductID: "atlas"}, {ID: "seats", ProductID: "atlas", Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: new(int64(1))}}} {
		_, err := sales.PutPlan(t.Context(), p)
		is.NoErr(err)
	}
	at := c.Clock.Now()
	licenseOf := func(reference string) string {
		f, err := sales.RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: reference, At: at, CustomerID: "c", PlanID: "base", State: api.PurchaseActive})
		is.NoErr(err)
		return f.LicenseID
	}
	renew := func(reference string) (least float64) {
		for n := range 5 {
			p := api.RecordPurchaseParams{Reference: reference, At: at.Add(time.Duration(n+1) * time.Second), Until: api.To(at.AddDate(1, n, 0))}
			took := mallocs(func() {
				f, err := sales.RecordPurchase(t.Context(), p)
				is.NoErr(err)
				is.Equal(f.Result, api.PurchaseResultChanged)
			})
			if least == 0 || took < least {
				least = took
			}
		}
		return least
	}
	addOns := func(id string, n int) (each []float64) {
		is.NoErr(c.Handler.Service().Atomically(t.Context(), func(in *license.Service) error {
			each = nil
			for i := range n {
				each = append(each, mallocs(func() {
					_, err := sales.In(in).RecordPurchase(t.Context(), api.RecordPurchaseParams{
						Reference: fmt.Sprint(id, ":", i), At: at, CustomerID: "c", PlanID: "seats", State: api.PurchaseActive, LicenseID: id,
					})
					is.NoErr(err)
				}))
			}
			return nil
		}))
		return each
	}
	single := licenseOf("single")
	many := licenseOf("many")
	addOns(many, 99)
	one, hundred := renew("single"), renew("many")
	t.Logf("a renewal allocates %v objects, and of 100 purchases %v", one, hundred)
	require.AtMost(t, hundred/one, 4.0)

	each := addOns(single, 299)
	sum := func(each []float64) (n float64) {
		for _, x := range each {
			n += x
		}
		return n
	}
	t.Logf("the tenth add-on allocates %v objects, the 299th %v; all %v, the first nine %v", each[9], each[298], sum(each), sum(each[:9]))
	require.AtMost(t, each[298]/each[9], 8.0)
	require.AtMost(t, sum(each)/sum(each[:9]), 60.0)
}
