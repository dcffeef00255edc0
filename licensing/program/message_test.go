package program

import (
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestMessageNamesTheLastDay: an end is shown as the day of the last instant before it, in
// local time.
func TestMessageNamesTheLastDay(t *testing.T) {
	is := is.New(t)
	end := func(hour int) time.Time { return time.Date(2027, 2, 1, hour, 0, 0, 0, time.Local) }
	for _, c := range []struct {
		status Status
		want   string
	}{
		{Status{Code: api.VerdictValid, ExpiresAt: end(0)}, "valid until 31 January 2027."},
		{Status{Code: api.VerdictValid, ExpiresAt: end(10)}, "valid until 1 February 2027."},
		{Status{Code: api.VerdictInGrace, ExpiresAt: end(0), ValidUntil: end(24)}, "expired on 31 January 2027 and works until 1 February 2027;"},
		{Status{Code: api.VerdictExpired, ExpiresAt: end(0).UTC()}, "expired on 31 January 2027;"},
		{Status{Code: api.VerdictUpdatesEnded, UpdatesUntil: end(0)}, "updates until 31 January 2027,"},
	} {
		is.True(strings.Contains(c.status.Message(), c.want)) // c.status.Message()
	}
}
