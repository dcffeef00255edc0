package servicetest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
)

// situations is the HTTP contract of the API in rows with stable ids; package
// auth has those of the OAuth endpoints. Each has at least one case below.
var situations = map[string]string{
	"http-01": "a body that is not I-JSON: 400",
	"http-02": "a body that is not an object, or has members that are unknown, missing or wrong: 422 with pointers",
	"http-03": "a parameter that is unknown, repeated, empty or out of bounds: 400 that names it",
	"http-04": "a media type that is not taken: 415 with Accept, and Accept-Patch on PATCH",
	"http-05": "a coded body: 415 with Accept-Encoding",
	"http-06": "a body beyond the limit: 413",
	"http-07": "a method that the path does not have: 405 with Allow",
	"http-08": "OPTIONS: 204 with Allow, and no word of CORS",
	"http-09": "an Accept without JSON: JSON",
	"http-10": "what is not there, is not for this client, or cannot be: one 404",
	"http-11": "a request that the state of things forbids: 409 with a code",
	"http-12": "a precondition that fails: 412 with the present ETag",
	"http-13": "too many requests: 429 with Retry-After",
	"http-14": "a failure that is not known: 500 with a request id and nothing else",
	"http-15": "a store that cannot answer: 503 with Retry-After",
	"http-16": "every answer: request id, version, no-store, nosniff",
	"http-17": "an unclean path: 404, and never a redirect",

	"cond-01": "GET, HEAD, POST and PATCH give a strong ETag of revision and status",
	"cond-02": "If-None-Match compares weakly: 304 with the ETag and no body",
	"cond-03": "the clock changes the ETag with the status",
	"cond-04": "If-Match compares strongly, takes lists and *",
	"cond-05": "a malformed list of tags: 400",
	"cond-06": "what is missing is 404, whatever the precondition",
	"cond-08": "a precondition of a create, which has nothing to compare it with: 400",

	"patch-01": "both media types mean a merge patch",
	"patch-02": "null on a required member, and what a patch cannot change: 422",
	"patch-03": "a patch of nothing keeps the version",
	"patch-04": "the specified body works with an id, and names the license without",

	"idem-01": "the same request again: the same answer, marked",
	"idem-02": "the same key with another body, path or method: 422",
	"idem-03": "after a failure the key is free",
	"idem-04": "a key belongs to the client, not to the token",
	"idem-05": "ignored on GET and DELETE",
	"idem-06": "quoted and bare are the same key; anything else: 400",

	"page-01": "limit is 1 to 200, 50 by default",
	"page-02": "pages link with a relative reference, and lose nothing while licenses come and go",
	"page-03": "a cursor belongs to its filter and its client",
}

// A protocolCase is one request on a service of its own, with one license: {id},
// named "n", of product "p" and customer "c". run replaces the request where
// one is not enough.
type protocolCase struct {
	id     string
	method string
	target string
	body   string
	header []string
	status int
	code   string   // of the problem
	want   []string // header lines; one that ends in a colon must be absent
	run    func(*is.I, *caller, string)
}

const (
	nobody       = "lic_00000000000000000000000000"
	specified    = `{"name":"m","product_id":"p","customer_id":"c"}`
	patchTypes   = "application/json, application/merge-patch+json"
	oneMethods   = "Allow: DELETE, GET, HEAD, OPTIONS, PATCH"
	allMethods   = "Allow: GET, HEAD, OPTIONS, PATCH, POST"
	mergePatched = "application/merge-patch+json"
)

