// Package servicetest has the tests of the whole service: each sends requests to a
// handler or calls its services, on a store of its own. Only the clock is fake.
package servicetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// A caller sends requests to a service with the token of a client that may do
// everything.
type caller struct {
	*licensingtest.Kit
	t      testing.TB
	token  string
	mount  http.Handler
	prefix string
}

func newCaller(t testing.TB, opts licensing.Options) *caller {
	kit := licensingtest.New(t, opts)
	t.Cleanup(func() { checkEvents(t, kit.Handler) })
	return &caller{Kit: kit, t: t, token: kit.Token(), mount: kit.Handler}
}

// in returns the caller for a test within the test.
func (c *caller) in(t testing.TB) *caller {
	inner := *c
	inner.t = t
	return &inner
}

// An answer is what came back, with its JSON, if it is that.
type answer struct {
	*httptest.ResponseRecorder
	json map[string]any
}

// do sends one request; header is pairs of name and value, of which an empty
// one takes the header away.
func (c *caller) do(method, target, body string, header ...string) answer {
	c.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(c.t.Context(), method, c.prefix+target, reader)
	r.Header.Set("Authorization", "Bearer "+c.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Del(header[i]); header[i+1] != "" {
			r.Header.Add(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	c.mount.ServeHTTP(w, r)
	a := answer{ResponseRecorder: w}
	if mediaType := w.Header().Get("Content-Type"); strings.HasSuffix(mediaType, "json") && mediaType != "application/x-ndjson" && w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &a.json); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, target, err, w.Body)
		}
	}
	if code, isProblem := cmp.Or(a.json["code"], a.json["error"]).(string); isProblem && w.Code >= 400 {
		checkCode(c.t, code, w.Code)
	}
	return a
}

// checkCode checks that docs/errors.md lists a code, and with this status. A refusal has the
// code of its verdict.
func checkCode(t testing.TB, code string, status int) {
	t.Helper()
	problems, verdicts, _ := strings.Cut(listedCodes(), "## Codes of verdicts")
	row := "| `" + code + "` | "
	_, after, listed := strings.Cut(problems, row)
	statuses, _, _ := strings.Cut(after, " |")
	refusal := status == http.StatusConflict && strings.Contains(verdicts, row)
	if !refusal && (!listed || !strings.Contains(statuses, strconv.Itoa(status))) {
		t.Errorf("docs/errors.md does not list the code %s with the status %d", code, status)
	}
}

// listedCodes returns docs/errors.md.
var listedCodes = sync.OnceValue(func() string {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "errors.md"))
	if err != nil {
		panic(err)
	}
	return string(text)
})

// create creates a license and returns its id. Ids are in order of creation
// only from one millisecond to the next.
func (c *caller) create(name, product, customer string) string {
	c.t.Helper()
	c.Clock.Advance(time.Millisecond)
	body, _ := json.Marshal(map[string]string{"name": name, "product_id": product, "customer_id": customer})
	a := c.do("POST", "/license", string(body))
	if a.Code != http.StatusCreated {
		c.t.Fatalf("create: %d %s", a.Code, a.Body)
	}
	return a.json["id"].(string)
}

func TestTheSixOperationsUnderAPrefix(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.mount, c.prefix = http.StripPrefix("/a/b", c.Handler), "/a/b"

	created := c.do("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c"}`)
	is.Equal(created.Code, http.StatusCreated)
	id := created.json["id"].(string)
	is.Equal(created.Header().Get("Location"), "license/"+id)
	is.Equal(created.Header().Get("ETag"), `"1.active"`)

	got := c.do("GET", "/license/"+id, "")
	is.Equal(got.Code, http.StatusOK)
	is.Equal(got.json, created.json)

	all := c.do("GET", "/license/c", "")
	is.Equal(all.Code, http.StatusOK)
	is.Equal(len(all.json["data"].([]any)), 1)

	patched := c.do("PATCH", "/license", `{"name":"m","product_id":"p","customer_id":"c"}`)
	is.Equal(patched.Code, http.StatusOK)
	is.Equal(patched.json["name"], "m")
	is.Equal(patched.Header().Get("ETag"), `"2.active"`)

	deleted := c.do("DELETE", "/license/"+id, "")
	is.Equal(deleted.Code, http.StatusOK)
	is.Equal(deleted.json, map[string]any{"object": "license", "id": id, "deleted": true})
	is.Equal(c.do("DELETE", "/license/"+id, "").Code, http.StatusNotFound)
}

func TestLongPathsCostLittleAndGetAShortAnswer(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	for name, path := range map[string]string{
		"deep":           strings.Repeat("/a", 16<<10),
		"slashes":        "/" + strings.Repeat("/", 32<<10),
		"long":           "/license/" + strings.Repeat("a", 64<<10),
		"dashboard":      "/dashboard" + strings.Repeat("/a", 16<<10),
		"dashboard long": "/dashboard/" + strings.Repeat("a", 64<<10),
		"assets":         "/dashboard/static" + strings.Repeat("/a", 16<<10),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			start := time.Now()
			a := c.in(t).do("GET", path, "", "Authorization", "")
			is.Equal(a.Code, http.StatusNotFound)
			require.Less(t, a.Body.Len(), 1000)
			require.Less(t, time.Since(start), time.Second) // quadratic work takes several seconds
		})
	}
}

func TestTheLongestCustomerIDHasAPath(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	customer := strings.Repeat("\U0001F600", 255)
	c.create("n", "p", customer)
	escaped := strings.Repeat("%F0%9F%98%80", 255)
	is.Equal(c.do("GET", "/license/"+escaped, "").Code, http.StatusOK)
}

// An unknown customer is not found, because the path may be a mistyped license ID,
// but a page after the last license is empty.
func TestTheLicensesOfACustomer(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.create("first", "p", "c")
	last := c.create("last", "p", "c")
	cursor := c.do("GET", "/license/c?limit=1", "").json["next_cursor"].(string)
	is.Equal(c.do("DELETE", "/license/"+last, "").Code, http.StatusOK)
	rest := c.do("GET", "/license/c?limit=1&cursor="+cursor, "")
	is.Equal(rest.Code, http.StatusOK)
	is.Equal(rest.json["data"], []any{})
	for _, customer := range []string{"cus_none", "%20c"} {
		is.Equal(c.do("GET", "/license/"+customer, "").Code, http.StatusNotFound)
	}
}

func TestTheMountHintIsLoggedOnce(t *testing.T) {
	is := is.New(t)
	var log bytes.Buffer
	c := newCaller(t, licensing.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		is.Equal(c.do("GET", "/licensing/health", "").Code, http.StatusNotFound)
	}
	is.Equal(strings.Count(log.String(), "http.StripPrefix"), 1)
}
