package kit

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// Options configure a Handler. Licenses, Webhooks, Files, Backlog, Failing, Auth, Operators, Portal, Office,
// Mailed, Now and Logger are required.
type Options struct {
	Licenses  *license.Service
	Webhooks  *webhook.Service
	Files     *files.Service
	Backlog   func(context.Context) (feed.Backlog, error)
	Failing   func() error // why changes fail; nil: they do not
	Sealed    bool         // webhook secrets are encrypted
	Auth      *auth.Auth
	Operators *operator.Service
	Now       func() time.Time
	Logger    *slog.Logger

	Portal func() bool // the host has customer pages
	Office func() bool // the program has a page for admins at dashboard/office

	About     About  // the content of the About page
	PublicURL string // the public URL of the mount; empty: unknown

	Mailed *rate.Limiter // what each operator mails

	Host
}

// Host has what the host application chooses; see licensing.DashboardOptions.
type Host struct {
	Operator   func(http.ResponseWriter, *http.Request) (operator.Operator, bool)
	Origins    []string
	HomeURL    string
	SignOutURL string
	ConfigFile string

	RequireSecondFactor bool

	Mailer interface {
		MailLink(ctx context.Context, address string) error
		MailChange(ctx context.Context, former, address string) error
	}
	MailsKeys bool
}

// Option names an option and the file in which it is set, if there is one.
func (h Host) Option(name string) string {
	if h.ConfigFile == "" {
		return "Options." + name
	}
	return "Options." + name + " in " + h.ConfigFile
}

// Says returns the first text for a host application, and the second for a program whose
// options are in a file.
func (h Host) Says(host, program string) string {
	if h.ConfigFile == "" {
		return host
	}
	return program
}

// PageHeader has the response headers of every page.
var PageHeader = http.Header{
	"Content-Security-Policy": {"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'"},
	"Cross-Origin-Opener-Policy":   {"same-origin"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	// With no-referrer, browsers would send "Origin: null" with the forms.
	"Referrer-Policy": {"same-origin"},
}

const maxForm = 256 << 10 // the maximum size of a submitted form without a file, in bytes

// The limits of a form of a page that needs no sign-in, whose fields are short.
const (
	maxPublicForm   = 16 << 10 // bytes
	maxPublicFields = 50
)

func NotFound(detail string) error {
	return web.NewProblem(http.StatusNotFound, "not_found", detail)
}

// About has the configuration that the About page shows.
type About struct {
	Store    string // the type of the store
	Settings []Setting
	Warnings []string
}

// A Setting is an option and its value in force: a string, an integer, a
// time.Duration or a bool.
type Setting struct {
	Name  string
	Path  string // in Options; empty: a program cannot set it
	Value any
}

// Text formats the value for the page.
func (s Setting) Text() string {
	switch x := s.Value.(type) {
	case time.Duration:
		if x < time.Second {
			return x.String()
		}
		return describeSeconds(int64(x / time.Second))
	case int:
		return Thousands(int64(x))
	case int64:
		return Thousands(x)
	case bool:
		if x {
			return "Yes"
		}
		return "No"
	}
	return fmt.Sprint(s.Value)
}

const maxImport = 20 << 20 // the maximum size of a form of an import: a file, or its rows compressed and encoded
