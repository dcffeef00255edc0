package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"example.com/thirdparty/mapstore"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestMounts goes through the six operations under every router, and follows
// each link and each redirect there is.
func TestMounts(t *testing.T) {
	for name, mount := range mounts {
		t.Run(name, func(t *testing.T) { walk(t, mount, "/licensing") })
		t.Run(name+" nested", func(t *testing.T) {
			nested := func(h http.Handler) http.Handler { return http.StripPrefix("/a/b", mount(h)) }
			walk(t, nested, "/a/b/licensing")
		})
	}
}

func walk(t *testing.T, mount func(http.Handler) http.Handler, prefix string) {
	h := licensing.NewHandler(mapstore.New(), licensing.Options{})
	client, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "walk"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(mount(h))
	defer server.Close()
	base := server.URL + prefix
	w := &walker{t: t, client: server.Client()}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	credentials := url.Values{"client_id": {client.ID}, "client_secret": {secret}}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	w.do("GET", base+"/oauth/token?"+credentials.Encode(), "", 200, &token)
	w.token = token.AccessToken

	// Location leads to the license.
	type license struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var made [3]license
	for i := range made {
		resp := w.do("POST", base+"/license", `{"name":"n","product_id":"p","customer_id":"a/b"}`, 201, &made[i])
		var got license
		w.do("GET", w.resolve(resp, resp.Header.Get("Location"), base), "", 200, &got)
		if got != made[i] {
			t.Errorf("Location leads to %v, want %v", got, made[i])
		}
	}

	// Link leads through the list, by query and by path.
	for _, first := range []string{"/license?customer_id=a%2Fb&limit=1", "/license/a%2Fb?limit=1"} {
		var seen []license
		for at := base + first; at != ""; {
			var page struct {
				Data []license `json:"data"`
			}
			resp := w.do("GET", at, "", 200, &page)
			seen = append(seen, page.Data...)
			at = ""
			if link := resp.Header.Get("Link"); link != "" {
				target, ok := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
				if !ok {
					t.Fatalf("Link is %s", link)
				}
				at = w.resolve(resp, target, base)
			}
		}
		if len(seen) != len(made) {
			t.Errorf("%s: the links led to %d licenses, want %d", first, len(seen), len(made))
		}
	}

	var changed license
	w.do("PATCH", base+"/license", `{"id":"`+made[0].ID+`","name":"m"}`, 200, &changed)
	if changed.Name != "m" {
		t.Errorf("PATCH answered %v", changed)
	}
	w.do("DELETE", base+"/license/"+made[0].ID, "", 200, nil)
	w.do("GET", base+"/license/"+made[0].ID, "", 404, nil)
	w.do("GET", base+"/nothing", "", 404, nil)
	w.do("PUT", base+"/license", "", 405, nil)
}

// A walker sends requests with a token and checks what comes back.
type walker struct {
	t      *testing.T
	client *http.Client
	token  string
}

func (w *walker) do(method, target, body string, status int, into any) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != status || resp.Header.Get("Licensing-Version") == "" {
		w.t.Fatalf("%s %s: %d %s, want %d from the service", method, target, resp.StatusCode, data, status)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			w.t.Fatalf("%s %s: %v", method, target, err)
		}
	}
	return resp
}

// resolve returns where a reference in an answer leads, which must be below
// the mount.
func (w *walker) resolve(resp *http.Response, reference, base string) string {
	w.t.Helper()
	target, err := resp.Request.URL.Parse(reference)
	if err != nil || reference == "" || !strings.HasPrefix(target.String(), base+"/") {
		w.t.Fatalf("%s answered the reference %q, which leads out of %s", resp.Request.URL, reference, base)
	}
	return target.String()
}
