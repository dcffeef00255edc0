package servicetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestProgramsWithoutUpdates: a build that is too new is refused with the date, online
// and from its file, and an older build with the same directory keeps running.
func TestProgramsWithoutUpdates(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard})
	until := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", UpdatesUntil: &until, Terms: api.Terms{MaxActivations: new(int64(1))}})
	is.NoErr(err)
	server := httptest.NewServer(h)
	defer server.Close()
	keys, err := h.Files().KeySet(t.Context())
	is.NoErr(err)
	jwks, err := json.Marshal(keys)
	is.NoErr(err)
	dir := t.TempDir()
	run := func(url string, built time.Time) program.Status {
		lic, err := program.Open(program.Options{URL: url, Keys: jwks, ProductID: "atlas", Key: l.Key, Dir: dir, Fingerprint: "pc", BuiltAt: built})
		is.NoErr(err)
		defer lic.Close()
		return lic.Status()
	}
	is.Equal(run(server.URL, until).Code, api.VerdictValid)
	for _, url := range []string{server.URL, ""} {
		s := run(url, until.Add(time.Minute))
		is.Equal(s.Code, api.VerdictUpdatesEnded)
		require.Contains(t, s.Message(), until.Local().Format("2 January 2006"), "keep running")
		is.Equal(run("", until).Code, api.VerdictValid)
	}
}

// TestFileOfTheEarliestTimes: files have whole seconds, of which 0 is none.
//
// Fault: no file is issued for a license whose times are in the first second of 1970.
func TestFileOfTheEarliestTimes(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	id := c.create("n", "p", "c")
	is.Equal(c.do("PATCH", "/license/"+id, `{"updates_until":"1970-01-01T00:00:00.999Z","expires_at":"1970-01-01T00:00:00Z","grace_seconds":3000000000}`).Code, http.StatusOK)
	is.Equal(c.do("POST", "/license/"+id+"/file", "").Code, http.StatusOK)
}
