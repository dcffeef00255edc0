package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// axeVersion is the version of axe-core.
const axeVersion = "4.14.1"

// installAxe returns the source of axe-core: from the file that E2E_AXE names, or
// from npm, once for all tests. Without npm there is none.
var installAxe = sync.OnceValues(func() (source string, err error) {
	file := os.Getenv("E2E_AXE")
	if file == "" {
		npm, err := exec.LookPath("npm")
		if err != nil {
			return "", nil
		}
		dir, err := os.MkdirTemp("", "axe")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		cmd := exec.Command(npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@"+axeVersion)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm install axe-core: %w: %s", err, out)
		}
		file = filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	}
	b, err := os.ReadFile(file)
	return string(b), err
})

// axe returns the source of axe-core, or "" without npm. Then it has a skipped test,
// so that the other checks run but the run is not a complete one.
func axe(t *testing.T) string {
	t.Helper()
	source, err := installAxe()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("axe-core", func(t *testing.T) {
		if source == "" {
			t.Skip("npm is not installed and E2E_AXE is not set")
		}
	})
	return source
}

// A violation is a finding of axe-core.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// violations runs axe-core on the current page. If it was run on the page before, and
// only the theme and the width are others, the rules on these are enough.
func (b *browser) violations(source string, again bool) []violation {
	b.t.Helper()
	options := `rules: {"target-size": {enabled: true}}`
	if again {
		options = `runOnly: ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]`
	}
	run := `axe.run(document, {resultTypes: ["violations"], ` + options + `}).then(r => JSON.stringify(r.violations))`
	ctx, cancel := b.step()
	defer cancel()
	loaded, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`"axe" in window`))
	b.do("look for axe-core", err)
	if !loaded {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[json.RawMessage](source+";null"))
		b.do("load axe-core", err)
	}
	out, err := chromedp.Run(ctx, chromedp.Evaluate[string](run, chromedp.EvalAwaitPromise))
	b.do("run axe-core", err)
	var list []violation
	is.New(b.t).NoErr(json.Unmarshal([]byte(out), &list))
	return list
}

// scheme sets the preferred color scheme to light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: name},
			{Name: "prefers-reduced-motion", Value: "reduce"}, // so that no transition is running
		},
	})
	b.do("prefer "+name, err)
}

// A view is a page in one state.
type view struct {
	name string
	open func(*browser)
}

