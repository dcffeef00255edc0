package servicetest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/payment"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A switchedStore answers nothing while it is off, writes nothing while it is
// read-only, denies writes with an error of its own while it is locked, and finds each
// license damaged if it is damaged.
type switchedStore struct {
	store.Store
	off, damaged bool
	readOnly     atomic.Bool
	locked       bool                            // denies each write with an error of its own
	mu           sync.Mutex                      // of the next three, which fail sets
	panics       string                          // the kind of the entries that cannot be written
	fault        func() error                    // what happens instead; nil: a panic
	writes       func(op, kind, key string) bool // which writes fault happens at; kinds are those of entries and events

	refused atomic.Int64 // writes
}

// fail sets which writes fail, and how.
func (s *switchedStore) fail(panics string, fault func() error, writes func(op, kind, key string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panics, s.fault, s.writes = panics, fault, writes
}

func (s *switchedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.locked {
		return errors.New("permission denied for table events")
	}
	return s.Store.Update(ctx, func(tx store.Tx) error {
		if !s.readOnly.Load() {
			return fn(&faultyTx{tx, s})
		}
		refusing := &refusingTx{Tx: tx}
		if err := fn(refusing); err != nil || !refusing.refused {
			return err
		}
		s.refused.Add(1)
		return fmt.Errorf("the disk is full: %w", store.ErrUnavailable)
	})
}

// A faultyTx cannot write everything.
type faultyTx struct {
	store.Tx
	s *switchedStore
}

func (tx *faultyTx) write(op, kind, key string) error {
	tx.s.mu.Lock()
	panics, fault, writes := tx.s.panics, tx.s.fault, tx.s.writes
	tx.s.mu.Unlock()
	if (op != "put" || panics == "" || kind != panics) && (writes == nil || !writes(op, kind, key)) {
		return nil
	}
	if fault == nil {
		panic("cannot write " + kind)
	}
	return fault()
}

func (tx *faultyTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		if err := tx.write("put", e.Kind, e.Key); err != nil {
			return err
		}
	}
	return tx.Tx.PutEntries(ctx, entries...)
}

func (tx *faultyTx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	for _, key := range keys {
		if err := tx.write("delete", kind, key); err != nil {
			return err
		}
	}
	return tx.Tx.DeleteEntries(ctx, kind, keys...)
}

func (tx *faultyTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	for _, e := range events {
		if err := tx.write("append", e.Type, e.Subject); err != nil {
			return err
		}
	}
	return tx.Tx.AppendEvents(ctx, events...)
}

// A refusingTx is that of a store that notices at the commit that it cannot write.
type refusingTx struct {
	store.Tx
	refused bool
}

func (tx *refusingTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	tx.refused = true
	return tx.Tx.AppendEvents(ctx, events...)
}

func (tx *refusingTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	tx.refused = true
	return tx.Tx.PutEntries(ctx, entries...)
}

func (s *switchedStore) License(ctx context.Context, id string) (store.License, error) {
	if s.damaged {
		return store.License{}, fmt.Errorf("license %s: %w", id, store.ErrDamaged)
	}
	return s.Store.License(ctx, id)
}

func (s *switchedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	if s.off {
		return store.ErrUnavailable
	}
	return s.Store.View(ctx, fn)
}

func (s *switchedStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if s.off {
		return store.Entry{}, store.ErrUnavailable
	}
	return s.Store.Entry(ctx, kind, key)
}

// An outage is the service in a condition to alert on.
type outage struct {
	t        *testing.T
	store    *switchedStore
	opts     licensing.Options
	receiver *postOffice
	mu       sync.Mutex
	seen     []licensing.Observation
}

func newOutage(t *testing.T) *outage {
	o := &outage{t: t, store: &switchedStore{Store: memory.New()}, receiver: newPostOffice()}
	o.opts = postedBy(o.receiver)
	o.opts.MasterKey = []byte(strings.Repeat("k", 32))
	o.opts.ClientIP = func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.7") }
	o.opts.Observe = func(_ context.Context, seen licensing.Observation) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.seen = append(o.seen, seen)
	}
	return o
}

