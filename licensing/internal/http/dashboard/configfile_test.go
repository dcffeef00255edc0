package dashboard_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestConfigFile reads all pages: where a program has a configuration file, each option is named
// with the file, and nothing is said of Go code and a host application; elsewhere, no file is.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	option := regexp.MustCompile(`Options\.[\w.]*\w( in licensekit\.json)?`)
	ofHost := regexp.MustCompile(`(?i)host application|Handler\.|licensing\.Options|in Go\b|Files\(\)`)
	for _, file := range []string{"", "licensekit.json"} {
		s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{ConfigFile: file}})
		pages := everyPage(s)
		s.advance(24 * time.Hour) // Handler.Run does not run
		v := s.signedIn("ada@example.com")
		for _, page := range []string{"", "settings/about", "settings/webhooks", "audit"} {
			pages[page+", later"] = v.get(page)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/dashboard/licenses/new", nil)
		is.New(t).NoErr(err)
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		pages["another site"] = v.do(req)
		named, hosts := map[string]bool{}, 0
		for name, a := range pages {
			said := a.says("These values are set in licensekit.json, each by its path.") // of all of them
			for _, m := range option.FindAllStringSubmatch(a.body, -1) {
				if named[m[0]] = true; said {
					continue
				}
				if (m[1] != "") != (file != "") {
					t.Errorf("%q: %s names %s", file, name, m[0])
				}
			}
			found := ofHost.FindString(a.body)
			if found != "" {
				hosts++
			}
			if file != "" && found != "" {
				t.Errorf("%s says %q", name, found)
			}
		}
		is.New(t).Equal(named["Options.Limits.ClientRate"], file != "")
		is.New(t).True(len(named) >= 3)         // the public URL, the master key and the origins
		is.New(t).Equal(hosts == 0, file != "") // without a file, these pages have them
	}
}
