package main

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/example/internal/keymail"
	"github.com/seed-d8a106b4/licensekit/example/internal/maillink"
	"github.com/seed-d8a106b4/licensekit/example/internal/serving"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
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
	if c.mail != nil {
		get := func(ctx context.Context, id string) (api.License, error) { return h.Service().Get(ctx, id) }
		c.options.Subscribers = []licensing.Subscriber{keymail.Subscriber(get, c.mail.Send)}
	}
	accountURL := c.accountURL()
	if accountURL != "" {
		c.options.PortalURL = accountURL + "/licenses"
	}
	h = licensing.NewHandler(db, c.options)

	pages, err := accountPages(h, c, accountURL)
	if err != nil {
		return err
	}
	servers := []serving.Server{{Handler: routes(h, pages), TLS: c.tls}}
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

// accountPages returns the customer pages at a URL, with links by mail in the place of
// accounts. It returns nil if the URL is empty.
func accountPages(h *licensing.Handler, c config, url string) (http.Handler, error) {
	if url == "" {
		return nil, nil
	}
	key := make([]byte, 32)
	rand.Read(key) // without a master key, links and sessions end with the process
	if len(c.options.MasterKey) > 0 {
		var err error
		if key, err = hkdf.Key(sha256.New, c.options.MasterKey, nil, "links by mail", len(key)); err != nil {
			return nil, err
		}
	}
	links := maillink.Links{Key: key, URL: url + "/link"}
	mux := http.NewServeMux()
	mux.Handle(account+"/link", links)
	mux.Handle(account+"/sign-in", &maillink.SignIn{Links: links, Licenses: h.Service(), Send: c.mail.Send, ClientIP: c.options.ClientIP})
	protection := http.NewCrossOriginProtection()
	for _, origin := range c.options.Dashboard.Origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	mux.Handle(account+"/licenses/", http.StripPrefix(account+"/licenses", h.Portal(licensing.Portal{Origins: c.options.Dashboard.Origins, Mailbox: func(w http.ResponseWriter, r *http.Request) (string, bool) {
		address, ok := links.Mailbox(r)
		if !ok {
			http.Redirect(w, r, url+"/sign-in", http.StatusSeeOther)
		}
		return address, ok
	}})))
	return protection.Handler(mux), nil
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
