package servicetest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// jobFaults are what may happen in background work.
var jobFaults = map[string]func() error{
	"panics":             nil,
	"fails":              func() error { return errors.New("the record cannot be written") },
	"ends its goroutine": func() error { runtime.Goexit(); return nil },
}

// TestAFaultOfAJobDoesNotEndTheProcess: the others go on, Health names it, and it continues
// when the cause is gone.
func TestAFaultOfAJobDoesNotEndTheProcess(t *testing.T) {
	for kind, job := range map[string]string{
		"sales_counted": "sales", "watermark": "expiry_notices", "lease": "webhooks", "subscriber_cursor": "subscriber:mailer",
	} {
		for name, fault := range jobFaults {
			t.Run(kind+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					o := newOutage(t)
					var log strings.Builder
					o.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
					var heard atomic.Int64
					o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", FromStart: true, Handle: func(context.Context, api.Event) error { heard.Add(1); return nil }}}
					h := o.handler()
					hook(t, h, "shop.example", "license.created")
					o.store.fail(kind, fault, nil)
					stop := begin(t, h)
					happen(t, h, 1)
					time.Sleep(10 * time.Minute)
					problems := h.Health(t.Context()).Problems
					i := slices.IndexFunc(problems, func(p licensing.HealthProblem) bool { return p.Code == licensing.HealthJob && p.Subject == job })
					require.AtLeast(t, i, 0)
					require.Contains(t, problems[i].Detail, map[string]string{"panics": "cannot write", "fails": "cannot be", "ends its goroutine": "ended its goroutine"}[name])
					if name != "fails" {
						require.Contains(t, log.String(), "background work panicked", "faultyTx")
					}
					if n := strings.Count(log.String(), "background work failed\" job="+job+" "); n > 30 { // it rests longer and longer
						t.Errorf("%d attempts in 10 minutes", n)
					}
					is.True(kind == "lease" || len(o.receiver.at("shop.example")) == 1)
					is.True(kind == "subscriber_cursor" || kind == "lease" || heard.Load() > 0) // each has a lease
					o.store.fail("", nil, nil)
					time.Sleep(2 * time.Minute)
					is.Equal(h.Health(t.Context()).Problems, []licensing.HealthProblem{})
					is.Equal(len(o.receiver.at("shop.example")), 1)
					is.True(heard.Load() > 0)
					o.store.fail(kind, fault, nil)
					time.Sleep(time.Minute)
					stop()                                          // Run returns, also if what it does at its end panics
					is.True(!hasProblem(t, h, licensing.HealthJob)) // no job of this process fails when none runs
				})
			})
		}
	}
}

