package dashboard

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
)

// appCode returns what an authenticator app shows for a key, now or some steps
// later.
func appCode(t *testing.T, key string, later int64) string {
	t.Helper()
	secret, err := base32.StdEncoding.DecodeString(strings.ReplaceAll(key, " ", ""))
	is.New(t).NoErr(err)
	var step [8]byte
	binary.BigEndian.PutUint64(step[:], uint64(time.Now().Unix()/30+later))
	mac := hmac.New(sha1.New, secret)
	mac.Write(step[:])
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&0xf:])&0x7fffffff%1e6)
}

// preview chooses a CSV file with the given text and opens the preview.
func (b *browser) preview(text string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "licenses.csv")
	is.New(b.t).NoErr(os.WriteFile(path, []byte(text), 0o600))
	choose := chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path})
	if eval[bool](b, `matchMedia("(scripting: enabled)").matches`) {
		b.load("choose a file", choose)
		return
	}
	b.act("choose a file", choose)
	b.press("Preview import")
}

const goodCSV = "\ufeffname;product_id;customer_id;expires_at;max_activations\r\nZoë Brontë;atlas;cus_1;2031-01-31;3\r\nBob;atlas;cus_2;;\r\n"

const badCSV = "name,product_id,customer_id,expires_at,metadata\nZoë,atlas,cus_1,31.01.2031,\n,atlas,cus_2,,order=7\nEve,atlas,cus_3,,\n"

// setUpFactor enables the second factor of the operator who is signed in and
// returns the key and a recovery code.
func (b *browser) setUpFactor() (key, recovery string) {
	b.t.Helper()
	b.open("second-factor")
	key = b.read("#secret")
	b.fill("Code", appCode(b.t, key, 0))
	b.fill("Current password", adminPassword)
	b.press("Enable second factor")
	codes := strings.Fields(b.read("#codes"))
	is.New(b.t).Equal(len(codes), 10)
	return key, codes[0]
}

// TestPeopleWorkflow imports licenses from a spreadsheet, enables a second factor,
// signs in with it, and ends a session.
func TestPeopleWorkflow(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.admin(t)
			b := newSignedIn(t, h, script)
			b.open("licenses/import")
			b.preview(badCSV)
			b.see("2 rows cannot be imported.")
			b.preview(goodCSV)
			b.see("2 licenses will be created.")
			b.press("Import 2 licenses")
			b.see("2 licenses created.")
			b.press("Go to licenses")
			b.see("Zoë Brontë")

			h.cookie(t, adminEmail, adminPassword) // another session
			b.open("password")
			b.press("End the session from " + b.read("form time, .acts .vh")[len("the session from "):])
			b.see("The session has ended.")

			key, recovery := b.setUpFactor()
			b.press("I have saved them")
			b.see("10 recovery codes are left.")
			b.press("Sign out")
			b.signIn(adminEmail, adminPassword)
			b.see("Your account has a second factor.")
			b.fill("Code", "000000")
			b.press("Sign in")
			b.see("This code is incorrect or was used before.")
			b.fill("Code", appCode(t, key, 1))
			b.press("Sign in")
			b.see("Nothing needs attention.")
			b.press("Sign out")
			b.signIn(adminEmail, adminPassword)
			b.fill("Code", recovery)
			b.press("Sign in")
			b.see("Nothing needs attention.")
			b.open("second-factor")
			b.see("9 recovery codes are left.")
			b.fill("Current password", adminPassword)
			b.press("Remove second factor")
			b.see("The second factor has been removed.")
			is.New(t).Equal(b.policyErrors(), nil)
		})
	}
}

// cardsAlign checks that all cards of the page have the same width.
func (b *browser) cardsAlign() {
	b.t.Helper()
	is.New(b.t).Equal(eval[int](b, `new Set(Array.from(document.querySelectorAll("section.card"), c => c.offsetWidth)).size`), 1)
}

// TestPeoplePages checks the pages about roles, sessions, second factors and
// imports as TestEveryPage does.
func TestPeoplePages(t *testing.T) {
	is := is.New(t)
	inspect := newInspection(t)
	h := newHost(t)
	op := h.admin(t)
	licenseID, _ := h.seed(t)
	for _, role := range []operator.Role{operator.RoleSupport, operator.RoleViewer} {
		_, err := h.Operators().Create(t.Context(), operator.CreateParams{Email: string(role) + "@example.com", Password: adminPassword, Role: role})
		is.NoErr(err)
	}
	for range 3 {
		h.cookie(t, adminEmail, adminPassword)
	}
	t.Run("admin", func(t *testing.T) {
		inspect.views(t, h, h.cookie(t, adminEmail, adminPassword), []view{
			{"import", func(b *browser) {
				b.open("licenses/import")
				b.unfold("Columns")
			}},
			{"import-preview", func(b *browser) {
				b.open("licenses/import")
				b.preview(goodCSV)
			}},
			{"import-errors", func(b *browser) {
				b.open("licenses/import")
				b.preview(badCSV)
			}},
			{"account-sessions", func(b *browser) {
				b.open("password")
				b.cardsAlign()
			}},
			{"operator-sessions", func(b *browser) {
				b.open("settings/operators/" + op.ID)
				b.cardsAlign()
			}},
			{"operator-roles", func(b *browser) { b.open("settings/operators/new") }},
			{"factor", func(b *browser) { b.open("second-factor") }},
			{"factor-errors", func(b *browser) {
				b.open("second-factor")
				b.fill("Code", "123")
				b.fill("Current password", "wrong")
				b.press("Enable second factor")
			}},
			{"factor-codes", func(b *browser) { b.setUpFactor() }},
			{"factor-remove", func(b *browser) { b.open("second-factor") }},
			{"factor-code", func(b *browser) {
				b.open("password")
				b.press("Sign out")
				b.signIn(adminEmail, adminPassword)
			}},
		})
	})
	t.Run("support", func(t *testing.T) {
		inspect.views(t, h, h.cookie(t, "support@example.com", adminPassword), []view{
			{"support-license", func(b *browser) { b.open("licenses/" + licenseID) }},
			{"support-forbidden", func(b *browser) { b.open("settings/credentials") }},
			{"support-account", func(b *browser) { b.open("password") }},
		})
	})
}
