package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// post sends a request with a JSON body to the API.
func post(t *testing.T, h http.Handler, path, token, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// readBatch reads the answer with a batch of licenses.
func readBatch(t *testing.T, w *httptest.ResponseRecorder) (b api.Batch) {
	t.Helper()
	if w.Code != http.StatusCreated {
		t.Fatalf("a batch is answered %d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBatch: one request creates licenses that are alike, each with a key of its own and an
// event. The same request creates no more.
func TestBatch(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	hooks := 0
	host := licensingtest.New(t, licensing.Options{BeforeCreate: func(_ context.Context, p *api.CreateLicenseParams) error {
		hooks++
		p.Metadata["number"] = fmt.Sprint(hooks)
		return nil
	}})
	token := host.Token()
	_, err := host.Handler.Selling().PutPlan(ctx, api.PutPlanParams{ID: "team", ProductID: "atlas", Duration: api.Duration{Years: 1}, Terms: api.Terms{MaxActivations: new(int64(2))}})
	is.NoErr(err)
	const body = `{"count":3,"name":"Spring bundle","plan_id":"team","customer_id":"batch:spring","metadata":{"deal":"bundle"}}`
	w := post(t, host.Handler, "/license/batch", token, body, "Idempotency-Key", "spring-1")
	b := readBatch(t, w)
	is.Equal(len(b.Data), 3)
	is.Equal(hooks, 3)
	keys := map[string]bool{}
	for i, l := range b.Data {
		keys[l.Key] = true
		is.Equal(*l.MaxActivations, int64(2))
		is.Equal(l.ExpiresAt.Year(), l.CreatedAt.Year()+1)
		is.Equal(l.Metadata, map[string]string{"deal": "bundle", "number": fmt.Sprint(i + 1)})
		stored, err := host.Handler.Service().Get(ctx, l.ID)
		is.NoErr(err)
		is.Equal(stored, l)
	}
	is.Equal(len(keys), 3)
	events, err := host.Handler.Service().Events(ctx, api.ListEventsParams{Types: []string{api.EventLicenseCreated}})
	is.NoErr(err)
	is.Equal(len(events.Data), 3)

	again := post(t, host.Handler, "/license/batch", token, body, "Idempotency-Key", "spring-1")
	is.Equal(again.Header().Get("Idempotency-Replayed"), "true")
	is.Equal(again.Body.String(), w.Body.String())
	is.Equal(hooks, 3)
	count := func() int64 {
		n, err := host.Handler.Service().Count(ctx, api.ListLicensesParams{})
		is.NoErr(err)
		return n.Total
	}
	is.Equal(count(), int64(3))

	_, err = host.Handler.Selling().PutPlan(ctx, api.PutPlanParams{ID: "later", ProductID: "atlas", Duration: api.Duration{Years: 1}, Starts: api.StartsActivation})
	is.NoErr(err)
	later := readBatch(t, post(t, host.Handler, "/license/batch", token, `{"count":2,"name":"x","plan_id":"later","customer_id":"batch:later"}`))
	is.Equal(later.Data[1].Starts, api.StartsActivation)

	for field, wrong := range map[string]string{
		"count":      `{"count":101,"name":"x","product_id":"atlas","customer_id":"batch:x"}`,
		"count ":     `{"count":0,"name":"x","product_id":"atlas","customer_id":"batch:x"}`,
		"count  ":    `{"name":"x","product_id":"atlas","customer_id":"batch:x"}`,
		"key":        `{"count":2,"name":"x","product_id":"atlas","customer_id":"batch:x","key":"0123456789abcdefg"}`,
		"product_id": `{"count":2,"name":"x","customer_id":"batch:x"}`,
		"plan_id":    `{"count":2,"name":"x","customer_id":"batch:x","plan_id":"none"}`,
	} {
		w := post(t, host.Handler, "/license/batch", token, wrong)
		is.Equal(w.Code, http.StatusUnprocessableEntity) // wrong
		require.Contains(t, w.Body.String(), `"pointer":"#/`+strings.TrimSpace(field)+`"`)
	}
	narrow, secret := host.NewClient(auth.CreateClientParams{Name: "Harbor only", Products: []string{"harbor"}})
	limited, _ := host.NewToken(narrow.ID, secret)
	is.Equal(post(t, host.Handler, "/license/batch", limited, `{"count":2,"name":"x","product_id":"atlas","customer_id":"batch:x"}`).Code, http.StatusForbidden)
	is.Equal(count(), int64(5))
}

// TestBatchIsNotTooLong: the stored answer must fit in a document. The refusal says how many
// licenses fit, and so many are created.
func TestBatchIsNotTooLong(t *testing.T) {
	is := is.New(t)
	host := licensingtest.New(t, licensing.Options{})
	token := host.Token()
	metadata := map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprint("name", i)] = strings.Repeat("\"", 450)
	}
	try := func(count int) *httptest.ResponseRecorder {
		text, err := json.Marshal(map[string]any{"count": count, "name": "Spring bundle", "product_id": "atlas", "customer_id": "batch:spring", "metadata": metadata})
		is.NoErr(err)
		return post(t, host.Handler, "/license/batch", token, string(text), "Idempotency-Key", fmt.Sprint("k", count))
	}
	w := try(100)
	is.Equal(w.Code, http.StatusUnprocessableEntity)
	var problem api.Problem
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &problem))
	is.Equal(problem.Errors[0].Pointer, "#/count")
	fits := 0
	_, err := fmt.Sscanf(problem.Errors[0].Detail, "must be at most %d for licenses of this size", &fits)
	is.NoErr(err)
	is.True(fits > 20)
	is.Equal(try(fits+1).Code, http.StatusUnprocessableEntity)
	page, err := host.Handler.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 0) // nothing was created

	w = try(fits)
	is.Equal(len(readBatch(t, w).Data), fits)
	is.True(w.Body.Len() <= 512<<10)
	is.True(w.Body.Len() > 490<<10)
	is.Equal(try(fits).Body.String(), w.Body.String())
}
