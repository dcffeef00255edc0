package servicetest

import (
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

const ndjson = "application/x-ndjson"

// TestLongKeys moves keys of the greatest length from one service to another.
//
// Fault: signed keys of other systems, of some 500 characters, are refused.
func TestLongKeys(t *testing.T) {
	is := is.New(t)
	from, to := newCaller(t, licensing.Options{}), newCaller(t, licensing.Options{})
	key := "key/" + strings.Repeat("aB3-", 255) // 1,024 characters
	body := func(key string) string {
		return `{"name":"n","product_id":"p","customer_id":"c","key":"` + key + `"}`
	}
	is.Equal(from.do("POST", "/license", body(key)).Code, http.StatusCreated)
	tooLong := from.do("POST", "/license", body(key+"x"))
	is.Equal(tooLong.Code, http.StatusUnprocessableEntity)
	require.Contains(t, tooLong.Body.String(), "must be 16 to 1,024 visible ASCII characters")

	exported := from.do("GET", "/export/license", "").Body.String()
	require.Contains(t, exported, key)
	results := to.do("POST", "/import/license", exported+body(key+"x"), "Content-Type", ndjson).Body.String()
	is.Equal(strings.Count(results, `"result":"created"`), 1)
	is.Equal(strings.Count(results, `"result":"refused"`), 1)
	is.Equal(to.withKey("/license/validate", key, "").json["code"], "valid")
}

// TestImportRowsAreReadLikeBodies sends rows that encoding/json would accept.
//
// Fault: the last of two names counts, and "NAME" is taken for "name".
func TestImportRowsAreReadLikeBodies(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	for _, row := range []string{
		`{"name":"n","name":"m","product_id":"p","customer_id":"c","key":"AN-OLD-KEY-NUMBER-1"}`,
		`{"NAME":"n","product_id":"p","customer_id":"c","key":"AN-OLD-KEY-NUMBER-1"}`,
		`{"name":"n\ud83d","product_id":"p","customer_id":"c","key":"AN-OLD-KEY-NUMBER-1"}`,
		`{"name":"n","product_id":"p","customer_id":"c","key":"AN-OLD-KEY-NUMBER-1","activations":[{"fingerprint":"pc"}]}`,
	} {
		is.Equal(c.do("POST", "/license", row).Code/100, 4)
		answer := c.do("POST", "/import/license", row, "Content-Type", ndjson)
		require.HasPrefix(t, answer.Body.String(), `{"line":1,"result":"refused"`)
	}
	is.Equal(c.do("GET", "/export/license", "").Body.Len(), 0)
}

// TestUploadsAreNotFiles uploads what is too large for the usual buffers, while no
// temporary file can be created.
func TestUploadsAreNotFiles(t *testing.T) {
	is := is.New(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := os.CreateTemp("", "")
	is.True(err != nil)
	c := newCaller(t, licensing.Options{Dashboard: licensing.DashboardOptions{
		Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
			return operator.Operator{ID: "op", Email: "ada@example.com", Role: operator.RoleAdmin}, true
		},
	}})
	row := fmt.Sprintf(`{"name":"n","product_id":"p","customer_id":"c","key":"AN-OLD-KEY-NUMBER-1"}%s`+"\n", strings.Repeat(" ", 60<<10))
	imported := c.do("POST", "/import/license", strings.Repeat(row, 250), "Content-Type", ndjson)
	is.Equal(imported.Code, http.StatusOK)
	is.Equal(strings.Count(imported.Body.String(), `"result":"exists"`), 249)

	var body strings.Builder
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "licenses.csv")
	is.NoErr(err)
	_, err = io.WriteString(part, "name,price\n"+strings.Repeat("x", 15<<20))
	is.NoErr(err)
	is.NoErr(form.Close())
	uploaded := c.do("POST", "/dashboard/licenses/import", body.String(), "Content-Type", form.FormDataContentType())
	is.Equal(uploaded.Code, http.StatusUnprocessableEntity)
	require.Contains(t, uploaded.Body.String(), "product_id is missing")
}

// TestConcurrentImportsAreBounded starts imports whose bodies do not end.
//
// Fault: each unfinished import holds megabytes, and any number may be begun.
// Fault: the answer blames the store, and the log has an error for it.
func TestConcurrentImportsAreBounded(t *testing.T) {
	is := is.New(t)
	log := new(strings.Builder)
	c := newCaller(t, licensing.Options{Logger: slog.New(slog.NewTextHandler(log, nil)), RequestLog: discard})
	row := `{"name":"n","product_id":"p","customer_id":"c","key":"AN-OLD-KEY-NUMBER-1"}`
	begin := func() (end func()) {
		body, rest := io.Pipe()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/import/license", body)
		r.Header.Set("Authorization", "Bearer "+c.token)
		r.Header.Set("Content-Type", ndjson)
		var done sync.WaitGroup
		done.Go(func() { c.mount.ServeHTTP(httptest.NewRecorder(), r) })
		_, err := io.WriteString(rest, row) // returns once the import reads its body
		is.NoErr(err)
		return func() {
			is.NoErr(rest.Close())
			done.Wait()
		}
	}
	var ends []func()
	for range 4 {
		ends = append(ends, begin())
	}
	refused := c.do("POST", "/import/license", row, "Content-Type", ndjson)
	is.Equal(refused.Code, http.StatusTooManyRequests)
	is.Equal(refused.json["code"], "rate_limited")
	is.Equal(log.String(), "")
	is.True(refused.Header().Get("Retry-After") != "")
	is.Equal(c.do("GET", "/export/license", "").Body.Len(), 0)

	ends[0]()
	is.Equal(c.do("POST", "/import/license", row, "Content-Type", ndjson).Code, http.StatusOK)
	for _, end := range ends[1:] {
		end()
	}
}
