package dashboard

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// openProgram opens a program without a license key, and starts an activation in the
// browser, which ends in the background.
func openProgram(t *testing.T, address, device string) (lic *program.License, link program.Link, ended chan error) {
	t.Helper()
	is := is.New(t)
	resp, err := http.Get(address + "/licensing/file/keys")
	is.NoErr(err)
	defer resp.Body.Close()
	keys, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	lic, err = program.Open(program.Options{URL: address + "/licensing", Keys: keys, ProductID: "atlas", Dir: t.TempDir(), Fingerprint: "fp-" + device, Name: device})
	is.NoErr(err)
	t.Cleanup(func() { lic.Close() })
	is.Equal(lic.Status().Code, program.CodeNoKey)
	link, err = lic.Link(t.Context())
	is.NoErr(err)
	ended = make(chan error, 1)
	go func() { ended <- link.Wait(t.Context()) }()
	return lic, link, ended
}

// TestProgramIsActivatedInTheBrowser: from Open to the name of the license, with the keyboard
// and without a license key.
func TestProgramIsActivatedInTheBrowser(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a program asks again only after seconds
			is := is.New(t)
			b := newCustomerPages(t, script)
			address := strings.TrimSuffix(b.base, "/account/licenses/")
			open := func(link program.Link) {
				t.Helper()
				is.True(strings.HasPrefix(link.URL, b.base))
				b.open(strings.TrimPrefix(link.URL, b.base))
			}
			wait := func(ended chan error) error {
				t.Helper()
				select {
				case err := <-ended:
					return err
				case <-time.After(20 * time.Second):
					t.Fatal("the program still waits")
					return nil
				}
			}
			lic, link, ended := openProgram(t, address, "Front desk")
			open(link)
			b.showing("Front desk")
			b.showing(link.Code)
			b.showing("Atlas at the harbour")
			b.press("Activate")
			b.showing("The program is activated.")
			is.NoErr(wait(ended))
			is.True(lic.Status().Valid)
			is.Equal(lic.Status().LicensedTo, "Atlas at the harbour")

			full, link, ended := openProgram(t, address, "Fourth device")
			b.open("link") // the customer types the code on another device
			b.fill("Code", strings.ToLower(link.Code))
			b.press("Continue")
			b.showing("Fourth device")
			b.press("Activate")
			b.showing("All devices of this license are in use")
			b.act("choose a device", chromedp.Click(`//label[contains(., "Reception")]`))
			b.press("Activate")
			b.showing("The program is activated.")
			is.Equal(eval[bool](b.browser, `[...document.querySelectorAll(".cards h3")].some((e) => e.innerText === "Reception")`), false)
			is.NoErr(wait(ended))
			is.True(full.Status().Valid)

			declined, link, ended := openProgram(t, address, "A stranger's device")
			open(link)
			b.showing("If another person sent you this page")
			b.press("Decline")
			b.showing("Nothing was activated.")
			is.True(wait(ended) != nil)
			is.Equal(declined.Status().Code, program.CodeNoKey)
			is.Equal(b.policyErrors(), nil)
		})
	}
}
