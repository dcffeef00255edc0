package servicetest

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/endpoints"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A described operation, as far as these tests read it.
type described struct {
	OperationID string                     `json:"operationId"`
	Tags        []string                   `json:"tags"`
	Summary     string                     `json:"summary"`
	Description string                     `json:"description"`
	Security    []map[string][]string      `json:"security"`
	Parameters  []any                      `json:"parameters"`
	RequestBody any                        `json:"requestBody"`
	Responses   map[string]json.RawMessage `json:"responses"`
}

// methods are those of an OpenAPI path item that the service uses.
var methods = []string{"delete", "get", "patch", "post", "put"}

// description reads GET /openapi.json: the operations by method and path, and
// the whole document as plain JSON.
func description(t *testing.T) (operations map[string]described, doc map[string]any) {
	t.Helper()
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	a := c.do("GET", "/openapi.json", "", "Authorization", "")
	is.Equal(a.Code, http.StatusOK)
	is.Equal(a.Header().Get("Content-Type"), "application/json")
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	is.NoErr(json.Unmarshal(a.Body.Bytes(), &document))
	operations = map[string]described{}
	for path, item := range document.Paths {
		for _, method := range methods {
			if raw, there := item[method]; there {
				var o described
				is.NoErr(json.Unmarshal(raw, &o))
				operations[strings.ToUpper(method)+" "+path] = o
			}
		}
	}
	return operations, a.json
}

// TestTheDescriptionHasAbsoluteAddresses if the service knows its own.
func TestTheDescriptionHasAbsoluteAddresses(t *testing.T) {
	is := is.New(t)
	for publicURL, want := range map[string][2]string{
		"":                               {".", "oauth/token"},
		"https://acme.example/licenses/": {"https://acme.example/licenses", "https://acme.example/licenses/oauth/token"},
	} {
		c := newCaller(t, licensing.Options{PublicURL: publicURL})
		var doc struct {
			Servers    []struct{ URL string }
			Components struct {
				SecuritySchemes struct {
					OAuth2 struct {
						Flows struct{ ClientCredentials struct{ TokenURL string } }
					}
				}
			}
		}
		is.NoErr(json.Unmarshal(c.do("GET", "/openapi.json", "").Body.Bytes(), &doc))
		is.Equal(doc.Servers[0].URL, want[0])
		is.Equal(doc.Components.SecuritySchemes.OAuth2.Flows.ClientCredentials.TokenURL, want[1])
	}
}

func TestTheDescriptionHasEveryRouteAndNoOther(t *testing.T) {
	operations, _ := description(t)
	st := memory.New()
	routed := map[string]bool{}
	for _, route := range endpoints.Routes(endpoints.Config{Auth: auth.New(st, auth.Options{}), Metadata: http.NotFoundHandler()}) {
		methods := []string{route.Method}
		if route.Path == "/oauth/token" {
			methods = []string{"GET", "POST"}
		}
		for _, method := range methods {
			name := method + " " + route.Path
			routed[name] = true
			o, there := operations[name]
			if !there {
				t.Errorf("openapi.json does not describe %s", name)
				continue
			}
			scopes := map[string]bool{}
			for _, way := range o.Security {
				for scheme, names := range way {
					scopes[scheme+" "+strings.Join(names, " ")] = true
				}
			}
			switch {
			case route.ScopeFor != "":
				is.New(t).Equal(o.Security, []map[string][]string{{}, {"oauth2": {route.Scope}}, {"bearer": {}}})
			case route.Scope != "" && !(len(scopes) == 2 && scopes["oauth2 "+route.Scope] && scopes["bearer "]):
				t.Errorf("%s needs the scope %s, and is described with %v", name, route.Scope, scopes)
			case route.Scope == "" && (scopes["oauth2 "] || len(scopes) > 1 || len(scopes) == 1 && !scopes["basic "]):
				t.Errorf("%s needs no scope, and is described with %v", name, scopes)
			}
		}
	}
	for name := range operations {
		if !routed[name] {
			t.Errorf("openapi.json describes %s, which is no route", name)
		}
	}
}

// The answers that every operation can give, by what it is.
func TestTheDescriptionHasEveryAnswer(t *testing.T) {
	operations, _ := description(t)
	ids := map[string]string{}
	for name, o := range operations {
		want := []string{"500", "503"}
		if name != "GET /health" { // which has no rate limit
			want = append(want, "429")
		}
		if len(o.Security) > 0 {
			want = append(want, "400", "401")
		}
		if len(o.Security) > 0 && o.Security[0]["oauth2"] != nil {
			want = append(want, "403")
		}
		oauth := strings.Contains(name, "/oauth/")
		if o.RequestBody != nil {
			want = append(want, "413")
			if !oauth {
				want = append(want, "408", "415", "422")
			}
		}
		if strings.Contains(name, "{") {
			want = append(want, "404")
		}
		for _, status := range want {
			if o.Responses[status] == nil {
				t.Errorf("%s is described without the answer %s", name, status)
			}
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(o.Responses)), func(s string) bool { return s[0] == '2' }) {
			t.Errorf("%s is described without an answer of success", name)
		}
		if o.Summary == "" || o.Description == "" || len(o.Tags) != 1 || o.OperationID == "" {
			t.Errorf("%s lacks a summary, a description, one tag or an operationId", name)
		}
		if other := ids[o.OperationID]; other != "" {
			t.Errorf("%s and %s have the same operationId", name, other)
		}
		ids[o.OperationID] = name
	}
}

