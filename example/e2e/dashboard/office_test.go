//go:build unix

package dashboard

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/process"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestOffice sets up an office in a browser from the first start: the administrator becomes
// an admin of its dashboard, enters the license key, takes the request to the vendor,
// uploads the answer, sees a machine, and renews with more seats. axe-core checks each
// state, and screenshots are taken as TestEveryPage does.
func TestOffice(t *testing.T) {
	inspect := newInspection(t)
	binary := filepath.Join(t.TempDir(), "licensekit")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../licensekit", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			is, dir := is.New(t), t.TempDir()
			command := func(args ...string) *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), binary, append(args, "--store", "office.db")...)
				cmd.Dir = dir
				return cmd
			}
			p := process.Start(t, command("office", "--addr", "127.0.0.1:0"), false)
			vendor := licensing.NewHandler(memory.New(), licensing.Options{Now: func() time.Time { return time.Now().Add(-85 * 24 * time.Hour) }})
			l, err := vendor.Service().Create(t.Context(), api.CreateLicenseParams{
				Name: "Acme Engineering Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{MaxActivations: new(int64(20)), Meters: map[string]api.Meter{"renderings": {}}},
			})
			is.NoErr(err)
			answer := func(request string, days int) string {
				f, err := vendor.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Request: request, Lifetime: api.Duration{Days: days}})
				is.NoErr(err)
				text, err := vendor.Files().Sign(t.Context(), *f.FileClaims())
				is.NoErr(err)
				return text
			}

			b := newBrowser(t, &host{base: p.URL}, script)
			look := func(name string) {
				if !script {
					return
				}
				for n, scheme := range []string{"light", "dark"} {
					b.scheme(scheme)
					for m, width := range []int64{1440, 390} {
						if n != m && inspect.dir == "" {
							continue // each theme and each width is seen once
						}
						is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 844)))
						inspect.page(b, name+"-"+scheme+map[int64]string{1440: "-wide", 390: "-narrow"}[width], n+m > 0)
					}
				}
				is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(320, 844)))
				over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`)
				is.True(over <= 0) // no horizontal scrolling at 320 pixels
			}
			out, err := command("setup-code").Output()
			is.NoErr(err)
			_, code, _ := strings.Cut(strings.TrimSpace(string(out)), "#code=")
			b.open("../../office/")
			b.fill("Setup code", code)
			b.fill("Email", "ida@customer.example")
			b.fill("Password", "seven brown horses at the lake")
			b.press("Create admin account")

			b.see("1. Request seats")
			look("office-first")
			b.fill("License key", l.Key)
			b.fill("Number of seats", "2")
			b.press("Create request")
			b.see("2. Install the answer")
			if script {
				b.act("copy", chromedp.Click(`//button[normalize-space()="Copy"]`))
				b.wait(`document.body.innerText.includes("Copied")`) // for two seconds
			}
			look("office-request")
			b.fill("Answer of the vendor", "something else")
			b.press("Install")
			b.see("The answer is not a whole license file; copy it again")
			look("office-refused")
			file := filepath.Join(t.TempDir(), "answer.license")
			is.NoErr(os.WriteFile(file, []byte(answer(b.read("#request-text"), 90)), 0o600))
			b.act("clear", chromedp.Clear(chromedp.CSS("#answer")))
			b.act("choose the file", chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{file}))
			b.press("Install")
			b.see("The answer was installed.")
			b.see("ends within 7 days")

			keys, err := vendor.Files().KeySet(t.Context())
			is.NoErr(err)
			pinned, err := json.Marshal(keys)
			is.NoErr(err)
			for _, machine := range []string{"Drawing room", "Test bench"} {
				shipped, err := program.Open(program.Options{URL: p.URL, Keys: pinned, ProductID: "atlas", Key: l.Key, Fingerprint: machine, Name: machine, Dir: t.TempDir()})
				is.NoErr(err)
				is.Equal(shipped.Status().Code, api.VerdictValid)
				shipped.Close()
			}
			usage, err := http.Post(p.URL+"/license/usage", "application/json", strings.NewReader(`{"key":"`+l.Key+`","usage":[{"meter":"renderings","id":"a","total":1250}]}`))
			is.NoErr(err)
			usage.Body.Close()
			is.Equal(usage.StatusCode, http.StatusOK)
			b.open("office")
			b.see("2 of 2 seats in use")
			is.Equal(b.read("#usage ~ dl"), "renderings1250")
			b.see("Drawing room")
			look("office-lends")
			if script {
				b.picture("office", 1440, 900, "")
			}
			b.fill("Number of seats", "5")
			b.press("Create request")
			b.fill("Answer of the vendor", answer(b.read("#request-text"), 365))
			b.press("Install")
			b.see("2 of 5 seats in use")
			b.missing("ends within")
			b.press("Acme Engineering Ltd")
			b.see("Test bench") // on the page of the license
			is.Equal(b.policyErrors(), nil)
		})
	}
}
