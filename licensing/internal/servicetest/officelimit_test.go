package servicetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestOfficeLimits: the programs of an office share a license key, and no limit. A limit
// of the host counts as before.
func TestOfficeLimits(t *testing.T) {
	const machines = 400
	key, answer := officeAnswer(t, time.Now(), 24*time.Hour)
	send := func(o licensing.Options) (limited int) {
		h := licensing.NewHandler(memory.New(), o)
		for i := range machines {
			r := httptest.NewRequest("POST", "/license/validate", strings.NewReader(`{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA"}`))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i%250)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code == http.StatusTooManyRequests {
				limited++
			}
		}
		return limited
	}
	now := time.Now()
	o := licensing.Options{Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)}
	if got, want := send(o), machines-200; got != want {
		t.Errorf("the vendor refused %d requests; want %d", got, want)
	}
	o.SigningKeys = []files.SigningKey{{Signer: key, Office: answer}}
	if got := send(o); got != 0 {
		t.Errorf("the office refused %d requests", got)
	}
	o.Limiter = refuseAll{}
	if got := send(o); got != machines {
		t.Errorf("the office of a host that refuses all refused %d requests", got)
	}
}

type refuseAll struct{}

func (refuseAll) Allow(context.Context, string) (time.Duration, bool) { return time.Second, false }
