package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/example/internal/keymail"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const (
	mount = "/licensing"
	grace = 20 * time.Second // for requests in flight when serve stops
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
	h = licensing.NewHandler(db, c.options)

	servers := []*server{{addr: c.addr, handler: routes(h), tls: c.tls}}
	if c.metricsAddr != "" {
		servers = append(servers, &server{addr: c.metricsAddr, handler: m.handler(h)})
	}
	for i, s := range servers {
		if err := s.listen(); err != nil {
			return err
		}
		defer s.listener.Close() // for the returns before it serves
		logger.Info([]string{"service listens", "metrics listen"}[i], "address", s.listener.Addr().String(), "tls", s.tls != nil)
	}
	if host, _, _ := net.SplitHostPort(c.addr); c.tls == nil && c.options.ClientIP == nil && !net.ParseIP(host).IsLoopback() && host != "localhost" {
		logger.Warn("the service is reachable from other machines without TLS; set --tls-cert and --tls-key, or put it behind a proxy and set --trusted-proxies")
	}
	return serveUntil(ctx, servers, h.Run, logger)
}

// routes mounts the service. It is no ServeMux, which redirects an unclean path and
// repeats its query, where a client may have put a secret.
func routes(h *licensing.Handler) http.Handler {
	service, metadata := http.StripPrefix(mount, h), h.Metadata()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case strings.HasPrefix(p, mount+"/"):
			service.ServeHTTP(w, r)
		case p == "/.well-known/oauth-authorization-server"+mount:
			metadata.ServeHTTP(w, r)
		case p == "/" || p == mount:
			http.Redirect(w, r, mount+"/", http.StatusSeeOther)
		default:
			http.NotFound(w, r)
		}
	})
}