func TestTheDescriptionHoldsTogether(t *testing.T) {
	is := is.New(t)
	_, doc := description(t)
	is.Equal(doc["openapi"], "3.1.0")
	is.Equal(doc["servers"].([]any)[0].(map[string]any)["url"], ".")
	is.Equal(doc["info"].(map[string]any)["version"], web.Version)

	schemes := doc["components"].(map[string]any)["securitySchemes"].(map[string]any)
	flow := schemes["oauth2"].(map[string]any)["flows"].(map[string]any)["clientCredentials"].(map[string]any)
	is.Equal(flow["tokenUrl"], "oauth/token")
	is.Equal(slices.Sorted(maps.Keys(flow["scopes"].(map[string]any))), slices.Sorted(slices.Values(auth.Scopes())))

	used := map[string]bool{}
	walk(doc, func(o map[string]any) {
		ref, there := o["$ref"].(string)
		if !there {
			return
		}
		used[ref] = true
		if lookUp(doc, ref) == nil {
			t.Errorf("%s does not resolve", ref)
		}
	})
	for _, kind := range []string{"schemas", "parameters", "headers", "responses", "examples"} {
		for name := range doc["components"].(map[string]any)[kind].(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; !used[ref] {
				t.Errorf("nothing refers to %s", ref)
			}
		}
	}
}

// walk visits every object in v.
func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, member := range v {
			walk(member, visit)
		}
	case []any:
		for _, element := range v {
			walk(element, visit)
		}
	}
}

// lookUp returns what a reference within the document leads to, or nil.
func lookUp(doc map[string]any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var v any = doc
	for name := range strings.SplitSeq(path, "/") {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

func TestEveryDescribedArrayHasItems(t *testing.T) {
	_, doc := description(t)
	arrays := 0
	var check func(path string, v any)
	check = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			types, several := v["type"].([]any)
			if v["type"] == "array" || several && slices.Contains(types, any("array")) {
				arrays++
				if v["items"] == nil {
					t.Errorf("%s: an array without items", path)
				}
			}
			for name, member := range v {
				check(path+"/"+name, member)
			}
		case []any:
			for i, member := range v {
				check(path+"/"+strconv.Itoa(i), member)
			}
		}
	}
	check("#", doc)
	require.Greater(t, arrays, 10)
}

// TestTheDescriptionIsPacked: openapi.json is sent in gzip to who accepts it, and both forms
// have an entity tag that saves another download. No other answer is packed.
func TestTheDescriptionIsPacked(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	get := func(method string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "/openapi.json", nil)
		for pair := range slices.Chunk(header, 2) {
			r.Header.Set(pair[0], pair[1])
		}
		w := httptest.NewRecorder()
		c.mount.ServeHTTP(w, r)
		return w
	}
	plain := c.do("GET", "/openapi.json", "")
	is.Equal(plain.Header().Get("Content-Encoding"), "")
	is.True(plain.Body.Len() <= 560_000)
	packed := get("GET", "Accept-Encoding", "br, GZIP;q=0.5")
	is.Equal(packed.Header().Get("Content-Encoding"), "gzip")
	is.True(packed.Body.Len() <= 60_000)
	unpacked, err := gzip.NewReader(packed.Body)
	is.NoErr(err)
	text, err := io.ReadAll(unpacked)
	is.NoErr(err)
	is.Equal(string(text), plain.Body.String())
	tags := []string{plain.Header().Get("ETag"), packed.Header().Get("ETag")}
	is.True(tags[0] != tags[1])
	for _, a := range []*httptest.ResponseRecorder{plain.ResponseRecorder, packed} {
		is.Equal(a.Header().Get("Vary"), "Accept-Encoding")
	}
	for _, method := range []string{"GET", "HEAD"} {
		for i, accepted := range []string{"identity", "gzip"} {
			whole := get(method, "Accept-Encoding", accepted)
			is.Equal(whole.Code, http.StatusOK)
			is.Equal(whole.Header().Get("ETag"), tags[i])
			for _, tag := range tags {
				a := get(method, "Accept-Encoding", accepted, "If-None-Match", tag)
				is.Equal(a.Code, http.StatusNotModified)
				is.Equal(a.Header().Get("ETag"), tag)
				is.Equal(a.Header().Get("Vary"), "Accept-Encoding")
				is.Equal(a.Header().Get("Content-Encoding"), "")
			}
		}
	}
	for _, refused := range []string{"gzip;q=0", "gzip; q=0.000", "*", "deflate"} {
		is.Equal(get("GET", "Accept-Encoding", refused).Header().Get("Content-Encoding"), "")
	}
	for _, path := range []string{"/license", "/event", "/file/keys", "/health", "/nowhere"} {
		a := c.do("GET", path, "", "Accept-Encoding", "gzip")
		is.Equal(a.Header().Get("Content-Encoding")+a.Header().Get("Vary"), "")
	}
}

// TestTheDescriptionIsPackedOnce, for the first who asks, which takes a megabyte.
func TestTheDescriptionIsPackedOnce(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	tag := c.do("HEAD", "/openapi.json", "", "Accept-Encoding", "gzip").Header().Get("ETag")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		is.New(t).Equal(c.do("GET", "/openapi.json", "", "Accept-Encoding", "gzip", "If-None-Match", tag).Code, http.StatusNotModified)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}
