package servicetest

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestWebhooksOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{MasterKey: make([]byte, 32)})
	made := c.do("POST", "/webhook", `{"url":"https://x.example/in?token=t","description":"d","types":["license.*","license.*"]}`)
	is.Equal(made.Code, http.StatusCreated)
	id, secret := made.json["id"].(string), made.json["secret"].(string)
	is.Equal(made.Header().Get("Location"), "webhook/"+id)
	require.HasPrefix(t, secret, "whsec_")
	is.Equal(len(secret), len("whsec_")+44)
	is.Equal(made.json["types"], []any{"license.*"})

	got := c.do("GET", "/webhook/"+id, "")
	is.Equal(got.Code, http.StatusOK)
	delete(made.json, "secret")
	is.Equal(got.json["waiting"], 0.0) // which lists and changes do not have
	delete(got.json, "waiting")
	is.Equal(got.json, made.json)
	is.Equal(c.do("GET", "/webhook", "").json["data"], []any{any(got.json)})

	patched := c.do("PATCH", "/webhook/"+id, `{"status":"paused","types":[]}`)
	is.Equal(patched.Code, http.StatusOK)
	is.Equal(patched.json["status"], "paused")
	is.Equal(patched.json["types"], []any{})

	rotated := c.do("POST", "/webhook/"+id+"/rotate", `{"overlap_seconds":60}`)
	is.Equal(rotated.Code, http.StatusOK)
	is.True(rotated.json["secret"] != secret)
	is.Equal(len(rotated.json["secrets"].([]any)), 2)
	c.Clock.Advance(time.Minute)
	is.Equal(len(c.do("GET", "/webhook/"+id, "").json["secrets"].([]any)), 1)

	tested := c.do("POST", "/webhook/"+id+"/test", "", "Idempotency-Key", "k")
	is.Equal(tested.Code, http.StatusAccepted)
	is.Equal(tested.json["status"], "pending")
	is.Equal(c.do("POST", "/webhook/"+id+"/test", "", "Idempotency-Key", "k").json, tested.json)
	sent := c.do("GET", "/webhook/"+id+"/delivery?status=pending&limit=1", "")
	is.Equal(sent.json["data"], []any{any(tested.json)})
	delivery := tested.json["id"].(string)
	is.Equal(c.do("POST", "/webhook/"+id+"/delivery/"+delivery+"/resend", "").Code, http.StatusAccepted)

	// The feed tells all of it, without what lets one in.
	feed := c.do("GET", "/event?type=webhook.*", "")
	is.Equal(feed.Code, http.StatusOK)
	is.Equal(len(feed.json["data"].([]any)), 4) // created, updated, rotated, tested
	is.Equal(feed.json["has_more"], false)
	require.NotContains(t, feed.Body.String(), "token=t")
	require.NotContains(t, feed.Body.String(), "whsec_")
	after := feed.json["next_cursor"].(string)
	is.Equal(c.do("GET", "/event?after="+after, "").json["data"], []any{})

	is.Equal(c.do("DELETE", "/webhook/"+id, "").json, map[string]any{"object": "webhook", "id": id, "deleted": true})
	is.Equal(c.do("GET", "/webhook/"+id, "").Code, http.StatusNotFound)
	is.Equal(len(c.do("GET", "/event?after="+after, "").json["data"].([]any)), 1)

	// A secret that was shown once is stored nowhere.
	for _, kind := range []string{"webhook", "once"} {
		for _, e := range entries(t, c.Store, kind) {
			require.NotContains(t, string(e.Data), secret[len("whsec_"):])
		}
	}
}

// TestPagesOfWebhooksOverHTTP: without a limit, a page has 50 webhooks.
func TestPagesOfWebhooksOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	var all []any
	for range 52 {
		c.Clock.Advance(time.Millisecond)
		all = append(all, hook(t, c.Handler, "x.example").ID)
	}
	page := func(query string) (ids []any, next string) {
		got := c.do("GET", "/webhook"+query, "")
		is.Equal(got.Code, http.StatusOK)
		for _, w := range got.json["data"].([]any) {
			ids = append(ids, w.(map[string]any)["id"])
		}
		next, more := got.json["next_cursor"].(string)
		is.Equal(got.json["has_more"], more)
		is.Equal(got.Header().Get("Link") != "", more)
		return ids, next
	}
	first, next := page("")
	is.Equal(first, all[:50])
	rest, next := page("?cursor=" + next)
	is.Equal(rest, all[50:])
	is.Equal(next, "")
	some, next := page("?limit=20")
	is.Equal(some, all[:20])
	some, _ = page("?limit=20&cursor=" + next)
	is.Equal(some, all[20:40])
}

