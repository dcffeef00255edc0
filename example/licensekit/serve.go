package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/example/internal/serving"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
)

const (
	mount   = settings.Mount
	account = "/account" // where the customer pages are
)

// serve runs the service until ctx ends. It logs JSON to the standard error.
func serve(ctx context.Context, args []string) (err error) {
	c, err := readConfig(args)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.log}))
	slog.SetDefault(logger)
	db, err := openServed(ctx, c.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	m := newMetrics()
	c.Options.Observe = m.observe
	c.Options.Dashboard.ConfigFile = "the file of " + name + " serve --config"
	if c.file != "" {
		c.Options.Dashboard.ConfigFile = filepath.Base(c.file)
	}
	var h *licensing.Handler
	if c.Mail != nil {
		keys := mail.Keys{Licenses: func() *license.Service { return h.Service() }, Send: c.Mail.Server.Send, Shop: c.Mail.Shop, Texts: c.Mail.Texts}
		if c.accountURL() != "" {
			keys.Pages = c.accountURL() + "/licenses/"
		}
		c.Options.Subscribers, c.Options.Dashboard.MailsKeys = []licensing.Subscriber{keys.Subscriber()}, true
	}
	signIn := c.signIn()
	if signIn != nil {
		c.Options.Dashboard.Mailer = signIn
	}
	h = licensing.NewHandler(db, c.Options)

	servers := []serving.Server{{Handler: routes(h, c.accountPages(h, signIn), c.payments(h.Selling())), TLS: c.tls}}
	if c.MetricsAddr != "" {
		servers = append(servers, serving.Server{Handler: m.handler(h)})
	}
	for i := range servers {
		s := &servers[i]
		if s.Listener, err = net.Listen("tcp", []string{c.Addr, c.MetricsAddr}[i]); err != nil {
			return err
		}
		defer s.Listener.Close() // for the returns before it serves
		logger.Info([]string{"service listens", "metrics listen"}[i], "address", s.Listener.Addr().String(), "tls", s.TLS != nil)
	}
	if c.tls == nil && c.Options.ClientIP == nil && !onLoopback(c.Addr) {
		logger.Warn("the service is reachable from other machines without TLS; set --tls-cert and --tls-key, or put it behind a proxy and set --trusted-proxies")
	}
	where := "--store STORE"
	if c.file != "" {
		where = "--config " + c.file
	}
	sayHowToSetUp(ctx, h, logger, where)
	return serving.Until(ctx, servers, func(ctx context.Context) error {
		var work sync.WaitGroup
		defer work.Wait()
		work.Go(func() { c.syncPayments(ctx, h.Selling()) })
		return h.Run(ctx)
	}, logger)
}

// onLoopback reports whether only this machine reaches a server at an address.
func onLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	return net.ParseIP(host).IsLoopback() || host == "localhost"
}

// sayHowToSetUp logs how to create the first operator, if there is none.
func sayHowToSetUp(ctx context.Context, h *licensing.Handler, logger *slog.Logger, where string) {
	if operators, err := h.Operators().List(ctx, operator.ListParams{Limit: 1}); err == nil && len(operators.Data) == 0 {
		logger.Info("no operator exists; for a link to the page that creates the first one, run: " + name + " setup-code " + where)
	}
}

// signIn returns the sign-in by mail to the customer pages, or nil if there are none.
func (c config) signIn() *mail.SignIn {
	if c.accountURL() == "" {
		return nil
	}
	return &mail.SignIn{URL: c.accountURL(), Send: c.Mail.Server.Send, Shop: c.Mail.Shop, Texts: c.Mail.Texts}
}

// accountPages returns the customer pages, or nil if there are none.
func (c config) accountPages(h *licensing.Handler, signIn *mail.SignIn) http.Handler {
	if signIn == nil {
		return nil
	}
	pages := licensing.Portal{Texts: c.Portal.Texts}
	if c.Portal.Renew != "" {
		pages.Renew = func(l api.License) string { return fillURL(c.Portal.Renew, "license", l.ID, "product", l.ProductID) }
	}
	if c.Portal.Buy != "" {
		pages.Buy = func(productID string) string { return fillURL(c.Portal.Buy, "product", productID) }
	}
	return http.StripPrefix(account, signIn.Handler(h, pages))
}

// fillURL replaces names in braces in the path and the query of a URL: pairs of a name and a
// value.
func fillURL(to string, values ...string) string {
	for i := 0; i < len(values); i += 2 {
		to = strings.ReplaceAll(to, "{"+values[i]+"}", strings.ReplaceAll(url.QueryEscape(values[i+1]), "+", "%20"))
	}
	return to
}

// routes mounts the service. It is no ServeMux, which redirects an unclean path and
// repeats its query, where a client may have put a secret. pages and payments may be nil.
func routes(h *licensing.Handler, pages http.Handler, payments map[string]http.Handler) http.Handler {
	service, metadata := http.StripPrefix(mount, h), h.Metadata()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case strings.HasPrefix(p, mount+"/"):
			service.ServeHTTP(w, r)
		case p == "/.well-known/oauth-authorization-server"+mount:
			metadata.ServeHTTP(w, r)
		case payments[p] != nil:
			payments[p].ServeHTTP(w, r)
		case pages != nil && strings.HasPrefix(p, account+"/"):
			pages.ServeHTTP(w, r)
		case p == "/" || p == mount:
			http.Redirect(w, r, mount+"/", http.StatusSeeOther)
		default:
			http.NotFound(w, r)
		}
	})
}
