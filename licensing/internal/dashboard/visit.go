package dashboard

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A visit is one request and its answer.
type visit struct {
	h  *Handler
	w  http.ResponseWriter
	r  *http.Request
	id string // of the request

	path   string // below dashboard/, still escaped
	root   string // the relative reference to dashboard/: "./", "../"
	params map[string]string

	op        operator.Operator
	known     bool // op is somebody
	auth      *auth.Auth
	operators *operator.Service
	licenses  *license.Service
}

// actor is the visitor as events name them; empty: unknown.
func (v *visit) actor() string {
	if !v.known {
		return ""
	}
	return "operator:" + v.op.ID
}

// once runs fn unless the visitor has submitted the form with that mark before;
// see [forms.Forms.Once].
func (v *visit) once(ctx context.Context, mark string, fn func() (string, error)) (ref string, repeated bool, err error) {
	return v.h.opts.Forms.Once(ctx, v.actor(), mark, fn)
}

type visitKey struct{}

// visit returns the visit of a request. It is in the context of its r, for
// fail.
func (h *Handler) visit(w http.ResponseWriter, r *http.Request) *visit {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		return v
	}
	v := &visit{h: h, w: w, id: web.RequestID(r.Context()), params: web.Params(r)}
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

// fail answers with a page that says what went wrong.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, p *web.Problem) {
	if web.PathTooLong(r.URL.EscapedPath()) {
		// Without links: each would climb the whole path.
		http.Error(w, p.Detail, p.Status)
		return
	}
	h.visit(w, r).renderError(p)
}

// admin reports whether the visitor may change things.
func (v *visit) admin() bool { return v.known && v.op.Role == operator.RoleAdmin && !v.op.Disabled }

// here is the visited page as a reference from dashboard/, with its query.
func (v *visit) here() string {
	if v.r.URL.RawQuery == "" {
		return v.path
	}
	return v.path + "?" + v.r.URL.RawQuery
}

// redirect answers 303 to a page, given as a reference from dashboard/.
func (v *visit) redirect(to string) { redirectTo(v.w, v.root+to) }

// reads reports whether the visit only asks to see a page.
func (v *visit) reads() bool { return v.r.Method == http.MethodGet || v.r.Method == http.MethodHead }

// redirectTo answers 303. The reference stays relative: http.Redirect would
// make a path of it, and lose the mount.
func redirectTo(w http.ResponseWriter, reference string) {
	w.Header().Set("Location", reference)
	w.WriteHeader(http.StatusSeeOther)
}

// local returns a reference from dashboard/ that a request has named, or ""
// if it is none: it must not lead out of the pages.
func local(reference string) string {
	u, err := url.Parse(reference)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		strings.HasPrefix(reference, "/") || strings.ContainsFunc(reference, notInReference) {
		return ""
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return ""
		}
	}
	return reference
}

// notInReference reports whether c never stands in a reference as browsers
// write it. (RFC 3986 has it so as well, but for the backslash, which they
// take for a slash.)
func notInReference(c rune) bool {
	return c <= ' ' || c > '~' || strings.ContainsRune(`"<>\^`+"`{|}", c)
}

// readForm reads the form that was sent. What is in the query is no part of it.
func (v *visit) readForm() error {
	if t, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return &web.Problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Detail: "This page reads forms only."}
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return &web.Problem{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Detail: "The form is larger than this page reads.", Cause: err}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return &web.Problem{Status: http.StatusRequestTimeout, Code: "request_timeout", Detail: "The form did not arrive in time.", Cause: err,
				Header: http.Header{"Connection": {"close"}}}
		}
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_form", Detail: "The form did not arrive whole.", Cause: err}
	}
	if !input.Storable(v.r.PostForm) {
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_form", Detail: "The form has a NUL character or text that is not UTF-8. Remove it and send the form again."}
	}
	return nil
}

// sent returns a value of the form, with the line ends of text areas as they
// are everywhere else.
func (v *visit) sent(name string) string {
	return strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n")
}