// TestARecordThatCannotBePassedHoldsUpNoOther: of two licenses, a job fails on the first, once
// or for ever. The second one gets what it is due, and the first when the cause is gone, except
// for sales, which say what they do not have.
func TestARecordThatCannotBePassedHoldsUpNoOther(t *testing.T) {
	due := func(at time.Duration) *time.Time { return new(time.Now().Add(at).Truncate(time.Second)) }
	terms := func(terms api.Terms) func(*testing.T, *licensing.Handler, string) api.License {
		return func(t *testing.T, h *licensing.Handler, customer string) api.License {
			l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: customer, ExpiresAt: due(12 * time.Hour), Terms: terms})
			is.New(t).NoErr(err)
			return l
		}
	}
	simple := terms(api.Terms{GraceSeconds: 3600})
	bought := func(t *testing.T, h *licensing.Handler, customer string) api.License {
		is := is.New(t)
		for id, kind := range map[string]api.PlanKind{"base": api.PlanBase, "more": api.PlanAddOn} {
			_, err := h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: id, Kind: kind, ProductID: "atlas", Terms: api.Terms{MaxActivations: new(int64(2))}})
			is.NoErr(err)
		}
		f, err := h.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: customer, At: time.Now(), CustomerID: customer, PlanID: "base", State: api.PurchaseActive})
		is.NoErr(err)
		_, err = h.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: customer + ".more", At: time.Now(), CustomerID: customer, PlanID: "more", LicenseID: f.LicenseID, State: api.PurchaseActive, Until: api.To(*due(2 * time.Hour))})
		is.NoErr(err)
		l, err := h.Service().Get(t.Context(), f.LicenseID)
		is.NoErr(err)
		return l
	}
	hasEvent := func(kind string) func(*outage, *licensing.Handler, string) bool {
		return func(o *outage, h *licensing.Handler, id string) bool {
			page, err := h.Service().Events(o.t.Context(), api.ListEventsParams{Subject: id, Types: []string{kind}, Limit: 200})
			for _, e := range page.Data {
				if e.Actor == "clock" {
					return true
				}
			}
			if err != nil {
				o.t.Fatal(err)
			}
			return false
		}
	}
	entry := func(kind string, want bool) func(*outage, *licensing.Handler, string) bool {
		return func(o *outage, _ *licensing.Handler, id string) bool {
			_, err := o.store.Entry(o.t.Context(), kind, id)
			return (err == nil) == want
		}
	}
	put := func(kind string) func(*outage, *licensing.Handler, api.License) {
		return func(o *outage, _ *licensing.Handler, l api.License) {
			is.New(o.t).NoErr(o.store.Store.Update(o.t.Context(), func(tx store.Tx) error {
				return tx.PutEntries(o.t.Context(), store.Entry{Kind: kind, Key: l.ID, ExpiresAt: time.Now(), CreatedAt: time.Now()})
			}))
		}
	}
	for name, test := range map[string]struct {
		job, op, kind string
		create        func(t *testing.T, h *licensing.Handler, customer string) api.License
		wait          time.Duration // until it is due
		prepare       func(o *outage, h *licensing.Handler, l api.License)
		done          func(o *outage, h *licensing.Handler, id string) bool
	}{
		"sales":    {"sales", "put", "sales_license", simple, 0, nil, entry("sales_license", true)},
		"expiring": {"expiry_notices", "append", "license.expiring", simple, 2 * time.Hour, nil, hasEvent("license.expiring")},
		"expired":  {"expiry_notices", "append", "license.expired", simple, 12 * time.Hour, nil, hasEvent("license.expired")},
		"lapsed":   {"expiry_notices", "append", "license.lapsed", simple, 13 * time.Hour, nil, hasEvent("license.lapsed")},
		"terms":    {"license_terms", "append", "license.updated", bought, 2 * time.Hour, nil, hasEvent("license.updated")},
		"deletion": {"purge", "delete", "license_deleted", simple, 0, put("license_deleted"), entry("license_deleted", false)},
		"leases":   {"purge", "delete", "long_leases", simple, 0, put("long_leases"), entry("long_leases", false)},
		"telling": {"usage_events", "append", "usage.counted", terms(api.Terms{Meters: map[string]api.Meter{"exports": {}}}), time.Hour, func(o *outage, h *licensing.Handler, l api.License) {
			_, err := h.Metering().RecordUsage(o.t.Context(), api.RecordUsageParams{Licenses: []api.LicenseUsage{{LicenseID: l.ID, Usage: []api.UsageReport{{Meter: "exports", ID: "a", Total: 1}}}}})
			is.New(o.t).NoErr(err)
		}, hasEvent("usage.counted")},
		"flush": {"usage", "put", "refusal", simple, 0, func(o *outage, h *licensing.Handler, l api.License) {
			_, err := h.Service().Validate(o.t.Context(), api.ValidateKeyParams{Key: l.Key, ProductID: "other"})
			is.New(o.t).NoErr(err)
		}, entry("refusal", true)},
	} {
		for how, fault := range jobFaults {
			for _, forever := range []bool{true, false} {
				t.Run(name+" "+how+map[bool]string{true: " for ever", false: " once"}[forever], func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						is := is.New(t)
						o := newOutage(t)
						var log strings.Builder
						o.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
						o.opts.Dashboard.Operator = func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
							return operator.Operator{ID: "op", Email: "ada@example.com", Role: operator.RoleAdmin}, true
						}
						o.opts.PollInterval, o.opts.Events.ExpiryNotices = 30*time.Second, []time.Duration{10 * time.Hour}
						h := o.handler()
						o.run(h, time.Minute)
						first := test.create(t, h, "a")
						time.Sleep(time.Second)
						second := test.create(t, h, "b")
						left, times := atomic.Bool{}, atomic.Int64{}
						left.Store(true)
						o.store.fail("", fault, func(op, kind, key string) bool {
							hit := op == test.op && kind == test.kind && strings.HasPrefix(key, first.ID) && left.Load() && (test.kind != "license.updated" || time.Now().After(first.CreatedAt.Add(time.Hour)))
							return hit && (times.Add(1) == 1 || forever)
						})
						time.Sleep(test.wait + time.Second)
						defer begin(t, h)() // when it is due: hours of polling take long
						if test.prepare != nil {
							test.prepare(o, h, first)
							test.prepare(o, h, second)
						}
						if test.kind == "usage.counted" {
							time.Sleep(time.Hour)
						}
						time.Sleep(12 * time.Minute)
						is.True(times.Load() > 0)
						is.True(test.done(o, h, second.ID))
						if !forever {
							is.True(test.done(o, h, first.ID))
							is.Equal(h.Health(t.Context()).Problems, []licensing.HealthProblem{})
							return
						}
						is.True(!test.done(o, h, first.ID))
						problems := h.Health(t.Context()).Problems
						is.Equal(len(problems), 1)
						if name == "sales" { // the event is passed
							is.Equal(problems[0].Code, licensing.HealthUncounted)
							created, err := h.Service().Events(t.Context(), api.ListEventsParams{Subject: first.ID})
							is.NoErr(err)
							require.Contains(t, problems[0].Detail, "1 events", created.Data[0].ID)
							require.Contains(t, log.String(), "cannot be counted; sales do not have it\" id="+created.Data[0].ID)
							w := httptest.NewRecorder()
							h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/dashboard/", nil))
							require.Contains(t, w.Body.String(), "1 event could not be counted, the first is "+created.Data[0].ID)
							return
						}
						require.Contains(t, log.String(), "record="+first.ID)
						is.Equal([]any{problems[0].Code, problems[0].Subject}, []any{licensing.HealthJob, test.job})
						before := times.Load()
						time.Sleep(3 * time.Hour)
						is.True(times.Load()-before <= 3*4) // once an hour: in a batch, by itself, and what that repeats
						is.Equal(len(h.Health(t.Context()).Problems), 1)
						left.Store(false)
						time.Sleep(65 * time.Minute)
						is.True(test.done(o, h, first.ID))
						is.Equal(h.Health(t.Context()).Problems, []licensing.HealthProblem{})
					})
				})
			}
		}
	}
}

