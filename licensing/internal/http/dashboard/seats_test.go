package dashboard_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestSeatsAfterImport: every page shows the seats in use of licenses whose counts are
// not stored, as after an import of a store.
func TestSeatsAfterImport(t *testing.T) {
	is := is.New(t)
	from := newSite(t)
	full := from.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: new(int64(2))}})
	large := from.license(api.CreateLicenseParams{Name: "Large", ProductID: "beacon", Terms: api.Terms{MaxActivations: new(int64(250))}})
	is.NoErr(from.Service().Atomically(t.Context(), func(s *license.Service) error {
		for i := range 250 {
			if _, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: large.Key, Fingerprint: fmt.Sprint("pc-", i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	for i := range 4 { // the third and the fourth are refused; the fourth stores both refusals
		_, _ = from.Service().Activate(t.Context(), api.ActivateKeyParams{Key: full.Key, Fingerprint: fmt.Sprint("pc-", i)})
		from.advance(2 * time.Minute)
	}
	to := memory.New()
	var archive bytes.Buffer
	is.NoErr(from.st.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &archive) }))
	is.NoErr(store.Import(t.Context(), to, &archive))

	s := newSiteOn(t, to, licensing.Options{})
	v := s.admin()
	for page, want := range map[string][]string{
		"licenses":                                     {"<span>2/2</span>", "<span>250/250</span>"},
		"search?q=atlas":                               {"<span>2/2</span>"},
		"customer?id=harbour-pilots":                   {"<span>2/2</span>", "<span>250/250</span>"},
		"licenses/" + full.ID:                          {">2/2</a>", `Activations <span class="muted">2</span>`, "applies now"},
		"licenses/" + large.ID:                         {">250/250</a>", `Activations <span class="muted">250</span>`},
		"licenses/" + full.ID + "/refusals":            {"applies now", "2 of 2 seats used."},
		"refusals?reason=activation_limit&open=1":      {"Remove a device"},
		"licenses/" + large.ID + "/activations":        {"250 of 250 seats used."},
		"licenses/" + full.ID + "/activations?ended=1": {"2 of 2 seats used."},
	} {
		require.Contains(t, v.get(page).body, want...)
	}
	overview := v.get("").body
	require.Matches(t, overview, regexp.MustCompile(`atlas</a></span> <span>2</span>`))
	require.Matches(t, overview, regexp.MustCompile(`beacon</a></span> <span>250</span>`))
}
