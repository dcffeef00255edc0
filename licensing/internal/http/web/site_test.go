package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
)

// TestTimeOfARequest: the context of a handler ends after the time limit, or ten times
// that for a Bulk route. An error page and the observer have time afterwards.
func TestTimeOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var took time.Duration
		wait := func(_ http.ResponseWriter, r *http.Request) error {
			began := time.Now()
			<-r.Context().Done()
			took = time.Since(began)
			return context.Cause(r.Context())
		}
		left := map[string]error{}
		pages := &Section{
			Prefix: "/dashboard",
			Routes: []Route{{Method: "GET", Path: "/dashboard/slow", Handle: wait}, {Method: "GET", Path: "/dashboard/bulk", Bulk: true, Handle: wait}},
			Fail: func(w http.ResponseWriter, r *http.Request, p *Problem) {
				left["page"] = r.Context().Err()
				w.WriteHeader(p.Status)
			},
		}
		log := slog.New(slog.DiscardHandler)
		s := NewSite(Config{
			Logger: log, RequestLog: log, BodyTimeout: time.Minute, Timeout: time.Minute,
			After:   func(http.ResponseWriter, *http.Request) {},
			Observe: func(ctx context.Context, _ feed.Report) { left["observer"] = ctx.Err() },
		}, nil, pages)
		for path, limit := range map[string]time.Duration{"slow": time.Minute, "bulk": 10 * time.Minute} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/dashboard/"+path, nil))
			is.Equal(w.Code, http.StatusServiceUnavailable)
			is.Equal(took, limit)
			is.Equal(left, map[string]error{"page": nil, "observer": nil})
		}
	})
}
