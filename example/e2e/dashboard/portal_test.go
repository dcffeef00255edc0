package dashboard

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	example "github.com/seed-d8a106b4/licensekit/example/internal/host"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// runExample runs the application of the example with its sample licenses. It
// returns the address of the application and the service on its store.
func runExample(t *testing.T) (address string, h *licensing.Handler) {
	t.Helper()
	is := is.New(t)
	st := memory.New()
	ctx, stop := context.WithCancel(t.Context())
	done, log := make(chan error, 1), &logBuffer{}
	go func() {
		done <- example.Run(ctx, example.Backend{Program: "example", Flag: "db", Open: func(context.Context, string) (*example.Database, error) {
			return &example.Database{Store: st, Close: func() error { return nil }, Temporary: true}, nil
		}}, []string{"-addr", "127.0.0.1:0"}, log, io.Discard)
	}()
	t.Cleanup(func() {
		stop()
		is.NoErr(<-done)
	})
	found := regexp.MustCompile(`application +(http://[^ \n]+)/\n`)
	for range 200 {
		if m := found.FindStringSubmatch(log.String()); m != nil {
			return m[1], licensing.NewHandler(store.Store(st), licensing.Options{})
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the example does not start: %s", log.String())
	return "", nil
}

// newCustomerPages runs the example and opens its pages for customers in a browser, as
// one of the sample customers. It gives the customer a license of a plan with devices,
// and saves what the browser downloads in a folder.
func newCustomerPages(t *testing.T, script bool) (b *pages) {
	t.Helper()
	is := is.New(t)
	address, h := runExample(t)
	ctx, seats := t.Context(), int64(3)
	_, err := h.Selling().PutPlan(ctx, api.PutPlanParams{ID: "price_team", Name: "Atlas for teams", ProductID: "atlas", Duration: api.Duration{Years: 1}, Terms: api.Terms{MaxActivations: &seats}})
	is.NoErr(err)
	b = &pages{files: t.TempDir()}
	b.license, err = h.Service().Create(ctx, api.CreateLicenseParams{Name: "Atlas at the harbour", CustomerID: "blue-harbour", PlanID: "price_team"})
	is.NoErr(err)
	for fingerprint, name := range map[string]string{"fp-1": "Reception", "fp-2": "Workshop laptop"} {
		_, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: b.license.Key, Fingerprint: fingerprint, Name: name})
		is.NoErr(err)
	}
	b.browser = newBrowser(t, &host{}, script)
	b.base = address + "/account/licenses/"
	is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 844)))
	_, err = chromedp.Call(b.ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: b.files})
	is.NoErr(err)
	return b
}

// pages are the pages for customers in a browser.
type pages struct {
	*browser
	license api.License
	files   string // the folder of downloads
}

// press moves the focus with Tab to the control with an accessible name, or a text, and
// presses Enter there.
func (b *pages) press(name string) {
	b.t.Helper()
	for range 60 {
		b.hit(kb.Tab)
		if eval[string](b.browser, `(e => e.ariaLabel || e.innerText || e.id)(document.activeElement).trim()`) == name {
			if outline := eval[string](b.browser, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
				b.t.Errorf("the focus is not visible at %s", name)
			}
			b.hit(kb.Enter)
			return
		}
	}
	b.t.Fatalf("Tab does not lead to %q", name)
}

// file returns the license file that the browser has saved, and removes it.
func (b *pages) file() string {
	b.t.Helper()
	for range 200 {
		if found, _ := filepath.Glob(filepath.Join(b.files, "*.license")); len(found) == 1 {
			text, err := os.ReadFile(found[0])
			is.New(b.t).NoErr(err)
			if len(text) > 0 {
				is.New(b.t).NoErr(os.Remove(found[0]))
				return string(text)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatal("no license file was saved")
	return ""
}

// showing waits until the page shows a text.
func (b *pages) showing(text string) {
	b.t.Helper()
	b.wait(`document.readyState === "complete" && document.body.innerText.includes("` + text + `")`)
}

// TestCustomerPagesByKeyboard opens a license, copies its key, gets a license file for a
// device, removes a device, and uploads a request and gets a file, all with the keyboard.
func TestCustomerPagesByKeyboard(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			b := newCustomerPages(t, script)
			b.open("")
			b.press("Atlas at the harbour")
			b.showing("2 of 3 in use")
			b.showing("Atlas for teams")
			if script {
				b.press("Copy")
				b.showing("Copied")
			}
			b.open(b.license.ID)
			b.press("Use without a network")
			b.press("Download license file")
			is.Equal(strings.Count(b.file(), "."), 2)
			b.open(b.license.ID)
			b.press("Remove Reception") // asks
			b.press("Remove Reception")
			b.showing("The device was removed.")
			is.Equal(eval[string](b.browser, `[...document.querySelectorAll(".cards h3")].map((e) => e.innerText).join()`), "Workshop laptop")

			request, err := licensefile.NewRequest(b.license.Key, "fp-air").Text()
			is.NoErr(err)
			b.press("Use without a network")
			path := filepath.Join(t.TempDir(), "request.txt")
			is.NoErr(os.WriteFile(path, []byte(request+"\n"), 0o600))
			b.act("choose the file", chromedp.SetUploadFiles(chromedp.CSS("#request-file"), []string{path}))
			b.press("Get license file")
			is.Equal(strings.Count(b.file(), "."), 2)
			b.open(b.license.ID)
			b.showing("2 of 3 in use")
			is.Equal(b.policyErrors(), nil)
		})
	}
}

// TestCustomerPages checks the pages for customers as TestEveryPage does, and takes pictures of
// them for the gallery.
func TestCustomerPages(t *testing.T) {
	is := is.New(t)
	inspect := newInspection(t)
	b := newCustomerPages(t, true)
	_, link, _ := openProgram(t, strings.TrimSuffix(b.base, "/account/licenses/"), "Front desk")
	b.open(b.license.ID)
	b.picture("customer-page", 390, 840, "")
	b.open(strings.TrimPrefix(link.URL, b.base))
	b.picture("activation", 390, 840, "")
	for name, open := range map[string]func(){
		"portal":         func() { b.open(b.license.ID) },
		"portal-list":    func() { b.open("") },
		"portal-link":    func() { b.open(strings.TrimPrefix(link.URL, b.base)) },
		"portal-code":    func() { b.open("link?code=wrong") },
		"portal-missing": func() { b.open("nothing") },
		"portal-refused": func() {
			b.open(b.license.ID)
			b.unfold("Use without a network")
			b.browser.press("Get license file")
		},
	} {
		open()
		inspect.looks(b.browser, name)
	}
	is.Equal(b.policyErrors(), nil)
}
