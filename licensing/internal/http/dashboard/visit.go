package dashboard

import (
	"context"
	"crypto/rand"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// A visit has the state of one request.
type visit struct {
	h  *Handler
	w  http.ResponseWriter
	r  *http.Request
	id string // the request id

	path  string // below dashboard/, escaped
	root  string // the relative reference to dashboard/: "./", "../"
	route *route // nil before serve

	plans map[string]string // names by ID, as far as they were read; see planName

	op        operator.Operator
	signedIn  bool // op is set
	auth      *auth.Auth
	operators *operator.Service
	licenses  *license.Service
	webhooks  *webhook.Service
	files     *files.Service
}

// actor returns the actor of events, or "" without a sign-in.
func (v *visit) actor() string {
	if !v.signedIn {
		return ""
	}
	return "operator:" + v.op.ID
}

// once runs fn in one Update and stores the reference to what it created, unless
// the operator has already submitted the form: then it returns the stored
// reference. fn may run again, and makes its changes through tx. See
// [license.Service.Once].
func (v *visit) once(f *form, fn func(tx *visit) (ref string, err error)) (ref string, repeated bool, err error) {
	defer v.flush()
	reply, repeated, err := v.licenses.Once(v.r.Context(), f.mark(), "", func(rules *license.Service) ([]byte, error) {
		ref, err := fn(v.in(rules))
		return []byte(ref), err
	})
	return string(reply), repeated, err
}

// atomically runs fn in one Update. fn may run again, and makes its changes
// through tx.
func (v *visit) atomically(fn func(tx *visit) error) error {
	defer v.flush()
	return v.licenses.Atomically(v.r.Context(), func(rules *license.Service) error { return fn(v.in(rules)) })
}

// in returns the visit with its services in the Update of rules.
func (v *visit) in(rules *license.Service) *visit {
	tx, st := *v, inner.Of(rules).Call().Joined()
	tx.licenses, tx.webhooks = rules, v.webhooks.In(rules)
	tx.auth, tx.files = inner.Of(v.auth).In(st), inner.Of(v.files).In(st)
	return &tx
}

// flush drops what this process caches about what an Update has changed.
func (v *visit) flush() {
	inner.Of(v.auth).Flush()
	inner.Of(v.files).Flush()
}

// mark returns the mark that the form was submitted with.
func (f *form) mark() string {
	if len(f.Once) != markLength {
		return newMark()
	}
	return f.Once
}

// newMark returns a random mark for a form or a notice.
func newMark() string { return rand.Text() }

const markLength = 26

type visitKey struct{}

// visit returns the visit of a request. The context of the request has the
// visit, so that fail can find it.
func (h *Handler) visit(w http.ResponseWriter, r *http.Request) *visit {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		return v
	}
	v := &visit{h: h, w: w, id: web.RequestID(r.Context()), plans: map[string]string{}}
	v.r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	whole := r.URL.EscapedPath()
	if path, ok := strings.CutPrefix(whole, "/dashboard/"); ok {
		v.path, v.root = path, strings.Repeat("../", strings.Count(path, "/"))
		if v.root == "" {
			v.root = "./"
		}
	} else {
		v.root = strings.Repeat("../", max(strings.Count(whole, "/")-1, 0)) + "dashboard/"
	}
	return v
}

// fail writes the page for a problem.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, p *web.Problem) {
	web.SetHeaders(w.Header(), pageHeader)
	if web.PathTooLong(r.URL.EscapedPath()) {
		// Without links: each relative link would be as long as the path.
		http.Error(w, p.Detail, p.Status)
		return
	}
	h.visit(w, r).renderError(p)
}

// admin reports whether the operator has the admin role.
func (v *visit) admin() bool { return v.may(admins) }

// here returns the page with its query, as a reference from dashboard/.
func (v *visit) here() string {
	if v.r.URL.RawQuery == "" {
		return v.path
	}
	return v.path + "?" + v.r.URL.RawQuery
}

// address returns the address of the mount for examples and links to copy, or "" if it is unknown.
func (v *visit) address() string { return strings.TrimSuffix(v.h.opts.PublicURL, "/") }

// redirect redirects to a page, given as a reference from dashboard/.
func (v *visit) redirect(to string) error { return redirectTo(v.w, v.root+to) }

// isRead reports whether the request is a GET or HEAD.
func (v *visit) isRead() bool { return v.r.Method == http.MethodGet || v.r.Method == http.MethodHead }

// redirectTo responds with 303, which ends a handler without an error. The reference stays
// relative: http.Redirect would make it absolute and lose the mount.
func redirectTo(w http.ResponseWriter, reference string) error {
	w.Header().Set("Location", reference)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// local returns the reference if it is a relative reference to a page below
// dashboard/, or "" otherwise.
func local(reference string) string {
	u, err := url.Parse(reference)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		!fs.ValidPath(u.Path) || u.Path == "." || strings.ContainsFunc(reference, notInReference) {
		return ""
	}
	return reference
}

// notInReference reports whether c cannot occur in a reference from a browser.
// These are the characters that RFC 3986 excludes. Browsers treat a backslash as
// a slash.
func notInReference(c rune) bool {
	return c <= ' ' || c > '~' || strings.ContainsRune(`"<>\^`+"`{|}", c)
}

// readForm reads the submitted form. The query is not part of it.
func (v *visit) readForm(upload bool) error {
	want, size := "application/x-www-form-urlencoded", int64(maxForm)
	parse := func() error { return v.r.ParseForm() }
	if upload {
		want, size = "multipart/form-data", maxImport
		parse = func() error { return v.r.ParseMultipartForm(maxImport) } // all of it in memory
	}
	if t, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type")); err != nil || t != want {
		return web.NewProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "This page accepts only form data.")
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, size)
	if err := parse(); err != nil {
		return web.BodyError("form", err)
	}
	if !input.Storable(v.r.PostForm) {
		return web.NewProblem(http.StatusBadRequest, "invalid_form", "The form contains a NUL character or text that is not valid UTF-8. Remove it and submit the form again.")
	}
	return nil
}

// sent returns a value of the submitted form, with CRLF replaced by LF.
func (v *visit) sent(name string) string {
	return strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n")
}