// handler returns a new process of the service.
func (o *outage) handler() *licensing.Handler { return licensing.NewHandler(o.store, o.opts) }

// send sends a request to a handler.
func (o *outage) send(h http.Handler, method, path, body string) {
	ask(o.t, h, method, path, "", body)
}

// run runs Run for a while.
func (o *outage) run(h *licensing.Handler, d time.Duration) {
	stop := begin(o.t, h)
	time.Sleep(d)
	stop()
}

// conditions make each condition of the guide true and return a handler.
var conditions = map[string]func(*outage) *licensing.Handler{
	"store_unavailable": func(o *outage) *licensing.Handler {
		o.store.off = true
		return o.handler()
	},
	"store_damaged": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.store.damaged = true
		_, _ = h.Service().Get(o.t.Context(), "lic_01m83aq1zbfva94np9cmt3wprd")
		return h
	},
	"writes_failing": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.store.readOnly.Store(true)
		_, _ = h.Service().Create(o.t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		return h
	},
	"requests_failing": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.store.locked = true
		o.send(h, "GET", "/file/keys", "") // creates the first keys
		return h
	},
	"payment_failing": func(o *outage) *licensing.Handler {
		h := o.handler()
		const event = `{"data":{"type":"orders","id":"1","attributes":{"status":"hibernating"}}}`
		mac := hmac.New(sha256.New, []byte("secret"))
		mac.Write([]byte(event))
		r := httptest.NewRequest("POST", "/", strings.NewReader(event))
		r.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
		payment.LemonSqueezy{Secrets: []string{"secret"}}.Handler(h.Selling()).ServeHTTP(httptest.NewRecorder(), r)
		return h
	},
	"job_failing": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.store.fail("sales_counted", nil, nil)
		_, _ = h.Service().Create(o.t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		begin(o.t, h) // until the test ends
		time.Sleep(time.Minute)
		return h
	},
	"events_uncounted": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.store.writes = func(_, kind, _ string) bool { return kind == "sales_license" }
		_, _ = h.Service().Create(o.t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		o.run(h, 10*time.Minute)
		return h
	},
	"not_running": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.run(h, time.Minute)
		time.Sleep(2 * time.Hour)
		return h
	},
	"work_overdue": func(o *outage) *licensing.Handler {
		o.opts.Subscribers = []licensing.Subscriber{{Name: "slow", FromStart: true, Handle: func(context.Context, api.Event) error {
			time.Sleep(4 * time.Minute)
			return nil
		}}}
		h := o.handler()
		happen(o.t, h, 2)
		o.t.Cleanup(begin(o.t, h))
		time.Sleep(2 * time.Minute)
		return h
	},
	"subscriber_failing": func(o *outage) *licensing.Handler {
		o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", FromStart: true, Handle: func(context.Context, api.Event) error {
			return errors.New("no mail server")
		}}}
		h := o.handler()
		happen(o.t, h, 1)
		o.run(h, 10*time.Minute)
		return h
	},
	"dead_letters": func(o *outage) *licensing.Handler {
		o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", FromStart: true, MaxAttempts: 3, Handle: func(context.Context, api.Event) error {
			return errors.New("no mail server")
		}}}
		h := o.handler()
		happen(o.t, h, 1)
		o.run(h, 10*time.Minute)
		return h
	},
	"webhook_failing": func(o *outage) *licensing.Handler {
		o.receiver.answers("shop.example", status(500))
		h := o.handler()
		hook(o.t, h, "shop.example")
		happen(o.t, h, 1)
		o.run(h, time.Minute)
		return h
	},
	"webhook_disabled": func(o *outage) *licensing.Handler {
		o.receiver.answers("shop.example", status(410))
		h := o.handler()
		hook(o.t, h, "shop.example")
		happen(o.t, h, 1)
		o.run(h, time.Minute)
		return h
	},
	"position_ahead": func(o *outage) *licensing.Handler {
		h := o.handler()
		happen(o.t, h, 1)
		err := o.store.Update(o.t.Context(), func(tx store.Tx) error {
			return tx.PutEntries(o.t.Context(), store.Entry{Kind: "subscriber_cursor", Key: "subscriber:mailer", Data: []byte(`{"seq":9}`), CreatedAt: time.Now()})
		})
		if err != nil {
			o.t.Fatal(err)
		}
		return h
	},
	"secrets_unreadable": func(o *outage) *licensing.Handler {
		hook(o.t, o.handler(), "shop.example")
		o.opts.MasterKey = []byte(strings.Repeat("o", 32))
		return o.handler()
	},
	"secrets_unencrypted": func(o *outage) *licensing.Handler {
		o.opts.MasterKey = nil
		h := o.handler()
		hook(o.t, h, "shop.example")
		return h
	},
	"retention_overdue": func(o *outage) *licensing.Handler {
		o.opts.Events.Retention = 24 * time.Hour
		h := o.handler()
		happen(o.t, h, 2)
		time.Sleep(72 * time.Hour)
		return h
	},
	"list_ahead": func(o *outage) *licensing.Handler {
		o.opts.Now = func() time.Time { return time.Now().Add(400 * 24 * time.Hour) }
		_, err := o.handler().Files().SignRevocations(o.t.Context(), files.SignRevocationsParams{ProductID: "atlas"})
		if err != nil {
			o.t.Fatal(err)
		}
		o.opts.Now = nil
		return o.handler()
	},
	"list_large": func(o *outage) *licensing.Handler {
		h := o.handler()
		_, err := h.Files().SignRevocations(o.t.Context(), files.SignRevocationsParams{
			ProductID: "atlas", Licenses: make([]licensefile.RevokedLicense, licensefile.MaxListed/2+1),
		})
		if !errors.Is(err, licensefile.ErrMalformed) { // without hashes; the number is stored before
			o.t.Fatal(err)
		}
		return h
	},
	"office_ending": func(o *outage) *licensing.Handler {
		key, answer := officeAnswer(o.t, time.Now(), 60*24*time.Hour)
		o.opts.SigningKeys = []files.SigningKey{{Signer: key, Office: answer}}
		time.Sleep(30 * 24 * time.Hour)
		return o.handler()
	},

	"status 5xx": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.store.off = true
		o.send(h, "GET", "/ready", "")
		return h
	},
	"status 429": func(o *outage) *licensing.Handler {
		o.opts.Limits.AddressRate = 1
		h := o.handler()
		for range 4 {
			o.send(h, "POST", "/license/validate", `{"key":"XXXXX-XXXXX-XXXXX-XXXXX-XXXXX"}`)
		}
		return h
	},
	"status 401 of /oauth/token": func(o *outage) *licensing.Handler {
		h := o.handler()
		o.send(h, "GET", "/oauth/token?client_id=cid_x&client_secret=csk_x", "")
		return h
	},
	"delivery gave_up": func(o *outage) *licensing.Handler {
		o.opts.PollInterval = time.Minute
		o.receiver.answers("shop.example", status(500))
		h := o.handler()
		hook(o.t, h, "shop.example")
		happen(o.t, h, 1)
		o.run(h, 4*24*time.Hour)
		return h
	},
	"delivery postponed": func(o *outage) *licensing.Handler {
		hook(o.t, o.handler(), "shop.example")
		o.opts.MasterKey = []byte(strings.Repeat("o", 32))
		h := o.handler()
		happen(o.t, h, 1)
		o.run(h, time.Minute)
		return h
	},
	"job failed": func(o *outage) *licensing.Handler {
		o.store.off = true
		h := o.handler()
		o.run(h, time.Minute)
		return h
	},
	"store_error": func(o *outage) *licensing.Handler {
		o.store.off = true
		h := o.handler()
		o.send(h, "GET", "/ready", "")
		return h
	},
	"operator.sign_in_failed": func(o *outage) *licensing.Handler {
		h := o.handler()
		r := httptest.NewRequestWithContext(o.t.Context(), "POST", "/dashboard/sign-in", nil)
		_, _ = inner.Of(h.Operators()).SignIn(httptest.NewRecorder(), r, "ada@example.com", "a wrong password", false)
		return h
	},
}

