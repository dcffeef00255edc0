package licensing

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/delivery"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Handler is a licensing service. It is an [http.Handler] and safe for
// concurrent use.
type Handler struct {
	opts     Options
	store    store.Store
	service  *license.Service
	auth     *auth.Auth
	whole    http.Handler
	api      http.Handler
	pages    http.Handler
	metadata http.Handler
	engine   *delivery.Engine
	watch    watch
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a licensing service that keeps its records in st. Mount
// it under any path with [http.StripPrefix].
//
// It does no I/O and starts no goroutine, and it never closes st. It panics if
// st is nil or an option is out of its bounds, as [Options.Validate] reports.
func NewHandler(st store.Store, opts Options) *Handler {
	if st == nil {
		panic("licensing: NewHandler needs a store, such as the one that sqlite.Open returns")
	}
	if err := opts.Validate(); err != nil {
		panic(err.Error())
	}
	opts = opts.withDefaults()
	h := &Handler{opts: opts, store: st}
	clients := limiter(opts, opts.ClientRate)
	waking := wakingStore{st, func() { h.engine.Nudge() }}
	h.service = license.New(waking, license.Options{
		Now: opts.Now, Logger: opts.Logger, BeforeCreate: opts.BeforeCreate, OnceTTL: opts.ReplayTTL,
		KeyHolderSeats: opts.KeyHolderSeats, MasterKey: opts.MasterKey, AllowPrivateWebhooks: opts.Webhooks.AllowPrivate,
		ExpiryNotices: opts.ExpiryNotices, EventRetention: opts.EventRetention, DeliveryRetention: opts.DeliveryRetention,
	})
	h.auth = auth.New(waking, auth.Options{
		Now: opts.Now, Logger: opts.Logger, TokenTTL: opts.TokenTTL, DisableTokenGET: opts.DisableTokenGET,
		MaxTokens: opts.MaxTokens, MaxFailures: opts.MaxTokenFailures, MaxBody: opts.MaxTokenBody,
		ClientIP: opts.ClientIP, Fail: WriteError, Limit: limitClients(clients),
	})
	h.engine = h.newEngine()
	h.metadata = h.auth.Metadata(opts.PublicURL)
	cfg := h.config(clients)
	pages := h.section(st)
	routes := api.Routes(api.Config{
		Auth:      h.auth,
		Metadata:  h.metadata,
		Ready:     func(ctx context.Context) error { return ready(ctx, st) },
		MaxImport: opts.MaxImport,
	})
	h.whole = h.watched(web.NewSite(cfg, routes, pages))
	h.api = h.watched(web.NewSite(cfg, routes, nil))
	h.pages = h.watched(web.NewSite(cfg, nil, pages))
	return h
}

func (h *Handler) config(clients web.Limiter) web.Config {
	o := h.opts
	return web.Config{
		Logger: o.Logger, Authenticate: h.auth.Authenticate, Rules: h.service,
		ClientLimiter: clients, AddressLimiter: limiter(o, o.AddressRate), KeyLimiter: limiter(o, o.KeyRate),
		ClientIP: o.ClientIP, Timeout: o.Timeout, BodyTimeout: o.BodyTimeout, MaxBody: o.MaxBody, Origins: o.AllowedOrigins,
		Observe: h.observe,
	}
}

// limiter returns what bounds callers to rate requests a second; nil: nothing.
func limiter(o Options, rate int) web.Limiter {
	switch {
	case o.Limiter != nil:
		return o.Limiter
	case rate < 0:
		return nil
	}
	return web.NewRate(rate, 2*rate, o.Now)
}

// limitClients returns the limit of clients in the form of [auth.Options]:
// requests to the OAuth endpoints count like those to the API.
func limitClients(clients web.Limiter) func(context.Context, string) time.Duration {
	if clients == nil {
		return nil
	}
	return func(ctx context.Context, clientID string) time.Duration {
		wait, ok := clients.Take(ctx, web.ClientKey(clientID))
		if ok {
			return 0
		}
		return max(wait, time.Second)
	}
}

// ready asks the store for something that is not there.
func ready(ctx context.Context, st store.Store) error {
	_, err := st.Entry(ctx, "ready", "ready")
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.whole.ServeHTTP(w, r)
}

// API returns the part of h that programs use, for hosts that serve it apart
// from the pages for people. Its paths are the same.
func (h *Handler) API() http.Handler { return h.api }

// Metadata returns the description of the authorization server (RFC 8414),
// for the host to mount at its root: at
// "/.well-known/oauth-authorization-server" followed by the path of
// Options.PublicURL, without which it answers 404.
func (h *Handler) Metadata() http.Handler { return h.metadata }

// Service returns the rules, for Go code: the same checks, events and
// idempotency as over HTTP, without a token.
func (h *Handler) Service() *license.Service { return h.service }

// Auth returns what looks after clients and their tokens. Its
// [auth.Auth.RequireScope] guards routes of the host's own.
func (h *Handler) Auth() *auth.Auth { return h.auth }

// WriteError answers r with err in the form in which the API answers errors,
// application/problem+json, for handlers and middleware of the host's own.
// Errors of packages license and auth, and of a store that cannot answer, get
// the status and the code that they get in the API; any other is a 500 that
// tells the caller nothing but a request id, and is logged to [slog.Default]
// with it.
func WriteError(w http.ResponseWriter, r *http.Request, err error) { web.Fail(w, r, err) }
