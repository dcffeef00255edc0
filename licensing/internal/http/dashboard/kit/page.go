package kit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

//go:embed templates
var TemplateFiles embed.FS

//go:embed static
var static embed.FS

var Assets = web.NewAssets(static, "static")

// Templates has the pages of all rooms by name, each with the layout and the parts. A page is
// parsed when it is first shown: all pages take 10 MB, and a host may show none.
var Templates = map[string]func() *template.Template{}

// baseTemplates has the layout and the parts.
var baseTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("layout.html").Funcs(template.FuncMap{
		"inc":          func(i int) int { return i + 1 },
		"breakable":    Breakable,
		"path":         url.PathEscape,
		"number":       Thousands,
		"count":        Count,
		"sentence":     Sentence,
		"sentencecase": SentenceCase,
		"seconds":      func(n int64) string { return SentenceCase(describeSeconds(n)) },
		"asset":        func(name string) string { return "static/" + Assets.Names[name] },
	}).ParseFS(TemplateFiles, "templates/shared/*.html"))
})

// AddPages adds the pages of a room, whose templates may call functions of their own.
func AddPages(files fs.FS, own template.FuncMap) (names []string) {
	list, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, file := range list {
		name := strings.TrimSuffix(path.Base(file), ".html")
		names = append(names, name)
		Templates[name] = sync.OnceValue(func() *template.Template {
			return template.Must(template.Must(baseTemplates().Clone()).Funcs(own).ParseFS(files, file))
		})
	}
	return names
}

// A Page has the data for the layout. Body has the data for the page itself.
type Page struct {
	Title      string
	Heading    string // of a record; empty: the title
	Up         Place  // the page above that of a record; empty: the list of the section
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
	Mails      bool   // the operator may mail links to the customer pages
	Supports   bool   // the operator may renew, reinstate and release
	Audits     bool   // the operator may view the API clients
	SeesKeys   bool   // the operator may see license keys
	Home       string // the URL of the host application; empty: no link
	SignOut    string // where the host application signs operators out; empty: no link
	SignIn     bool   // the built-in sign-in is enabled
	Office     bool   // the program has a page at dashboard/office
	Base       string // the mount as a relative reference, if PublicURL is not set
	Body       any

	v *Visit
}

// Host returns what the host application chooses.
func (p Page) Host() Host { return p.v.Opts.Host }

// When formats a time, or a pointer to one, for the page; nil: there is none.
func (p Page) When(t any) *Moment { return p.v.MomentOf(t) }

// Ends formats the end of a license, or of its updates, for a page; nil: there is none.
func (p Page) Ends(end *time.Time) *Moment { return p.v.EndOf(end) }

// PurchaseName returns what names a purchase on a page: its reference, unless that is one that
// the service gave to a trial.
func (p Page) PurchaseName(reference string) string {
	if inner.Of(p.v.Licenses).Purchases().TrialOf(reference) != "" {
		return "trial"
	}
	return reference
}

// Product returns the name of a product.
func (p Page) Product(id string) string { return inner.Of(p.v.Licenses).Call().Opts.ProductName(id) }

// PlanName returns the name of a plan, or its ID if it has none or cannot be read.
func (p Page) PlanName(id string) string {
	name, _ := p.v.PlanName(id)
	return cmp.Or(name, id)
}

// Ending returns the class of the end of a license: "late" if it is past, "soon" if it is less
// than a week away, or "".
func (p Page) Ending(at *time.Time) string {
	switch left := at.Sub(p.v.Opts.Now()); {
	case left <= 0:
		return "late"
	case left < 7*24*time.Hour:
		return "soon"
	}
	return ""
}

// A Part is what a template shows of a page. A table of licenses of the kind "pick" has
// checkboxes, and one of the kind "customer" is about one customer.
type Part struct {
	Page
	Of   any
	Kind string
}

// Part returns a part of the page.
func (p Page) Part(of any, kind string) Part { return Part{p, of, kind} }

// packedFrom is the size of the smallest page that is compressed. Another site cannot make a
// browser request a compressed one, and so learns nothing from its size.
const packedFrom = 8 << 10

// Render writes a page. It executes the template before it writes, so that the
// response is complete or an error.
func (v *Visit) Render(status int, name string, p Page) error {
	p.v, p.Root, p.Here, p.Theme = v, v.Root, v.Here(), v.theme()
	if p.Up.Path == "" {
		p.Up = Lists[p.Section]
	}
	_, isForm := p.Body.(interface{ IsForm() })
	p.Place = v.IsRead() && status == http.StatusOK && !isForm
	p.Operator, p.Admin = v.Op, v.Admin()
	p.Mails = v.Opts.Mailer != nil && v.May(Supporters)
	p.Supports, p.Audits, p.SeesKeys = v.May(Supporters), v.May(Auditors), v.May(KeyReaders)
	p.Home, p.SignOut, p.SignIn = v.Opts.HomeURL, v.Opts.SignOutURL, v.Opts.Operator == nil
	p.Office = v.Opts.Office()
	p.Invalid = p.Invalid || status == http.StatusUnprocessableEntity
	p.Notice = v.notice()
	if v.R.Method == http.MethodPost {
		p.Here = ""
	}
	if v.Opts.PublicURL == "" {
		p.Base = v.Root + "../"
	}
	var b bytes.Buffer
	if err := Templates[name]().Execute(&b, p); err != nil {
		return err
	}
	text := bidi.Page(b.Bytes())
	h := v.W.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if site := v.R.Header.Get("Sec-Fetch-Site"); len(text) > packedFrom && (site == "same-origin" || site == "none") && web.AcceptsGzip(v.R) {
		h.Set("Content-Encoding", "gzip")
		text = web.Pack(text, gzip.BestSpeed)
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	v.W.WriteHeader(status)
	_, _ = v.W.Write(text) // fails if the browser has disconnected
	return nil
}

// The titles of the pages for errors. A code goes before a status.
var (
	codeTitles = map[api.Code]string{
		"deleted": "Deleted", "role_forbids": "Ask an admin", "invalid_query": "Invalid address", "none_selected": "No license selected", api.CodeStorageFull: "Storage is full", "too_many_selected": "Too many licenses selected",
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

// RenderError writes the page for an error.
func (v *Visit) RenderError(p *web.Problem) {
	title := cmp.Or(codeTitles[p.Code], statusTitles[p.Status], http.StatusText(p.Status))
	if err := v.Render(p.Status, "error", Page{Title: title, Standalone: !v.SignedIn, Body: struct {
		*web.Problem
		RequestID string
		Address   string // of the mount; empty: unknown
		ID        string // of the object that the page is about
		IsLicense bool
	}{p, v.Id, v.Address(), v.R.PathValue("id"), strings.HasPrefix(v.Path, "licenses/")}}); err != nil {
		http.Error(v.W, p.Detail, p.Status)
	}
}

// themeCookie stores the theme. Like the session cookie, it has no Path, so that
// browsers limit it to the folder of the dashboard.
const themeCookie = "licensing_theme"

// theme returns "light", "dark", or "" for the theme of the system.
func (v *Visit) theme() string {
	c, err := v.R.Cookie(themeCookie)
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}

// ChooseTheme stores the theme for a year and redirects to the page where it was
// chosen.
func ChooseTheme(v *Visit) error {
	c := &http.Cookie{Name: themeCookie, Value: v.Sent("theme"), MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(v.W, c)
	return v.Redirect(Local(v.Sent("return")))
}