var protocolCases = []protocolCase{
	{id: "http-01", method: "POST", target: "/license", body: `{"name":"a","name":"b"}`, status: 400, code: "invalid_json"},
	{id: "http-01", method: "PATCH", target: "/license/{id}", body: `{"name":"\ud800"}`, status: 400, code: "invalid_json"},
	{id: "http-01", method: "PATCH", target: "/license", body: " ", status: 400, code: "invalid_json"},
	{id: "http-02", method: "POST", target: "/license", body: `null`, status: 422, code: "invalid_parameters"},
	{id: "http-02", method: "POST", target: "/license", body: `{"NAME":"m","product_id":"p","customer_id":"c"}`, status: 422, code: "invalid_parameters"},
	{id: "http-02", method: "POST", target: "/license", body: `{"name":"a\u0000b","product_id":"p","customer_id":"c"}`, status: 422, code: "invalid_parameters"},
	{id: "http-02", method: "PATCH", target: "/license/{id}", body: `{"entitlements":{"n":99999999999999999999}}`, status: 422, code: "invalid_parameters"},
	{id: "http-03", method: "GET", target: "/license?customer=c", status: 400, code: "invalid_request"},
	{id: "http-03", method: "GET", target: "/license?status=active&status=active", status: 400, code: "invalid_request"},
	{id: "http-03", method: "GET", target: "/license?customer_id=", status: 400, code: "invalid_request"},
	{id: "http-03", method: "GET", target: "/license?a=%zz", status: 400, code: "invalid_request"},
	{id: "http-03", method: "GET", target: "/license?a;b", status: 400, code: "invalid_request"},
	{id: "http-03", method: "GET", target: "/license/{id}?limit=1", status: 400, code: "invalid_request"},
	{id: "http-03", method: "GET", target: "/license/c?status=active", status: 400, code: "invalid_request"},
	{id: "http-03", method: "DELETE", target: "/license/{id}?force=1", status: 400, code: "invalid_request"},
	{id: "http-04", method: "POST", target: "/license", body: specified, header: []string{"Content-Type", mergePatched}, status: 415, code: "unsupported_media_type", want: []string{"Accept: application/json", "Accept-Patch:"}},
	{id: "http-04", method: "PATCH", target: "/license/{id}", body: specified, header: []string{"Content-Type", ""}, status: 415, code: "unsupported_media_type", want: []string{"Accept: " + patchTypes, "Accept-Patch: " + patchTypes}},
	{id: "http-05", method: "POST", target: "/license", body: specified, header: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_media_type", want: []string{"Accept-Encoding: identity"}},
	{id: "http-05", method: "POST", target: "/license", body: specified, header: []string{"Content-Encoding", "identity"}, status: 201},
	{id: "http-06", method: "POST", target: "/license", body: strings.Repeat(" ", 64<<10) + specified, status: 413, code: "body_too_large"},
	{id: "http-06", method: "POST", target: "/license", body: strings.Repeat(" ", 64<<10-len(specified)) + specified, status: 201},
	{id: "http-07", method: "DELETE", target: "/license", status: 405, code: "method_not_allowed", want: []string{allMethods}},
	{id: "http-07", method: "TRACE", target: "/license/{id}", status: 405, code: "method_not_allowed", want: []string{oneMethods}},
	{id: "http-07", method: "POST", target: "/health", status: 405, code: "method_not_allowed", want: []string{"Allow: GET, HEAD, OPTIONS"}},
	{id: "http-08", method: "OPTIONS", target: "/license/{id}", header: []string{"Authorization", "", "Origin", "https://a.example", "Access-Control-Request-Method", "GET"}, status: 204, want: []string{oneMethods, "Access-Control-Allow-Origin:", "Access-Control-Allow-Methods:", "Content-Type:"}},
	{id: "http-09", method: "GET", target: "/license/{id}", header: []string{"Accept", "text/html;q=0.9"}, status: 200, want: []string{"Content-Type: application/json"}},
	{id: "http-10", run: func(is *is.I, c *caller, id string) {
		limited, secret := c.NewClient(auth.CreateClientParams{Name: "limited", Products: []string{"q"}})
		token, _ := c.NewToken(limited.ID, secret)
		foreign := []string{"Authorization", "Bearer " + token, "X-Request-Id", "same"}
		missing := c.do("GET", "/license/"+nobody, "", "X-Request-Id", "same").Body.String()
		for path, header := range map[string][]string{"/license/" + id: foreign, "/license/lic_x": {"X-Request-Id", "same"}, "/license/someone": {"X-Request-Id", "same"}, "/license/c": foreign} {
			a := c.do("GET", path, "", header...)
			is.Equal(a.Code, 404)
			is.Equal(a.Body.String(), missing)
		}
		is.Equal(c.do("DELETE", "/license/"+id, "", foreign...).Body.String(), missing)
		is.Equal(c.do("PATCH", "/license/"+id, specified, foreign...).Body.String(), missing)
	}},
	{id: "http-11", run: func(is *is.I, c *caller, id string) {
		other := c.create("n", "p", "c")
		a := c.do("PATCH", "/license", specified)
		is.Equal(a.Code, 409)
		is.Equal(a.json["code"], "license_ambiguous")
		is.Equal(a.json["ids"], []any{id, other})
		key := c.do("GET", "/license/"+id, "").json["key"].(string)
		a = c.do("POST", "/license", `{"name":"m","product_id":"p","customer_id":"c","key":"`+key+`"}`)
		is.Equal(a.Code, 409)
		is.Equal(a.json["code"], "key_taken")
	}},
	{id: "http-12", method: "PATCH", target: "/license/{id}", body: `{"name":"m"}`, header: []string{"If-Match", `"7.active"`}, status: 412, code: "stale", want: []string{`ETag: "1.active"`}},
	{id: "http-12", method: "DELETE", target: "/license/{id}", header: []string{"If-Match", `"1.expired"`}, status: 412, code: "stale", want: []string{`ETag: "1.active"`}},
	{id: "http-12", method: "GET", target: "/license/{id}", header: []string{"If-Match", `"7.active"`}, status: 412, code: "stale", want: []string{`ETag: "1.active"`}},
	{id: "http-13", run: func(is *is.I, c *caller, _ string) {
		c.mount = licensing.NewHandler(c.Store, licensing.Options{Now: c.Clock.Now, Limits: licensing.LimitOptions{ClientRate: 1}, Logger: discard})
		is.Equal(c.do("GET", "/license", "").Code, 200)
		is.Equal(c.do("GET", "/license", "").Code, 200)
		a := c.do("GET", "/license", "")
		is.Equal(a.Code, 429)
		is.Equal(a.json["code"], "rate_limited")
		is.True(a.Header().Get("Retry-After") != "")
	}},
	{id: "http-14", run: func(is *is.I, c *caller, id string) {
		a := c.broken(errors.New("disk 7")).do("DELETE", "/license/"+id, "")
		is.Equal(a.Code, 500)
		is.Equal(a.json["code"], "internal")
		require.NotContains(c.t, a.Body.String(), "disk 7")
	}},
	{id: "http-15", run: func(is *is.I, c *caller, id string) {
		for _, err := range []error{store.ErrUnavailable, store.ErrUnknownOutcome, store.ErrConflict, context.DeadlineExceeded} {
			a := c.broken(err).do("DELETE", "/license/"+id, "")
			is.Equal(a.Code, 503)
			is.True(a.Header().Get("Retry-After") != "")
		}
	}},
	{id: "http-16", run: func(is *is.I, c *caller, id string) {
		for _, path := range []string{"/license/" + id, "/license", "/oauth/token", "/nothing", "/health"} {
			a := c.do("GET", path, "", "X-Request-Id", "mine")
			for name, want := range map[string]string{"X-Request-Id": "mine", "Licensing-Version": "1", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
				is.Equal(a.Header().Get(name), want)
			}
		}
		require.HasPrefix(c.t, c.do("GET", "/health", "", "X-Request-Id", "not one").Header().Get("X-Request-Id"), "req_")
	}},
	{id: "http-17", method: "GET", target: "/license/", status: 404, code: "no_such_path", want: []string{"Location:"}},
	{id: "http-17", method: "GET", target: "/license//{id}", status: 404, code: "no_such_path", want: []string{"Location:"}},
	{id: "http-17", method: "GET", target: "/oauth/../oauth/token?client_id={client}&client_secret={secret}", status: 404, code: "no_such_path", want: []string{"Location:"}},

	{id: "cond-01", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("POST", "/license", specified).Header().Get("ETag"), `"1.active"`)
		is.Equal(c.do("GET", "/license/"+id, "").Header().Get("ETag"), `"1.active"`)
		is.Equal(c.do("PATCH", "/license/"+id, `{"name":"m"}`).Header().Get("ETag"), `"2.active"`)
		is.Equal(c.do("HEAD", "/license/"+id, "").Header().Get("ETag"), `"2.active"`)
	}},
	{id: "cond-02", method: "GET", target: "/license/{id}", header: []string{"If-None-Match", `"0.x", W/"1.active"`}, status: 304, want: []string{`ETag: "1.active"`, "Content-Type:", "Cache-Control: no-store"}},
	{id: "cond-02", method: "HEAD", target: "/license/{id}", header: []string{"If-None-Match", `*`}, status: 304, want: []string{`ETag: "1.active"`}},
	{id: "cond-02", method: "GET", target: "/license/{id}", header: []string{"If-None-Match", `"2.active"`}, status: 200},
	{id: "cond-02", method: "PATCH", target: "/license/{id}", body: specified, header: []string{"If-None-Match", `*`}, status: 400, code: "invalid_request"},
	{id: "cond-03", run: func(is *is.I, c *caller, id string) {
		ends := c.Clock.Now().AddDate(0, 0, 1).Format("2006-01-02T15:04:05Z07:00")
		is.Equal(c.do("PATCH", "/license/"+id, `{"expires_at":"`+ends+`"}`).Header().Get("ETag"), `"2.active"`)
		c.Clock.Advance(24 * time.Hour)
		c.token = c.Token()
		a := c.do("GET", "/license/"+id, "", "If-None-Match", `"2.active"`)
		is.Equal(a.Code, 200)
		is.Equal(a.Header().Get("ETag"), `"2.expired"`)
	}},
	{id: "cond-04", method: "PATCH", target: "/license/{id}", body: `{"name":"m"}`, header: []string{"If-Match", `"x", "1.active"`}, status: 200},
	{id: "cond-04", method: "PATCH", target: "/license/{id}", body: `{"name":"m"}`, header: []string{"If-Match", `*`}, status: 200},
	{id: "cond-04", method: "PATCH", target: "/license/{id}", body: `{"name":"m"}`, header: []string{"If-Match", `W/"1.active"`}, status: 412, code: "stale"},
	{id: "cond-04", method: "PATCH", target: "/license", body: specified, header: []string{"If-Match", `"2.active"`}, status: 412, code: "stale"},
	{id: "cond-05", method: "PATCH", target: "/license/{id}", body: `{"name":"m"}`, header: []string{"If-Match", `1.active`}, status: 400, code: "invalid_request"},
	{id: "cond-05", method: "GET", target: "/license/{id}", header: []string{"If-None-Match", `"1.active" "2.active"`}, status: 400, code: "invalid_request"},
	{id: "cond-06", method: "PATCH", target: "/license/" + nobody, body: `{"name":"m"}`, header: []string{"If-Match", `"1.active"`}, status: 404, code: "not_found"},
	{id: "cond-06", method: "DELETE", target: "/license/" + nobody, header: []string{"If-Match", `*`}, status: 404, code: "not_found"},
	{id: "cond-08", method: "POST", target: "/license", body: specified, header: []string{"If-Match", `"1.active"`}, status: 400, code: "invalid_request"},
	{id: "cond-08", method: "POST", target: "/license", body: specified, header: []string{"If-None-Match", `*`}, status: 400, code: "invalid_request"},

	{id: "patch-01", method: "PATCH", target: "/license/{id}", body: `{"metadata":{"a":"b","c":null}}`, header: []string{"Content-Type", mergePatched}, status: 200},
	{id: "patch-01", method: "PATCH", target: "/license/{id}", body: `{"metadata":{"a":"b","c":null}}`, status: 200},
	{id: "patch-02", method: "PATCH", target: "/license/{id}", body: `{"name":null}`, status: 422, code: "invalid_parameters"},
	{id: "patch-02", method: "PATCH", target: "/license/{id}", body: `{"key":"x"}`, status: 422, code: "invalid_parameters"},
	{id: "patch-02", method: "PATCH", target: "/license/{id}", body: `{"revision":1}`, status: 422, code: "invalid_parameters"},
	{id: "patch-03", method: "PATCH", target: "/license/{id}", body: `{"name":"n","metadata":{"none":null}}`, status: 200, want: []string{`ETag: "1.active"`}},
	{id: "patch-03", method: "PATCH", target: "/license/{id}", body: `{}`, status: 200, want: []string{`ETag: "1.active"`}},
	{id: "patch-04", method: "PATCH", target: "/license/{id}", body: specified, status: 200, want: []string{`ETag: "2.active"`}},
	{id: "patch-04", method: "PATCH", target: "/license?id={id}", body: `{"name":"m","id":"{id}"}`, status: 200, want: []string{`ETag: "2.active"`}},
	{id: "patch-04", method: "PATCH", target: "/license", body: specified, status: 200, want: []string{`ETag: "2.active"`}},
	{id: "patch-04", method: "PATCH", target: "/license", body: `{"name":"m","product_id":"p"}`, status: 422, code: "invalid_parameters"},
	{id: "patch-04", method: "PATCH", target: "/license", body: `{"id":null,"name":"m","product_id":"p","customer_id":"c"}`, status: 422, code: "invalid_parameters"},
	{id: "patch-04", method: "PATCH", target: "/license/{id}", body: `{"id":"` + nobody + `"}`, status: 400, code: "id_mismatch"},
	{id: "patch-04", method: "PATCH", target: "/license?id={id}", body: `{"id":"` + nobody + `"}`, status: 400, code: "id_mismatch"},

	{id: "idem-01", run: func(is *is.I, c *caller, id string) {
		for _, change := range [][3]string{{"POST", "/license", specified}, {"PATCH", "/license/" + id, `{"name":"<é>"}`}} {
			first := c.do(change[0], change[1], change[2], "Idempotency-Key", change[0])
			again := c.do(change[0], change[1], " "+change[2], "Idempotency-Key", change[0])
			is.Equal(again.Code, first.Code)
			is.Equal(again.Body.String(), first.Body.String())
			is.Equal(again.Header().Get("Idempotency-Replayed"), "true")
			is.Equal(first.Header().Get("Idempotency-Replayed"), "")
			is.Equal(again.Header().Get("ETag"), first.Header().Get("ETag"))
			is.Equal(again.Header().Get("Location"), first.Header().Get("Location"))
		}
		is.Equal(len(c.do("GET", "/license", "").json["data"].([]any)), 2)
	}},
	{id: "idem-02", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("PATCH", "/license?id="+id, `{"name":"m"}`, "Idempotency-Key", "k").Code, 200)
		for _, other := range [][3]string{{"PATCH", "/license?id=" + id, `{"name":"o"}`}, {"PATCH", "/license/" + id, `{"name":"m"}`}, {"POST", "/license", specified}} {
			a := c.do(other[0], other[1], other[2], "Idempotency-Key", "k")
			is.Equal(a.Code, 422)
			is.Equal(a.json["code"], "idempotency_key_reused")
		}
	}},
	{id: "idem-03", run: func(is *is.I, c *caller, _ string) {
		is.Equal(c.do("POST", "/license", `{}`, "Idempotency-Key", "k").Code, 422)
		is.Equal(c.broken(store.ErrUnavailable).do("POST", "/license", specified, "Idempotency-Key", "k").Code, 503)
		is.Equal(c.do("POST", "/license", specified, "Idempotency-Key", "k").Code, 201)
	}},
	{id: "idem-04", run: func(is *is.I, c *caller, _ string) {
		first := c.do("POST", "/license", specified, "Idempotency-Key", "k")
		other, secret := c.NewClient(auth.CreateClientParams{Name: "other"})
		token, _ := c.NewToken(other.ID, secret)
		is.True(c.do("POST", "/license", specified, "Idempotency-Key", "k", "Authorization", "Bearer "+token).json["id"] != first.json["id"])
		renewed, _ := c.NewToken(c.Client.ID, c.Secret)
		is.Equal(c.do("POST", "/license", specified, "Idempotency-Key", "k", "Authorization", "Bearer "+renewed).json["id"], first.json["id"])
	}},
	{id: "idem-05", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("GET", "/license/"+id, "", "Idempotency-Key", "a b").Code, 200)
		is.Equal(c.do("DELETE", "/license/"+id, "", "Idempotency-Key", "k").Code, 200)
		is.Equal(c.do("DELETE", "/license/"+id, "", "Idempotency-Key", "k").Code, 404)
	}},
	{id: "idem-06", method: "POST", target: "/license", body: specified, header: []string{"Idempotency-Key", `"unfinished`}, status: 400, code: "invalid_request"},
	{id: "idem-06", run: func(is *is.I, c *caller, _ string) {
		bare := c.do("POST", "/license", specified, "Idempotency-Key", `k`)
		is.Equal(c.do("POST", "/license", specified, "Idempotency-Key", `"k"`).json["id"], bare.json["id"])
	}},

	{id: "page-01", method: "GET", target: "/license?limit=0", status: 400, code: "invalid_request"},
	{id: "page-01", method: "GET", target: "/license?limit=201", status: 400, code: "invalid_request"},
	{id: "page-01", method: "GET", target: "/license?limit=ten", status: 400, code: "invalid_request"},
	{id: "page-01", run: func(is *is.I, c *caller, _ string) {
		for range 50 {
			c.create("n", "p", "d")
		}
		is.Equal(len(c.do("GET", "/license", "").json["data"].([]any)), 50)
		is.Equal(len(c.do("GET", "/license?limit=200", "").json["data"].([]any)), 51)
		is.Equal(len(c.do("GET", "/license/d?limit=1", "").json["data"].([]any)), 1)
	}},
	{id: "page-02", run: func(is *is.I, c *caller, id string) {
		c.mount, c.prefix = http.StripPrefix("/some/mount", c.Handler), "/some/mount"
		want := []string{id}
		for range 6 {
			want = append(want, c.create("n", "p", "c"))
		}
		var got []string
		target := "/license/c?limit=2"
		for range 10 {
			page := c.do("GET", target, "")
			is.Equal(page.Code, 200)
			for _, l := range page.json["data"].([]any) {
				got = append(got, l.(map[string]any)["id"].(string))
			}
			if page.json["has_more"] == false {
				break
			}
			// Gone behind and ahead of the place, and come at the end.
			if len(got) == 4 {
				is.Equal(c.do("DELETE", "/license/"+got[3], "").Code, 200)
				is.Equal(c.do("DELETE", "/license/"+want[5], "").Code, 200)
				want = append(slices.Delete(want, 5, 6), c.create("n", "p", "c"))
			}
			ref, rel, _ := strings.Cut(strings.TrimPrefix(page.Header().Get("Link"), "<"), ">")
			is.Equal(rel, `; rel="next"`)
			base, _ := url.Parse("http://host" + c.prefix + target)
			next, err := base.Parse(ref)
			is.NoErr(err)
			is.Equal(next.Query().Get("cursor"), page.json["next_cursor"])
			target = strings.TrimPrefix(next.RequestURI(), c.prefix)
		}
		is.Equal(got, want)
	}},
	{id: "page-03", run: func(is *is.I, c *caller, _ string) {
		c.create("n", "p", "c")
		cursor := c.do("GET", "/license?limit=1", "").json["next_cursor"].(string)
		is.Equal(c.do("GET", "/license?limit=1&cursor="+cursor, "").Code, 200)
		limited, secret := c.NewClient(auth.CreateClientParams{Name: "limited", Products: []string{"p"}})
		token, _ := c.NewToken(limited.ID, secret)
		for _, a := range []answer{
			c.do("GET", "/license?customer_id=c&cursor="+cursor, ""), c.do("GET", "/license/c?cursor="+cursor, ""), c.do("GET", "/license?cursor=x", ""),
			c.do("GET", "/license?limit=1&cursor="+cursor, "", "Authorization", "Bearer "+token),
		} {
			is.Equal(a.Code, 400)
			is.Equal(a.json["errors"].([]any)[0].(map[string]any)["parameter"], "cursor")
		}
	}},
}

