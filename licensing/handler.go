package licensing

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/endpoints"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Handler is a complete licensing service. It implements [http.Handler] and is
// safe for concurrent use.
type Handler struct {
	opts      Options
	store     *trackedStore
	requests  failedRequests
	service   *license.Service
	webhooks  *webhook.Service
	auth      *auth.Auth
	operators *operator.Service
	files     *files.Service
	whole     http.Handler
	api       http.Handler
	pages     http.Handler
	metadata  http.Handler
	engine    *feed.Engine
	site      web.Config
	watch     watch

	portals atomic.Bool // Portal was called
	office  atomic.Bool // the program has a page at dashboard/office

	//lint:ignore U1000 see internals.go
	inside
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a licensing service that stores its data in st. Mount it at
// any path with [http.StripPrefix].
//
// NewHandler does no I/O and starts no goroutines. The caller closes st. The master
// keys of opts are copied. NewHandler panics if st is nil, as after a failed
// sqlite.Open, or if [Options.Validate] returns an error.
func NewHandler(st store.Store, opts Options) *Handler {
	if v := reflect.ValueOf(st); st == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("licensing: NewHandler requires a store, such as one from sqlite.Open; check the error that came with a nil store")
	}
	if err := opts.Validate(); err != nil {
		panic("licensing: " + err.Error())
	}
	opts = opts.withDefaults()
	h := &Handler{opts: opts}
	h.store = &trackedStore{Store: st, now: opts.Now, wake: func() { h.engine.Nudge() }}
	h.requests.now = opts.Now
	limiter := opts.limiter()
	h.service = license.New(h.store, license.Options{
		Now: opts.Now, Logger: opts.Logger, MasterKey: opts.MasterKey, PreviousMasterKeys: opts.PreviousMasterKeys, BeforeCreate: opts.BeforeCreate, EmailKey: opts.EmailKey, ProductNames: opts.ProductNames, ClaimFrom: opts.ClaimFrom,
		IdempotencyTTL: opts.IdempotencyTTL, KeyHolderSeats: opts.KeyHolderSeats, Events: opts.Events,
		RecheckAfter: opts.RecheckAfter, MaxOffline: opts.MaxOffline, HoldOffline: opts.HoldOffline, FileIssuer: opts.FileIssuer, TimeZone: opts.TimeZone,
	})
	config := inner.Config{Store: h.store, Now: opts.Now, Logger: opts.Logger, MasterKey: opts.MasterKey, PreviousMasterKeys: opts.PreviousMasterKeys}
	h.files = new(files.Service)
	inner.Of(h.files).Init(config, opts.SigningKeys, inner.Of(h.service).Revocations().List, inner.Of(h.service).Meters().OfficeTotals)
	inner.Of(h.service).SetOffice(inner.Of(h.files).Office())
	h.webhooks = new(webhook.Service)
	inner.Of(h.webhooks).Init(h.service, h.limitOf, opts.Webhooks)
	h.auth = auth.New(h.store, auth.Options{
		Now: opts.Now, Logger: opts.Logger, Tokens: opts.Tokens, ClientIP: opts.ClientIP,
		Fail: h.WriteError, Limit: limitClients(limiter),
	})
	inner.Of(h.auth).Observe(web.SetClient)
	h.operators = new(operator.Service)
	inner.Of(h.operators).Init(config, inner.Of(h.auth).Options().Tokens.MaxFailures, opts.ClientIP)
	h.engine = h.newEngine()
	h.metadata = h.auth.Metadata(opts.PublicURL)
	h.site = web.Config{
		Logger: opts.Logger, RequestLog: opts.RequestLog, Observe: h.observe, Authenticate: h.auth.Authenticate, Rules: h.service, SignFile: h.files.Sign,
		MaxBody: opts.Limits.MaxBody, BodyTimeout: opts.Limits.BodyTimeout, Timeout: opts.Limits.Timeout,
		Limiter: limiter, ClientIP: opts.ClientIP, AllowedOrigins: opts.AllowedOrigins, After: h.look,
	}
	pages := h.section()
	routes := endpoints.Routes(endpoints.Config{
		Auth:        h.auth,
		Webhooks:    h.webhooks,
		Metadata:    h.metadata,
		KeySet:      h.keySet,
		Revocations: h.revocations,
		Ready:       h.store.ready,
		Health:      func(ctx context.Context) (any, error) { return h.readHealth(ctx) },
		MaxImport:   opts.Limits.MaxImport,
		PortalURL:   strings.TrimRight(opts.PortalURL, "/"),
		PublicURL:   strings.TrimRight(opts.PublicURL, "/"),
	})
	h.whole = web.NewSite(h.site, routes, pages)
	h.api = web.NewSite(h.site, routes, nil)
	h.pages = web.NewSite(h.site, nil, pages)
	return h
}

// revocations returns the revocation list of a product, or of one of its licenses.
func (h *Handler) revocations(ctx context.Context, productID, licenseID string) (string, error) {
	if licenseID != "" {
		return h.files.LicenseRevocations(ctx, productID, licenseID)
	}
	return h.files.Revocations(ctx, productID)
}

// keySet returns the published keys of license files as a JWKS.
func (h *Handler) keySet(ctx context.Context) ([]byte, error) {
	set, err := h.files.KeySet(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(set)
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.whole.ServeHTTP(w, r)
}

// API returns the handler of the API only, for hosts that serve it separately
// from the dashboard. The paths are the same as in h.
func (h *Handler) API() http.Handler { return h.api }

// Metadata returns the handler of the OAuth authorization server metadata
// (RFC 8414). Mount it at the root of the host, at
// "/.well-known/oauth-authorization-server" followed by the path of
// Options.PublicURL. Without Options.PublicURL it responds with 404.
func (h *Handler) Metadata() http.Handler { return h.metadata }

// Service returns the licensing rules for Go code: the same checks, events and
// idempotency as the API, without a token.
func (h *Handler) Service() *license.Service { return h.service }

// Selling returns what a shop sells: plans, purchases and trials. It acts as Service
// does.
func (h *Handler) Selling() *selling.Service { return selling.New(h.service) }

// Metering counts usage of what licenses include. It acts as Service does.
func (h *Handler) Metering() *metering.Service { return metering.New(h.service) }

// Webhooks returns the manager of webhooks and their deliveries.
func (h *Handler) Webhooks() *webhook.Service { return h.webhooks }

// Auth returns the manager of API clients and their tokens. Its
// [auth.Auth.RequireScope] protects the host's own routes.
func (h *Handler) Auth() *auth.Auth { return h.auth }

// Files returns the manager of the keys that sign license files.
func (h *Handler) Files() *files.Service { return h.files }

// Operators returns the manager of the people who sign in to the dashboard.
func (h *Handler) Operators() *operator.Service { return h.operators }

// WriteError answers r with err as the API answers errors, with
// application/problem+json (RFC 9457), for handlers and middleware of the host.
// Errors of the packages license and auth, and of a store that cannot answer,
// get the status and the code that they get in the API. Any other error is a
// 500 that tells the client only a request ID; it is logged to Options.Logger
// with that ID.
func (h *Handler) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if web.RequestID(r.Context()) == "" { // otherwise observed with the request
		h.observeStoreError(r.Context(), "WriteError", "", err)
	}
	web.WriteError(h.opts.Logger, w, r, err)
}
