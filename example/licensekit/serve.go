package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/example/internal/serving"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
)

const (
	mount   = "/licensing"
	account = "/account" // where the customer pages are
)

// serve runs the service until ctx ends. It logs JSON to the standard error.
func serve(ctx context.Context, args []string) (err error) {
	c, err := readConfig(args)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(logger)
	db, err := openServed(ctx, c.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	m := newMetrics()
	c.options.Observe = m.observe
	var h *licensing.Handler
	accountURL, pages := c.accountURL(), ""
	if accountURL != "" {
		c.options.PortalURL = accountURL + "/licenses"
		pages = c.options.PortalURL + "/"
	}
	if c.mail != nil {
		keys := mail.Keys{Licenses: func() *license.Service { return h.Service() }, Send: c.mail.Send, Pages: pages}
		c.options.Subscribers = []licensing.Subscriber{keys.Subscriber()}
	}
	h = licensing.NewHandler(db, c.options)

	servers := []serving.Server{{Handler: routes(h, accountPages(h, c, accountURL)), TLS: c.tls}}
	if c.metricsAddr != "" {
		servers = append(servers, serving.Server{Handler: m.handler(h)})
	}
	for i := range servers {
		s := &servers[i]
		if s.Listener, err = net.Listen("tcp", []string{c.addr, c.metricsAddr}[i]); err != nil {
			return err
		}
		defer s.Listener.Close() // for the returns before it serves
		logger.Info([]string{"service listens", "metrics listen"}[i], "address", s.Listener.Addr().String(), "tls", s.TLS != nil)
	}
	if c.tls == nil && c.options.ClientIP == nil && !onLoopback(c.addr) {
		logger.Warn("the service is reachable from other machines without TLS; set --tls-cert and --tls-key, or put it behind a proxy and set --trusted-proxies")
	}
	sayHowToSetUp(ctx, h, logger)
	return serving.Until(ctx, servers, h.Run, logger)
}

// onLoopback reports whether only this machine reaches a server at an address.
func onLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	return net.ParseIP(host).IsLoopback() || host == "localhost"
}

// sayHowToSetUp logs how to create the first operator, if there is none.
func sayHowToSetUp(ctx context.Context, h *licensing.Handler, logger *slog.Logger) {
	if operators, err := h.Operators().List(ctx, operator.ListParams{Limit: 1}); err == nil && len(operators.Data) == 0 {
		logger.Info("no operator exists; for a link to the page that creates the first one, run: " + name + " setup-code --store STORE")
	}
}

// accountURL returns the URL of the customer pages, or "" if no mails are sent, or if the
// address is not known.
func (c config) accountURL() string {
	root, ok := strings.CutSuffix(strings.TrimSuffix(c.options.PublicURL, "/"), mount)
	if c.mail == nil || !ok {
		return ""
	}
	return root + account
}

// accountPages returns the customer pages at a URL, with sign-in by mail. It returns nil if
// the URL is empty.
func accountPages(h *licensing.Handler, c config, url string) http.Handler {
	if url == "" {
		return nil
	}
	signIn := &mail.SignIn{URL: url, Send: c.mail.Send}
	return http.StripPrefix(account, signIn.Handler(h, licensing.Portal{}))
}

// routes mounts the service. It is no ServeMux, which redirects an unclean path and
// repeats its query, where a client may have put a secret. pages may be nil.
func routes(h *licensing.Handler, pages http.Handler) http.Handler {
	service, metadata := http.StripPrefix(mount, h), h.Metadata()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case strings.HasPrefix(p, mount+"/"):
			service.ServeHTTP(w, r)
		case p == "/.well-known/oauth-authorization-server"+mount:
			metadata.ServeHTTP(w, r)
		case pages != nil && strings.HasPrefix(p, account+"/"):
			pages.ServeHTTP(w, r)
		case p == "/" || p == mount:
			http.Redirect(w, r, mount+"/", http.StatusSeeOther)
		default:
			http.NotFound(w, r)
		}
	})
}