func TestTheProtocol(t *testing.T) {
	covered := map[string]bool{}
	for _, row := range protocolCases {
		covered[row.id] = true
		t.Run(row.id+" "+row.method+" "+row.target, func(t *testing.T) {
			is := is.New(t)
			if situations[row.id] == "" {
				t.Fatal("there is no such situation")
			}
			c := newCaller(t, licensing.Options{})
			id := c.create("n", "p", "c")
			if row.run != nil {
				row.run(is, c, id)
				return
			}
			fill := strings.NewReplacer("{id}", id, "{client}", c.Client.ID, "{secret}", c.Secret).Replace
			before := len(c.Events())
			a := c.do(row.method, fill(row.target), fill(row.body), row.header...)
			is.Equal(a.Code, row.status)
			for _, line := range row.want {
				name, value, _ := strings.Cut(line, ":")
				is.Equal(a.Header().Get(name), strings.TrimPrefix(value, " "))
			}
			if row.status < 400 {
				return
			}
			is.Equal(a.Header().Get("Content-Type"), "application/problem+json")
			is.Equal(a.json["code"], row.code)
			is.True(a.json["detail"] != "")
			is.Equal(len(c.Events()), before) // what is refused leaves no trace
		})
	}
	for id, situation := range situations {
		if !covered[id] && wholeTests[id] == nil {
			t.Errorf("%s has no case: %s", id, situation)
		}
	}
}

// broken returns a caller of the same service on a store that fails.
func (c *caller) broken(err error) *caller {
	st := &brokenStore{Store: c.Store}
	st.fail(func(context.Context) error { return err })
	b := *c
	b.mount = licensing.NewHandler(st, licensing.Options{Now: c.Clock.Now, Logger: discard})
	return &b
}

func TestFiftyConcurrentRequestsWithOneKeyHaveOneEffect(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	before := len(c.Events())
	answers := make(chan *httptest.ResponseRecorder)
	for range 50 {
		go func() {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/license", strings.NewReader(specified))
			r.Header.Set("Authorization", "Bearer "+c.token)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", "one")
			w := httptest.NewRecorder()
			c.Handler.ServeHTTP(w, r)
			answers <- w
		}()
	}
	fresh, bodies := 0, map[string]bool{}
	for range 50 {
		w := <-answers
		is.Equal(w.Code, http.StatusCreated)
		bodies[w.Body.String()] = true
		if w.Header().Get("Idempotency-Replayed") == "" {
			fresh++
		}
	}
	is.Equal(fresh, 1)
	is.Equal(len(bodies), 1)
	is.Equal(len(c.Events()), before+1)
}