// TestEachFunctionOfUpkeepIsContained: one that fails for ever holds up none of the others.
func TestEachFunctionOfUpkeepIsContained(t *testing.T) {
	for how, fault := range jobFaults {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				o := newOutage(t)
				o.opts.Logger, o.opts.PollInterval = discard, time.Minute
				h := o.handler()
				_, _, err := h.Service().Once(t.Context(), "key", "print", func(*license.Service) ([]byte, error) { return []byte("reply"), nil })
				is.NoErr(err)
				is.NoErr(o.store.Store.Update(t.Context(), func(tx store.Tx) error {
					return tx.PutEntries(t.Context(), store.Entry{Kind: "license_deleted", Key: "lic_1", ExpiresAt: time.Now()}, store.Entry{Kind: "long_leases", Key: "lic_1", ExpiresAt: time.Now()})
				}))
				time.Sleep(48 * time.Hour)
				o.store.fail("", fault, func(op, kind, _ string) bool { return op == "delete" && kind == "once" })
				defer begin(t, h)()
				time.Sleep(10 * time.Minute)
				left := func() (n int) {
					for _, kind := range []string{"once", "license_deleted", "long_leases"} {
						all, err := o.store.Entries(t.Context(), store.EntryQuery{Kind: kind})
						is.NoErr(err)
						n += len(all)
					}
					return n
				}
				is.Equal(left(), 1)
				problems := h.Health(t.Context()).Problems
				is.Equal([]any{len(problems), problems[0].Code, problems[0].Subject}, []any{1, licensing.HealthJob, "purge"})
				o.store.fail("", nil, nil)
				time.Sleep(10 * time.Minute)
				is.Equal(left(), 0)
				is.Equal(h.Health(t.Context()).Problems, []licensing.HealthProblem{})
			})
		})
	}
}

// panickingLimiter is a limiter of a host that has a defect.
type panickingLimiter struct{}

func (panickingLimiter) Allow(context.Context, string) (time.Duration, bool) {
	panic("no limits today")
}

// TestAPanicOfAHookIsA500: nothing is created, and the process goes on.
func TestAPanicOfAHookIsA500(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Logger: discard, BeforeCreate: func(context.Context, *api.CreateLicenseParams) error { panic("no licenses today") }})
	a := c.do("POST", "/license", someLicense)
	is.Equal([]any{a.Code, a.Header().Get("Content-Type")}, []any{http.StatusInternalServerError, "application/problem+json"})
	is.Equal(c.do("GET", "/license", "").json["data"], []any{})
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard, Limiter: panickingLimiter{}})
	w := ask(t, h, "POST", "/license/validate", "", `{"key":"XXXXX-XXXXX-XXXXX-XXXXX-XXXXX"}`)
	is.Equal([]any{w.Code, w.Header().Get("Content-Type")}, []any{http.StatusInternalServerError, "application/problem+json"})
}
