package portal

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

//go:embed templates
var templateFiles embed.FS

// templates are parsed when a page is first shown.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(templateFiles, "templates/*.html"))
})

// pageHeader has the response headers of a page without the layout of the host.
var pageHeader = http.Header{
	"Content-Security-Policy": {"default-src 'none'; script-src 'self'; style-src 'self'; form-action 'self'; " +
		"frame-ancestors 'none'; base-uri 'none'"},
	// With no-referrer, browsers would send "Origin: null" with the forms.
	"Referrer-Policy": {"same-origin"},
}

// root returns the relative reference from the page of a request to the list.
func (v *visit) root() string { return rootOf(v.r) }

func rootOf(r *http.Request) string {
	return "./" + strings.Repeat("../", max(0, strings.Count(r.URL.Path, "/")-1))
}

// A view has what the templates show.
type view struct {
	Text       map[string]string
	Title      string
	Root       string // the relative reference to the list
	CSS, JS    string // the names of the assets
	Claims     bool   // a license can be claimed with its key
	Body       any    // of the page itself
	Standalone template.HTML
	SignOut    string // URL; empty: none
}

// render writes a page in the layout of the host, or in a plain one.
func (v *visit) render(status int, name, title string, body any) error {
	return v.h.render(v.w, v.r, status, name, title, body)
}

func (h *Handler) render(w http.ResponseWriter, r *http.Request, status int, name, title string, body any) error {
	data := view{Text: h.opts.Texts, Title: title, Root: rootOf(r), CSS: assets.Names["portal.css"], JS: assets.Names["portal.js"], Claims: h.claims(), Body: body}
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	if h.opts.Page != nil {
		for name := range pageHeader {
			w.Header().Del(name)
		}
		h.opts.Page(&hostWriter{ResponseWriter: w, status: status}, r, bidi.Visible(title), template.HTML(bidi.Page(b.Bytes())))
		return nil
	}
	data.Standalone, data.SignOut = template.HTML(b.String()), h.opts.SignOut
	b.Reset()
	if err := templates().ExecuteTemplate(&b, "layout", data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	text := bidi.Page(b.Bytes())
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // fails if the browser has disconnected
	return nil
}

// A hostWriter sends the status of a page when the host writes it.
type hostWriter struct {
	http.ResponseWriter
	status int // of the page; 0: sent
}

func (w *hostWriter) WriteHeader(status int) {
	if status == http.StatusOK && w.status != 0 {
		status = w.status
	}
	w.status = 0
	w.ResponseWriter.WriteHeader(status)
}

func (w *hostWriter) Write(p []byte) (int, error) {
	if w.status != 0 {
		w.WriteHeader(w.status)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (w *hostWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// fail writes the page for an error. It says no more than its status.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, p *web.Problem) {
	text := map[int]string{
		http.StatusNotFound: "NotFound", http.StatusMethodNotAllowed: "NotFound", http.StatusForbidden: "NotAllowed",
		http.StatusServiceUnavailable: "Unavailable", http.StatusTooManyRequests: "Unavailable",
	}[p.Status]
	if text == "" {
		text = "Failed"
	}
	if err := h.render(w, r, p.Status, "error", h.opts.Texts["Title"], h.opts.Texts[text]); err != nil {
		http.Error(w, h.opts.Texts[text], p.Status)
	}
}