// TestEveryPage opens every page in its states, in each theme and at each width. It runs
// axe-core, checks that the page does not scroll horizontally, and takes screenshots if
// E2E_SCREENSHOTS names a directory.
func TestEveryPage(t *testing.T) {
	inspect := newInspection(t)

	empty := newHost(t)
	t.Run("set up", func(t *testing.T) {
		inspect.views(t, empty, nil, []view{
			{"setup", func(b *browser) { b.open("setup") }},
			{"setup-errors", func(b *browser) {
				b.open("setup")
				b.fill("Setup code", "not the code")
				b.press("Create admin account")
			}},
		})
	})
	empty.admin(t)
	t.Run("empty", func(t *testing.T) {
		inspect.views(t, empty, empty.cookie(t, adminEmail, adminPassword), []view{
			{"licenses-empty", func(b *browser) { b.open("licenses") }},
			{"credentials-empty", func(b *browser) { b.open("settings/credentials") }},
		})
	})

	full := newHost(t)
	op := full.admin(t)
	licenseID, clientID := full.seed(t)
	long, err := full.Service().List(t.Context(), api.ListLicensesParams{Search: "royal observatory"})
	is.New(t).NoErr(err)
	suspended, err := full.Service().List(t.Context(), api.ListLicensesParams{Status: api.LicenseSuspended})
	is.New(t).NoErr(err)
	client, err := full.Auth().GetClient(t.Context(), clientID)
	is.New(t).NoErr(err)
	t.Run("signed out", func(t *testing.T) {
		inspect.views(t, full, nil, []view{
			{"sign-in", func(b *browser) { b.open("licenses") }},
			{"join", func(b *browser) { b.open("join") }},
			{"sign-in-errors", func(b *browser) {
				b.open("sign-in")
				b.signIn("eve@example.com", "not it")
			}},
		})
	})
	t.Run("admin", func(t *testing.T) {
		inspect.views(t, full, full.cookie(t, adminEmail, adminPassword), []view{
			{"licenses", func(b *browser) { b.open("licenses") }},
			{"licenses-none", func(b *browser) { b.open("licenses?q=unheard+of&status=active") }},
			{"licenses-wrong", func(b *browser) { b.open("licenses?status=sleeping") }},
			{"license", func(b *browser) {
				b.open("licenses/" + licenseID + "/edit")
				b.press("Save changes")
			}},
			{"license-menu", func(b *browser) {
				b.open("licenses/" + licenseID)
				b.unfold("More")
			}},
			{"license-dialog", func(b *browser) {
				b.open("licenses/" + licenseID)
				b.openMenu(true, "Revoke")
			}},
			{"license-long", func(b *browser) { b.open("licenses/" + long.Data[0].ID) }},
			{"license-new", func(b *browser) { b.open("licenses/new") }},
			{"license-new-errors", func(b *browser) {
				b.open("licenses/new")
				b.unfold("More")
				b.fill("Grace period", "a while")
				b.fillNamed("Entitlement 1, value", "nothing")
				b.press("Create license")
			}},
			{"license-edit", func(b *browser) { b.open("licenses/" + licenseID + "/edit") }},
			{"license-suspended", func(b *browser) { b.open("licenses/" + suspended.Data[0].ID) }},
			{"license-refused", func(b *browser) {
				b.open("licenses/" + suspended.Data[0].ID)
				b.press("All refusals")
				b.see("Last 3 requests")
			}},
			{"license-suspend", func(b *browser) { b.open("licenses/" + licenseID + "/suspend") }},
			{"license-move-forbidden", func(b *browser) { b.open("licenses/" + licenseID + "/reinstate") }},
			{"license-delete", func(b *browser) { b.open("licenses/" + long.Data[0].ID + "/delete") }},
			{"license-delete-errors", func(b *browser) {
				b.open("licenses/" + licenseID + "/delete")
				b.fill("Last group of the license key", "other")
				b.press("Delete license")
			}},
			{"credentials", func(b *browser) { b.open("settings/credentials") }},
			{"credential", func(b *browser) { b.open("settings/credentials/" + clientID) }},
			{"credential-go", func(b *browser) {
				b.open("settings/credentials/" + clientID)
				b.keys(".langs input:checked", kb.ArrowRight)
			}},
			{"credential-new", func(b *browser) { b.open("settings/credentials/new") }},
			{"credential-new-errors", func(b *browser) {
				b.open("settings/credentials/new")
				b.choose(auth.ScopeLicenseRead)
				b.choose(auth.ScopeLicenseWrite)
				b.press("Create API client")
			}},
			{"credential-secret", func(b *browser) {
				b.open("settings/credentials/new")
				b.fill("Name", "Partner portal")
				b.press("Create API client")
			}},
			{"credential-edit", func(b *browser) { b.open("settings/credentials/" + clientID + "/edit") }},
			{"credential-rotate", func(b *browser) { b.open("settings/credentials/" + clientID + "/rotate") }},
			{"credential-disable", func(b *browser) { b.open("settings/credentials/" + clientID + "/disable") }},
			{"secret-revoke", func(b *browser) {
				b.open("settings/credentials/" + clientID + "/secrets/" + client.Secrets[0].ID + "/revoke")
			}},
			{"operators", func(b *browser) { b.open("settings/operators") }},
			{"operator-invite", func(b *browser) { b.open("settings/operators/new") }},
			{"operator-invited", func(b *browser) {
				b.open("settings/operators/new")
				b.fill("Email", "ines@example.com")
				b.press("Create invitation")
			}},
			{"operator", func(b *browser) { b.open("settings/operators/" + op.ID) }},
			{"account", func(b *browser) { b.open("password") }},
			{"account-errors", func(b *browser) {
				b.open("password")
				b.fill("Current password", adminPassword)
				b.fill("New password", "short")
				b.press("Change password")
			}},
			{"not-found", func(b *browser) { b.open("licenses/lic_nowhere") }},
		})
	})
	_, err = full.Operators().Create(t.Context(), operator.CreateParams{Email: "vic@example.com", Password: adminPassword, Role: operator.RoleViewer})
	is.New(t).NoErr(err)
	t.Run("viewer", func(t *testing.T) {
		inspect.views(t, full, full.cookie(t, "vic@example.com", adminPassword), []view{
			{"viewer-license", func(b *browser) { b.open("licenses/" + licenseID) }},
			{"viewer-forbidden", func(b *browser) { b.open("licenses/new") }},
		})
	})
}

