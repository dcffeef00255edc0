package kit

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// A Visit has the state of one request.
type Visit struct {
	Opts *Options
	W    http.ResponseWriter
	R    *http.Request
	Id   string // the request id

	Path  string // below dashboard/, escaped
	Root  string // the relative reference to dashboard/: "./", "../"
	Route *Route // nil before serve

	Plans map[string]string // names by ID, as far as they were read; see PlanName

	Op        operator.Operator
	SignedIn  bool // op is set
	Auth      *auth.Auth
	Operators *operator.Service
	Licenses  *license.Service
	Webhooks  *webhook.Service
	Files     *files.Service
}

// Actor returns the actor of events, or "" without a sign-in.
func (v *Visit) Actor() string {
	if !v.SignedIn {
		return ""
	}
	return "operator:" + v.Op.ID
}

// PlanName returns the name of a plan, or "" if there is no such plan.
func (v *Visit) PlanName(id string) (string, error) {
	name, read := v.Plans[id]
	if id == "" || read {
		return name, nil
	}
	t, err := selling.New(v.Licenses).GetPlan(v.R.Context(), id)
	if err = UnlessGone(err); err == nil {
		v.Plans[id] = t.Name
	}
	return t.Name, err
}

// Atomically runs fn in one Update. fn may run again, and makes its changes
// through tx.
func (v *Visit) Atomically(fn func(tx *Visit) error) error {
	defer v.Flush()
	return v.Licenses.Atomically(v.R.Context(), func(rules *license.Service) error { return fn(v.In(rules)) })
}

// In returns the visit with its services in the Update of rules.
func (v *Visit) In(rules *license.Service) *Visit {
	tx, st := *v, inner.Of(rules).Call().Joined()
	tx.Licenses, tx.Webhooks = rules, v.Webhooks.In(rules)
	tx.Auth, tx.Files = inner.Of(v.Auth).In(st), inner.Of(v.Files).In(st)
	return &tx
}

// Flush drops what this process caches about what an Update has changed.
func (v *Visit) Flush() {
	inner.Of(v.Auth).Flush()
	inner.Of(v.Files).Flush()
}

// NewMark returns a random mark for a form or a notice.
func NewMark() string { return rand.Text() }

const MarkLength = 26

type visitKey struct{}

// VisitOf returns the visit of a request. The context of the request has the
// visit, so that fail can find it.
func VisitOf(opts *Options, w http.ResponseWriter, r *http.Request) *Visit {
	if v, ok := r.Context().Value(visitKey{}).(*Visit); ok {
		return v
	}
	v := &Visit{Opts: opts, W: w, Id: web.RequestID(r.Context()), Plans: map[string]string{}}
	v.R = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	whole := r.URL.EscapedPath()
	if path, ok := strings.CutPrefix(whole, "/dashboard/"); ok {
		v.Path, v.Root = path, strings.Repeat("../", strings.Count(path, "/"))
		if v.Root == "" {
			v.Root = "./"
		}
	} else {
		v.Root = strings.Repeat("../", max(strings.Count(whole, "/")-1, 0)) + "dashboard/"
	}
	return v
}

// Admin reports whether the operator has the admin role.
func (v *Visit) Admin() bool { return v.May(Admins) }

// Here returns the page with its query, as a reference from dashboard/.
func (v *Visit) Here() string {
	if v.R.URL.RawQuery == "" {
		return v.Path
	}
	return v.Path + "?" + v.R.URL.RawQuery
}

// Email returns the email address of the customer of a license, or "".
func (v *Visit) Email(l api.License) string {
	return l.Metadata[inner.Of(v.Licenses).Call().Opts.EmailKey]
}

// Address returns the address of the mount for examples and links to copy, or "" if it is unknown.
func (v *Visit) Address() string { return strings.TrimSuffix(v.Opts.PublicURL, "/") }

// Redirect redirects to a page, given as a reference from dashboard/.
func (v *Visit) Redirect(to string) error { return RedirectTo(v.W, v.Root+to) }

// IsRead reports whether the request is a GET or HEAD.
func (v *Visit) IsRead() bool { return v.R.Method == http.MethodGet || v.R.Method == http.MethodHead }

// RedirectTo responds with 303, which ends a handler without an error. The reference stays
// relative: http.Redirect would make it absolute and lose the mount.
func RedirectTo(w http.ResponseWriter, reference string) error {
	w.Header().Set("Location", reference)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// Local returns the reference if it is a relative reference to a page below
// dashboard/, or "" otherwise.
func Local(reference string) string {
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

// ReadForm reads the submitted form. The query is not part of it.
func (v *Visit) ReadForm(upload bool) error {
	want, size := "application/x-www-form-urlencoded", int64(maxForm)
	parse := func() error { return v.R.ParseForm() }
	if upload {
		want, size = "multipart/form-data", maxImport
		parse = func() error { return v.R.ParseMultipartForm(maxImport) } // all of it in memory
	}
	if t, _, err := mime.ParseMediaType(v.R.Header.Get("Content-Type")); err != nil || t != want {
		return web.NewProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "This page accepts only form data.")
	}
	v.R.Body = http.MaxBytesReader(v.W, v.R.Body, size)
	if v.Route.Access == Public { // a stranger must not make the process parse much
		v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxPublicForm)
		text, err := io.ReadAll(v.R.Body)
		if err != nil {
			return web.BodyError("form", err)
		}
		if bytes.Count(text, []byte("&")) >= maxPublicFields {
			return web.NewProblem(http.StatusBadRequest, "invalid_form", "The form has more fields than this page. Open the page again and submit it.")
		}
		v.R.Body = io.NopCloser(bytes.NewReader(text))
	}
	if err := parse(); err != nil {
		return web.BodyError("form", err)
	}
	if !input.Storable(v.R.PostForm) {
		return web.NewProblem(http.StatusBadRequest, "invalid_form", "The form contains a NUL character or text that is not valid UTF-8. Remove it and submit the form again.")
	}
	return nil
}

// Sent returns a value of the submitted form, with CRLF replaced by LF.
func (v *Visit) Sent(name string) string {
	return strings.ReplaceAll(v.R.PostForm.Get(name), "\r\n", "\n")
}

// StorageFull logs a change that failed because the storage is full, and returns what its form
// says then; "": it did not.
func (v *Visit) StorageFull(err error) string {
	if err == nil {
		return ""
	}
	p := web.ProblemOf(err)
	if p.Code != api.CodeStorageFull {
		return ""
	}
	v.Opts.Logger.LogAttrs(v.R.Context(), slog.LevelError, "licensing: request failed", slog.String("request_id", v.Id), slog.Any("error", err))
	return p.Detail
}