func TestWhatWebhooksRefuseOverHTTP(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	id := c.do("POST", "/webhook", `{"url":"https://x.example/"}`).json["id"].(string)
	for name, test := range map[string]struct {
		method, target, body string
		header               []string
		status               int
	}{
		"no body":                      {"POST", "/webhook", "", nil, 422},
		"plain http":                   {"POST", "/webhook", `{"url":"http://x.example/"}`, nil, 422},
		"a user":                       {"POST", "/webhook", `{"url":"https://u:p@x.example/"}`, nil, 422},
		"a fragment":                   {"POST", "/webhook", `{"url":"https://x.example/#f"}`, nil, 422},
		"no host":                      {"POST", "/webhook", `{"url":"https:///in"}`, nil, 422},
		"another scheme":               {"POST", "/webhook", `{"url":"file:///etc/passwd"}`, nil, 422},
		"an unknown type":              {"POST", "/webhook", `{"url":"https://x.example/","types":["license.made"]}`, nil, 422},
		"no product":                   {"POST", "/webhook", `{"url":"https://x.example/","products":[]}`, nil, 422},
		"an unknown member":            {"POST", "/webhook", `{"url":"https://x.example/","uri":""}`, nil, 422},
		"a key for a secret":           {"POST", "/webhook", `{"url":"https://x.example/"}`, []string{"Idempotency-Key", "k"}, 400},
		"a key for a rotation":         {"POST", "/webhook/" + id + "/rotate", "", []string{"Idempotency-Key", "k"}, 400},
		"an overlap beyond its bounds": {"POST", "/webhook/" + id + "/rotate", `{"overlap_seconds":2592001}`, nil, 422},
		"an overlap that overflows":    {"POST", "/webhook/" + id + "/rotate", `{"overlap_seconds":9007199254740991}`, nil, 422},
		"a negative overlap":           {"POST", "/webhook/" + id + "/rotate", `{"overlap_seconds":-1}`, nil, 422},
		"to be disabled":               {"PATCH", "/webhook/" + id, `{"status":"disabled"}`, nil, 422},
		"other products":               {"PATCH", "/webhook/" + id, `{"products":["p"]}`, nil, 422},
		"an unknown webhook":           {"POST", "/webhook/whk_00000000000000000000000000/test", "", nil, 404},
		"an unknown delivery":          {"POST", "/webhook/" + id + "/delivery/dlv_0/resend", "", nil, 404},
		"an unknown status":            {"GET", "/webhook/" + id + "/delivery?status=lost", "", nil, 400},
		"a foreign cursor":             {"GET", "/webhook/" + id + "/delivery?cursor=x", "", nil, 400},
		"an unknown type in the feed":  {"GET", "/event?type=license.made", "", nil, 400},
		"a cursor that is none":        {"GET", "/webhook?cursor=x", "", nil, 400},
		"too long a page":              {"GET", "/webhook?limit=201", "", nil, 400},
		"a garbled place in the feed":  {"GET", "/event?after=x", "", nil, 400},
		"no place in the feed":         {"GET", "/event?after=", "", nil, 400},
		"a cursor for the feed":        {"GET", "/event?cursor=x", "", nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			a := c.in(t).do(test.method, test.target, test.body, test.header...)
			is.Equal(a.Code, test.status)
		})
	}
}

func TestWebhooksOfALimitedClient(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	mine := c.create("a", "mine", "c")
	c.create("b", "theirs", "c")
	all := c.do("POST", "/webhook", `{"url":"https://all.example/"}`).json["id"].(string)

	limited := *c
	client, secret := c.NewClient(auth.CreateClientParams{Name: "limited", Scopes: auth.Scopes(), Products: []string{"mine"}})
	limited.token, _ = c.NewToken(client.ID, secret)
	events := limited.do("GET", "/event", "").json["data"].([]any)
	is.Equal(len(events), 1)
	is.Equal(events[0].(map[string]any)["subject"], mine)

	is.Equal(limited.do("GET", "/webhook", "").json["data"], []any{})
	is.Equal(limited.do("GET", "/webhook/"+all, "").Code, http.StatusNotFound)
	is.Equal(limited.do("DELETE", "/webhook/"+all, "").Code, http.StatusNotFound)
	is.Equal(limited.do("POST", "/webhook", `{"url":"https://x.example/","products":["theirs"]}`).Code, http.StatusForbidden)
	own := limited.do("POST", "/webhook", `{"url":"https://x.example/"}`)
	is.Equal(own.Code, http.StatusCreated)
	is.Equal(own.json["products"], []any{"mine"})
	is.Equal(len(c.do("GET", "/webhook", "").json["data"].([]any)), 2)
}

// entries returns the records of a kind.
func entries(t *testing.T, st store.Store, kind string) []store.Entry {
	t.Helper()
	found, err := st.Entries(t.Context(), store.EntryQuery{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
