package dashboard_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
)

// TestAFormOfAStrangerCostsLittle: the pages that need no sign-in refuse forms with many
// fields, and large ones, before they are parsed.
func TestAFormOfAStrangerCostsLittle(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "%d&", i)
	}
	pages := 0
	for _, r := range dashboard.Routes() {
		if !r.Public || r.Method == http.MethodGet {
			continue
		}
		pages++
		for want, form := range map[int]string{
			http.StatusBadRequest:            many.String(),
			http.StatusRequestEntityTooLarge: "code=" + strings.Repeat("x", 200<<10),
		} {
			post := func() int {
				r := httptest.NewRequest(http.MethodPost, "/dashboard/"+r.Path, strings.NewReader(form))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				return w.Code
			}
			is.Equal(post(), want)          // parses the template of the error
			least := uint64(math.MaxUint64) // other goroutines allocate, too
			for range 3 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				is.Equal(post(), want)
				runtime.ReadMemStats(&after)
				least = min(least, after.Mallocs-before.Mallocs)
			}
			require.Less(t, least, 2000) // most are for the page of the error
		}
	}
	require.Greater(t, pages, 3)
}