// TestLongWords checks pages with names and IDs of one long word, of which no part may be
// wider than a phone.
func TestLongWords(t *testing.T) {
	is := is.New(t)
	inspect := newInspection(t)
	h := newHost(t)
	h.admin(t)
	word := strings.Repeat("w", 200)
	_, err := h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "plan_" + word, Name: word, ProductID: word, Duration: api.Duration{Days: 9}})
	is.NoErr(err)
	bought, err := h.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:" + word, CustomerID: "cus_" + word, Name: word, PlanID: "plan_" + word, State: api.PurchaseActive})
	is.NoErr(err)
	_, err = h.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:2" + word, CustomerID: "cus_" + word, PlanID: "price_" + word, State: api.PurchaseActive})
	is.NoErr(err)
	var views []view
	for name, path := range map[string]string{
		"overview": "?period=week", "license": "licenses/" + bought.LicenseID, "customer": "customer?id=cus_" + word, "customers": "customers",
		"plans": "plans", "plan": "plan/plan_" + word, "purchases": "purchases", "search": "search?q=" + word[:9], "audit": "audit",
	} {
		views = append(views, view{"word-" + name, func(b *browser) { b.open(path) }})
	}
	inspect.views(t, h, h.cookie(t, adminEmail, adminPassword), views)
}

// An inspection checks views.
type inspection struct {
	dir    string // for screenshots; empty: none are taken, because nothing checks them
	source string // of axe-core; empty: it is not available
}

func newInspection(t *testing.T) inspection {
	t.Helper()
	dir := os.Getenv("E2E_SCREENSHOTS")
	if dir != "" {
		is.New(t).NoErr(os.MkdirAll(dir, 0o755))
	}
	return inspection{dir, axe(t)}
}

// looks inspects the current page in both themes on a phone, in the light one on a desktop and
// in the dark one on a tablet, and checks that it does not scroll horizontally on a narrow
// phone.
func (i inspection) looks(b *browser, name string) {
	b.t.Helper()
	is := is.New(b.t)
	for n, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for m, width := range []int64{[]int64{1440, 1024}[n], 390} {
			is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
			i.page(b, fmt.Sprintf("%s-%s-%d", name, scheme, width), n+m > 0)
		}
	}
	is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(320, 900)))
	require.AtMost(b.t, eval[int](b, `document.documentElement.scrollWidth - innerWidth`), 0)
}

// page runs axe-core on the current page, and takes a screenshot if there is a directory
// for it.
func (i inspection) page(b *browser, name string, again bool) {
	b.t.Helper()
	if i.source != "" {
		for _, x := range b.violations(i.source, again) {
			for _, n := range x.Nodes {
				b.t.Errorf("%s: %s (%s)\n%s\n%s", name, x.ID, x.Help, n.HTML, n.Summary)
			}
		}
	}
	if i.dir != "" {
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		is.New(b.t).NoErr(err)
		is.New(b.t).NoErr(os.WriteFile(filepath.Join(i.dir, name+".png"), picture, 0o644))
	}
}

// views runs axe-core on every view, and takes screenshots if there is a directory
// for them.
func (i inspection) views(t *testing.T, h *host, session *http.Cookie, views []view) {
	b := newBrowser(t, h, true)
	if session != nil {
		b.use(session)
	}
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			is := is.New(t)
			b.t = t
			b.scheme("light")
			is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(1440, 900)))
			v.open(b)
			i.looks(b, v.name)
		})
	}
	b.t = t
	is.New(t).Equal(len(b.policyErrors()), 0) // no policy violation, no exception
	for _, m := range b.policyErrors() {
		t.Log(m)
	}
}