// holds reports whether a condition of the guide is true: a code of Health, a
// status, or a type of events.
func (o *outage) holds(condition string, h *licensing.Handler) bool {
	o.mu.Lock()
	seen := slices.Clone(o.seen)
	o.mu.Unlock()
	status := func(low, high int, route string) bool {
		return slices.ContainsFunc(seen, func(s licensing.Observation) bool {
			return s.Kind == licensing.ObservationRequest && low <= s.Status && s.Status <= high && (route == "" || s.Route == route)
		})
	}
	observed := func(kind licensing.ObservationKind, outcome licensing.ObservationOutcome) bool {
		return slices.ContainsFunc(seen, func(s licensing.Observation) bool { return s.Kind == kind && (outcome == "" || s.Outcome == outcome) })
	}
	switch condition {
	case "delivery gave_up":
		return observed(licensing.ObservationDelivery, licensing.OutcomeGaveUp)
	case "delivery postponed":
		return observed(licensing.ObservationDelivery, licensing.OutcomePostponed)
	case "job failed":
		return observed(licensing.ObservationJob, licensing.OutcomeFailed)
	case "store_error":
		return observed(licensing.ObservationStoreError, "")
	case "status 5xx":
		return status(500, 599, "")
	case "status 429":
		return status(429, 429, "")
	case "status 401 of /oauth/token":
		return status(401, 401, "/oauth/token")
	case "operator.sign_in_failed":
		page, err := h.Service().Events(o.t.Context(), api.ListEventsParams{Types: []string{condition}})
		return err == nil && len(page.Data) > 0
	}
	return slices.ContainsFunc(h.Health(o.t.Context()).Problems, func(p licensing.HealthProblem) bool { return string(p.Code) == condition })
}

