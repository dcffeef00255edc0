package licensing_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

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
