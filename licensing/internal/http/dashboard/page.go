package dashboard

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

//go:embed templates
var templateFiles embed.FS

//go:embed static
var static embed.FS

var assets = web.NewAssets(static, "static")

// templates has the pages by name, each with the layout and the parts. A page is
// parsed when it is first shown: all pages take 10 MB, and a host may show none.
var templates = pageTemplates()

func pageTemplates() map[string]func() *template.Template {
	base := sync.OnceValue(func() *template.Template {
		return template.Must(template.New("layout.html").Funcs(template.FuncMap{
			"inc":       func(i int) int { return i + 1 },
			"breakable": breakable,
			"path":      url.PathEscape,
			"number":    thousands,
			"count":     count,
			"keyEnd":    keyEndOf,
			"sentence":  sentence,
			"seconds":   func(n int64) string { return sentenceCase(describeSeconds(n)) },
			"access":    describeScopes,
			"products":  describeProducts,
			"asset":     func(name string) string { return "static/" + assets.Names[name] },
		}).ParseFS(templateFiles, "templates/shared/*.html"))
	})
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err)
	}
	pages := map[string]func() *template.Template{}
	for _, f := range files {
		if name, isPage := strings.CutSuffix(f.Name(), ".html"); isPage {
			pages[name] = sync.OnceValue(func() *template.Template {
				return template.Must(template.Must(base().Clone()).ParseFS(templateFiles, "templates/"+f.Name()))
			})
		}
	}
	return pages
}

// A page has the data for the layout. Body has the data for the page itself.
type page struct {
	Title      string
	Heading    string // of a record; empty: the title
	Up         place  // the page above that of a record; empty: the list of the section
	Section    string // the current entry of the navigation
	Invalid    bool   // a form has errors
	Notice     string // the result of the last change
	Standalone bool   // the page has no navigation
	Root       string
	Place      bool   // the page can be returned to: it is not a form, an error or a result
	Here       string // this page, for the redirect after a change of theme
	Theme      string
	Operator   operator.Operator
	Admin      bool   // the operator may make all changes
	Supports   bool   // the operator may renew, reinstate and release
	Audits     bool   // the operator may view the API credentials
	SeesKeys   bool   // the operator may see license keys
	Home       string // the URL of the host application; empty: no link
	SignOut    string // where the host application signs operators out; empty: no link
	SignIn     bool   // the built-in sign-in is enabled
	Office     bool   // the program has a page at dashboard/office
	Base       string // the mount as a relative reference, if PublicURL is not set
	Body       any

	v *visit
}

// When formats a time, or a pointer to one, for the page; nil: there is none.
func (p page) When(t any) *moment { return p.v.momentOf(t) }

// PurchaseName returns what names a purchase on a page: its reference, unless that is one that
// the service gave to a trial.
func (p page) PurchaseName(reference string) string {
	if inner.Of(p.v.licenses).Purchases().TrialOf(reference) != "" {
		return "trial"
	}
	return reference
}

// A part is what a template shows of a page. A table of licenses of the kind "pick" has
// checkboxes, and one of the kind "customer" is about one customer.
type part struct {
	page
	Of   any
	Kind string
}

// Part returns a part of the page.
func (p page) Part(of any, kind string) part { return part{p, of, kind} }

// render writes a page. It executes the template before it writes, so that the
// response is complete or an error.
func (v *visit) render(status int, name string, p page) error {
	p.v, p.Root, p.Here, p.Theme = v, v.root, v.here(), v.theme()
	if p.Up.Path == "" {
		p.Up = lists[p.Section]
	}
	_, isForm := p.Body.(*formPage)
	p.Place = v.isRead() && status == http.StatusOK && !isForm
	p.Operator, p.Admin = v.op, v.admin()
	p.Supports, p.Audits, p.SeesKeys = v.may(supporters), v.may(auditors), v.may(keyReaders)
	p.Home, p.SignOut, p.SignIn = v.h.opts.HomeURL, v.h.opts.SignOutURL, v.h.opts.Operator == nil
	p.Office = v.h.opts.Office()
	p.Invalid = p.Invalid || status == http.StatusUnprocessableEntity
	p.Notice = v.notice()
	if v.r.Method == http.MethodPost {
		p.Here = ""
	}
	if v.h.opts.PublicURL == "" {
		p.Base = v.root + "../"
	}
	var b bytes.Buffer
	if err := templates[name]().Execute(&b, p); err != nil {
		return err
	}
	text := bidi.Page(b.Bytes())
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text) // fails if the browser has disconnected
	return nil
}

// The titles of the pages for errors. A code goes before a status.
var (
	codeTitles = map[api.Code]string{
		"deleted": "Deleted", "invalid_query": "Invalid address", "none_selected": "No license selected", "too_many_selected": "Too many licenses selected",
	}
	statusTitles = map[int]string{
		http.StatusNotFound:            "Not found",
		http.StatusForbidden:           "Not allowed",
		http.StatusConflict:            "Not possible",
		http.StatusPreconditionFailed:  "Changed in the meantime",
		http.StatusUnprocessableEntity: "Invalid request",
		http.StatusServiceUnavailable:  "Temporarily unavailable",
		http.StatusInternalServerError: "Something went wrong",
	}
)

// renderError writes the page for an error.
func (v *visit) renderError(p *web.Problem) {
	title := cmp.Or(codeTitles[p.Code], statusTitles[p.Status], http.StatusText(p.Status))
	if err := v.render(p.Status, "error", page{Title: title, Standalone: !v.signedIn, Body: struct {
		*web.Problem
		RequestID string
		ID        string // of the object that the page is about
		IsLicense bool
	}{p, v.id, v.r.PathValue("id"), strings.HasPrefix(v.path, "licenses/")}}); err != nil {
		http.Error(v.w, p.Detail, p.Status)
	}
}

// themeCookie stores the theme. Like the session cookie, it has no Path, so that
// browsers limit it to the folder of the dashboard.
const themeCookie = "licensing_theme"

// theme returns "light", "dark", or "" for the theme of the system.
func (v *visit) theme() string {
	c, err := v.r.Cookie(themeCookie)
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}

// chooseTheme stores the theme for a year and redirects to the page where it was
// chosen.
func chooseTheme(v *visit) error {
	c := &http.Cookie{Name: themeCookie, Value: v.sent("theme"), MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(v.w, c)
	return v.redirect(local(v.sent("return")))
}