// TestConditionsOfTheGuide makes each condition true that the guides say to alert on, and
// none of them is true for a healthy service.
func TestConditionsOfTheGuide(t *testing.T) {
	is := is.New(t)
	var listed []string
	for name, heading := range map[string]string{"errors.md": "## Problems that Health reports\n", "observability.md": "## Alerts\n"} {
		guide, err := os.ReadFile("../../docs/" + name)
		is.NoErr(err)
		_, section, found := strings.Cut(string(guide), heading)
		is.True(found)
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
			listed = append(listed, m[1])
		}
	}
	slices.Sort(listed)
	is.Equal(listed, slices.Sorted(maps.Keys(conditions)))

	for condition, cause := range conditions {
		t.Run(condition, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(t)
				h := cause(o)
				if !o.holds(condition, h) {
					t.Errorf("the condition is not reported: %+v %+v", h.Health(t.Context()), o.seen)
				}
			})
		})
	}
	t.Run("healthy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			o := newOutage(t)
			o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", Handle: func(context.Context, api.Event) error { return nil }}}
			h := o.handler()
			hook(t, h, "shop.example")
			defer begin(t, h)()
			time.Sleep(time.Minute)
			happen(t, h, 3)
			o.send(h, "GET", "/ready", "")
			time.Sleep(time.Minute)
			got := h.Health(t.Context())
			is.Equal(got.Problems, []licensing.HealthProblem{})
			is.Equal(got.Status, "ready")
			is.True(got.Running)
			is.Equal(got.Subscribers, []licensing.SubscriberLag{{Name: "mailer"}})
			is.Equal(got.Secrets, files.SecretCounts{Sealed: 1})
			for condition := range conditions {
				is.True(!o.holds(condition, h)) // no condition holds
			}
		})
	})
}
