package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// A stage is a vendor with one license, in a bubble of synctest, and the
// programs that use it.
type stage struct {
	*testing.T
	*is.I
	vendor  *licensingtest.Vendor
	license license.License
}

// onStage runs a test on a stage whose license expires after 30 days, has a
// day of grace and two seats.
func onStage(t *testing.T, test func(s stage)) {
	synctest.Test(t, func(t *testing.T) {
		v := licensingtest.NewVendor(t)
		end := time.Now().Add(30 * 24 * time.Hour)
		l, err := v.Handler.Service().Create(t.Context(), license.CreateParams{
			Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1", ExpiresAt: &end, GraceSeconds: 24 * 60 * 60,
			MaxActivations: new(int64(2)), Entitlements: map[string]any{"export": true, "users": 5, "tier": "gold"},
		})
		if err != nil {
			t.Fatal(err)
		}
		test(stage{t, is.New(t), v, l})
	})
}

// options returns the options of a program on this machine.
func (s stage) options(fingerprint string) client.ProgramOptions {
	return client.ProgramOptions{
		URL: licensingtest.VendorURL, Key: s.license.Key, ProductID: "atlas", Fingerprint: fingerprint, HTTPClient: s.vendor.HTTPClient(),
	}
}

// open opens a program, which is closed at the end of the test.
func (s stage) open(opts client.ProgramOptions) *client.Program {
	s.Helper()
	p, err := client.Open(opts)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { p.Close() })
	return p
}

func (s stage) service() *license.Service { return s.vendor.Handler.Service() }

// live returns the fingerprints that have a seat.
func (s stage) live() (fingerprints []string) {
	s.Helper()
	page, err := s.service().ListActivations(s.Context(), license.ListActivationsParams{LicenseID: s.license.ID})
	s.NoErr(err)
	for _, a := range page.Data {
		fingerprints = append(fingerprints, a.Fingerprint)
	}
	return fingerprints
}

func warnings(p *client.Program) (codes []client.Code) {
	for _, w := range p.Status().Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

const day = 24 * time.Hour

func TestOpenRefusesWrongOptions(t *testing.T) {
	good := client.ProgramOptions{URL: "https://example.com", ProductID: "atlas"}
	for want, change := range map[string]func(*client.ProgramOptions){
		"ProgramOptions.URL must be set":                   func(o *client.ProgramOptions) { o.URL = "" },
		"ProgramOptions.URL must begin with":               func(o *client.ProgramOptions) { o.URL = "example.com" },
		"ProgramOptions.ProductID must be set":             func(o *client.ProgramOptions) { o.ProductID = "" },
		"ProgramOptions.Fingerprint must be at most 255":   func(o *client.ProgramOptions) { o.Fingerprint = strings.Repeat("x", 256) },
		"ProgramOptions.Name must be at most 255":          func(o *client.ProgramOptions) { o.Name = "\xff" },
		"ProgramOptions.Fingerprint must not have control": func(o *client.ProgramOptions) { o.Fingerprint = "pc-1\n" },
	} {
		opts := good
		change(&opts)
		p, err := client.Open(opts)
		if err == nil || !strings.Contains(err.Error(), "client: "+want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
		if p != nil {
			t.Error("a program that is not open was returned")
		}
	}
}

// TestWalk: activate online, cut the network, run, let it expire, renew, come
// back.
func TestWalk(t *testing.T) {
	onStage(t, func(s stage) {
		is := s.I
		opts := s.options("pc-1")
		var changes []client.Code
		opts.OnChange = func(st client.Status) { changes = append(changes, st.Code) }
		p := s.open(opts)
		st := p.Status()
		is.True(st.Valid)
		is.Equal(st.Code, client.CodeValid)
		is.Equal(st.Source, client.SourceOnline)
		is.Equal(st.ExpiresAt.UTC(), s.license.ExpiresAt.UTC())
		is.Equal(st.GraceUntil.Sub(st.ExpiresAt), day)
		is.Equal(st.CheckedAt, time.Now())
		is.Equal(st.LicenseID, s.license.ID)
		is.True(st.ActivationID != "")
		is.Equal(s.live(), []string{"pc-1"})
		is.Equal(s.vendor.Requests(), []string{"/license/validate", "/license/activate"})
		is.True(p.Has("export") && p.Has("users") && !p.Has("import"))
		n, ok := p.Number("users")
		is.True(ok && n == 5)
		_, ok = p.Number("tier")
		is.True(!ok) // a string
		is.NoErr(p.Err())

		time.Sleep(26 * day)
		require.AtLeast(s.T, len(s.vendor.Requests()), 26) // by recheck_after, which is at most a day
		s.vendor.Die()
		time.Sleep(2 * day)
		is.True(p.Status().Valid) // unreachable is not denied
		is.Equal(warnings(p), []client.Code{client.CodeUnreachable})
		time.Sleep(2*day + time.Second)
		is.Equal(p.Status().Code, client.CodeInGrace) // judged without the service
		is.True(p.Has("export"))
		time.Sleep(day)
		is.Equal(p.Status().Code, client.CodeExpired)
		is.True(!p.Has("export"))
		_, ok = p.Number("users")
		is.True(!ok)
		require.ErrorIs(s.T, p.Err(), client.CodeExpired)

		_, err := s.service().Renew(s.Context(), license.RenewParams{ID: s.license.ID, ExpiresAt: new(time.Now().Add(365 * day))})
		is.NoErr(err)
		time.Sleep(day)
		is.Equal(p.Status().Code, client.CodeExpired)
		s.vendor.Answer()
		time.Sleep(5 * time.Minute)
		is.True(p.Status().Valid) // the renewal arrived by itself
		is.Equal(warnings(p), nil)
		synctest.Wait()
		is.Equal(changes, []client.Code{"valid", "in_grace", "expired", "valid"})
	})
}

// TestRenewalReachesAnExpiredProgram that was never cut off.
func TestRenewalReachesAnExpiredProgram(t *testing.T) {
	onStage(t, func(s stage) {
		p := s.open(s.options("pc-1"))
		time.Sleep(40 * day)
		s.Equal(p.Status().Code, client.CodeExpired)
		_, err := s.service().Renew(s.Context(), license.RenewParams{ID: s.license.ID, ExpiresAt: new(time.Now().Add(day))})
		s.NoErr(err)
		time.Sleep(time.Hour + time.Second)
		s.Equal(p.Status().Code, client.CodeValid)
	})
}

// TestPolicy is the table of the guide, line by line: what a valid program is
// after the event, and after Offline has passed.
func TestPolicy(t *testing.T) {
	move := func(move func(*license.Service, context.Context, license.MoveParams) (license.License, error)) func(stage) {
		return func(s stage) {
			_, err := move(s.service(), s.Context(), license.MoveParams{ID: s.license.ID})
			s.NoErr(err)
		}
	}
	for name, tt := range map[string]struct {
		event       func(s stage)
		then, later client.Code
		warning     client.Code
	}{
		"server unreachable": {func(s stage) { s.vendor.Die() }, client.CodeValid, client.CodeUnreachable, client.CodeUnreachable},
		"server stalls":      {func(s stage) { s.vendor.Stall() }, client.CodeValid, client.CodeUnreachable, client.CodeUnreachable},
		"5xx":                {func(s stage) { s.vendor.Lie(500, "text/plain", "oh no") }, client.CodeValid, client.CodeUnreachable, client.CodeUnreachable},
		"429":                {func(s stage) { s.vendor.Lie(429, "text/plain", "") }, client.CodeValid, client.CodeUnreachable, client.CodeUnreachable},
		"404 of a proxy":     {func(s stage) { s.vendor.Lie(404, "text/html", "<p>Not here.</p>") }, client.CodeValid, client.CodeUnreachable, client.CodeUnreachable},
		"captive portal":     {func(s stage) { s.vendor.Lie(200, "text/html", "<p>Pay.</p>") }, client.CodeValid, client.CodeUnreachable, client.CodeUnreachable},
		"other JSON":         {func(s stage) { s.vendor.Lie(200, "application/json", `{"ok":true}`) }, client.CodeValid, client.CodeUnreachable, client.CodeUnreachable},
		"unknown key": {func(s stage) {
			_, err := s.service().Rekey(s.Context(), license.RekeyParams{ID: s.license.ID})
			s.NoErr(err)
		}, client.CodeValid, client.CodeNotFound, client.CodeNotFound},
		"suspended": {move((*license.Service).Suspend), client.CodeSuspended, client.CodeSuspended, ""},
		"revoked":   {move((*license.Service).Revoke), client.CodeRevoked, client.CodeRevoked, ""},
		"product":   {func(s stage) { s.update(license.UpdateParams{ProductID: new("borealis")}) }, client.CodeProductMismatch, client.CodeProductMismatch, ""},
		"expired": {func(s stage) {
			s.update(license.UpdateParams{ExpiresAt: license.To(time.Now().Add(-day)), GraceSeconds: new(int64(0))})
		}, client.CodeExpired, client.CodeExpired, ""},
		"evicted": {func(s stage) { s.evict("pc-1") }, client.CodeEvicted, client.CodeEvicted, ""},
		"released": {func(s stage) {
			_, err := s.service().Deactivate(s.Context(), license.DeactivateParams{Key: s.license.Key, Fingerprint: "pc-1"})
			s.NoErr(err)
		}, client.CodeNotActivated, client.CodeNotActivated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s stage) {
				s.update(license.UpdateParams{ExpiresAt: license.ToNull[time.Time]()})
				o := s.options("pc-1")
				o.Offline = 2 * day
				p := s.open(o)
				s.True(p.Status().Valid)
				tt.event(s)
				time.Sleep(day + time.Minute) // a check
				st := p.Status()
				s.Equal(st.Code, tt.then)
				s.Equal(st.Valid, tt.then == client.CodeValid)
				s.Equal(p.Has("export"), st.Valid)
				var want []client.Code
				if tt.warning != "" {
					want = []client.Code{tt.warning}
				}
				s.Equal(warnings(p), want)
				s.Equal(st.CheckError != nil, tt.warning == client.CodeUnreachable)
				time.Sleep(2 * day)
				st = p.Status()
				s.Equal(st.Code, tt.later)
				s.True(!st.Valid)
				require.ErrorIs(s.T, p.Err(), tt.later)
			})
		})
	}
}

func (s stage) update(p license.UpdateParams) {
	s.Helper()
	p.ID = s.license.ID
	if _, err := s.service().Update(s.Context(), p); err != nil {
		s.Fatal(err)
	}
}

// evict takes the second seat, and that of a fingerprint.
func (s stage) evict(fingerprint string) {
	s.Helper()
	page, err := s.service().ListActivations(s.Context(), license.ListActivationsParams{LicenseID: s.license.ID})
	s.NoErr(err)
	i := slices.IndexFunc(page.Data, func(a license.Activation) bool { return a.Fingerprint == fingerprint })
	for _, other := range []string{"other-1", "other-2"} {
		_, err := s.service().Activate(s.Context(), license.ActivateParams{Key: s.license.Key, Fingerprint: other, TakeOver: page.Data[i].ID})
		s.NoErr(err)
	}
}

// TestFirstAnswer is the other half of the table: what a program is that has
// just started.
func TestFirstAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		event func(s stage, o *client.ProgramOptions)
		code  client.Code
		waits time.Duration
	}{
		"server unreachable": {func(s stage, o *client.ProgramOptions) { s.vendor.Die() }, client.CodeUnreachable, 5 * time.Second},
		"server stalls":      {func(s stage, o *client.ProgramOptions) { s.vendor.Stall() }, client.CodeUnreachable, 5 * time.Second},
		"captive portal": {func(s stage, o *client.ProgramOptions) {
			s.vendor.Lie(200, "text/html", "<p>Pay.</p>")
			o.StartWait = time.Second
		}, client.CodeUnreachable, time.Second},
		"no wait":        {func(s stage, o *client.ProgramOptions) { s.vendor.Stall(); o.StartWait = -1 }, client.CodeUnreachable, 0},
		"unknown key":    {func(s stage, o *client.ProgramOptions) { o.Key = "AAAAA" }, client.CodeNotFound, 0},
		"no key":         {func(s stage, o *client.ProgramOptions) { o.Key = " " }, client.CodeNoKey, 0},
		"other product":  {func(s stage, o *client.ProgramOptions) { o.ProductID = "borealis" }, client.CodeProductMismatch, 0},
		"no fingerprint": {func(s stage, o *client.ProgramOptions) { o.Fingerprint = "" }, client.CodeValid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s stage) {
				o := s.options("pc-1")
				tt.event(s, &o)
				start := time.Now()
				p := s.open(o)
				s.Equal(time.Since(start), tt.waits)
				s.Equal(p.Status().Code, tt.code)
				s.Equal(p.Status().Valid, tt.code == client.CodeValid)
				s.Equal(len(s.live()), 0)
			})
		})
	}
}

// TestStartDuringAnOutage: the program becomes valid as soon as the service is
// back.
func TestStartDuringAnOutage(t *testing.T) {
	onStage(t, func(s stage) {
		s.vendor.Die()
		p := s.open(s.options("pc-1"))
		require.ErrorIs(s.T, p.Err(), client.CodeUnreachable)
		require.Contains(s.T, p.Err().Error(), "connection refused")
		time.Sleep(day)
		n := len(s.vendor.Requests())
		require.Greater(s.T, n, 24*60/5)
		require.Less(s.T, n, 24*60) // at most five minutes apart, and not a flood
		s.vendor.Answer()
		time.Sleep(5 * time.Minute)
		s.True(p.Status().Valid)
	})
}

// TestRetryWithinStartWait: a service that restarts is no outage.
func TestRetryWithinStartWait(t *testing.T) {
	onStage(t, func(s stage) {
		s.vendor.Die()
		time.AfterFunc(3*time.Second, s.vendor.Answer)
		p := s.open(s.options("pc-1"))
		s.True(p.Status().Valid)
	})
}

func TestOffline(t *testing.T) {
	for offline, valid := range map[time.Duration]time.Duration{0: 7 * day, 3 * day: 3 * day} {
		onStage(t, func(s stage) {
			o := s.options("pc-1")
			o.Offline = offline
			p := s.open(o)
			s.vendor.Die()
			time.Sleep(valid - time.Minute)
			s.True(p.Status().Valid)
			time.Sleep(max(2*time.Minute, day+2*time.Minute-valid))
			s.Equal(p.Status().Code, client.CodeUnreachable)
			s.vendor.Answer()
			time.Sleep(5 * time.Minute)
			s.True(p.Status().Valid)
		})
	}
}

// TestLease: the lease is renewed; without a network it ends at the service
// while the program stays valid, and comes back with a seat.
func TestLease(t *testing.T) {
	onStage(t, func(s stage) {
		s.update(license.UpdateParams{LeaseSeconds: license.To[int64](600), MaxActivations: license.To[int64](1)})
		p := s.open(s.options("pc-1"))
		first := p.Status().ActivationID
		time.Sleep(2 * time.Hour)
		s.Equal(s.live(), []string{"pc-1"})
		s.Equal(p.Status().ActivationID, first)
		s.vendor.Die()
		time.Sleep(time.Hour) // six leases
		s.True(p.Status().Valid)
		s.Equal(len(s.live()), 0)
		s.vendor.Answer()
		time.Sleep(5 * time.Minute)
		s.True(p.Status().Valid)
		s.True(p.Status().ActivationID != first)

		// While it is away, another machine takes the seat.
		s.vendor.Die()
		time.Sleep(time.Hour)
		_, err := s.service().Activate(s.Context(), license.ActivateParams{Key: s.license.Key, Fingerprint: "pc-2"})
		s.NoErr(err)
		s.vendor.Answer()
		time.Sleep(5 * time.Minute)
		s.Equal(p.Status().Code, client.CodeActivationLimit)
		require.ErrorIs(s.T, p.Err(), client.CodeActivationLimit)
		s.Equal(s.live(), []string{"pc-2"})
		time.Sleep(2 * time.Hour) // the lease of pc-2 has ended
		s.Equal(p.Status().Code, client.CodeValid)
	})
}

// TestEvictedProgram does not fight for its seat; a restart or the key takes
// one again, if there is one.
func TestEvictedProgram(t *testing.T) {
	onStage(t, func(s stage) {
		p := s.open(s.options("pc-1"))
		s.evict("pc-1")
		s.NoErr(p.Refresh(s.Context()))
		s.Equal(p.Status().Code, client.CodeEvicted)
		time.Sleep(3 * day)
		s.Equal(p.Status().Code, client.CodeEvicted)
		s.NoErr(p.SetKey(s.Context(), s.license.Key))
		s.Equal(p.Status().Code, client.CodeActivationLimit)
		_, err := s.service().Deactivate(s.Context(), license.DeactivateParams{Key: s.license.Key, Fingerprint: s.live()[0]})
		s.NoErr(err)
		p.Close()
		p = s.open(s.options("pc-1"))
		s.True(p.Status().Valid)
	})
}

func TestSetKey(t *testing.T) {
	onStage(t, func(s stage) {
		is := s.I
		o := s.options("pc-1")
		o.Key = ""
		p := s.open(o)
		time.Sleep(day)
		is.Equal(len(s.vendor.Requests()), 0)
		require.ErrorIs(s.T, p.Refresh(s.Context()), client.CodeNoKey)
		require.ErrorIs(s.T, p.SetKey(s.Context(), ""), client.CodeNoKey)
		require.ErrorIs(s.T, p.SetKey(s.Context(), "AAAAA-BBBBB"), client.CodeNotFound)
		is.Equal(p.Status().Code, client.CodeNoKey)
		is.NoErr(p.SetKey(s.Context(), " "+s.license.Key+"\n"))
		is.True(p.Status().Valid)
		is.Equal(s.live(), []string{"pc-1"})
		time.Sleep(2 * day)
		is.True(p.Status().Valid)

		require.ErrorIs(s.T, p.SetKey(s.Context(), "AAAAA-BBBBB"), client.CodeNotFound)
		s.vendor.Die()
		is.True(p.SetKey(s.Context(), s.license.Key) != nil)
		is.True(p.Status().Valid) // the key in use stays
		s.vendor.Answer()
		_, err := s.service().Suspend(s.Context(), license.MoveParams{ID: s.license.ID})
		is.NoErr(err)
		is.NoErr(p.SetKey(s.Context(), s.license.Key))
		is.Equal(p.Status().Code, client.CodeSuspended)
	})
}

func TestClose(t *testing.T) {
	onStage(t, func(s stage) {
		o := s.options("pc-1")
		p := s.open(o)
		s.NoErr(p.Close())
		s.Equal(s.live(), []string{"pc-1"})
		s.vendor.Requests()
		time.Sleep(3 * day)
		s.Equal(len(s.vendor.Requests()), 0)
		s.True(p.Refresh(s.Context()) != nil)
		s.True(p.SetKey(s.Context(), s.license.Key) != nil)
		s.Equal(p.Status().CheckError, nil)

		o.ReleaseOnClose = true
		p = s.open(o)
		s.NoErr(p.Close())
		s.Equal(len(s.live()), 0)
		s.NoErr(p.Close())

		p = s.open(o)
		s.vendor.Stall()
		start := time.Now()
		s.True(p.Close() != nil)
		s.Equal(time.Since(start), 5*time.Second)
	})
}

// TestCloseDuringACheck ends it.
func TestCloseDuringACheck(t *testing.T) {
	onStage(t, func(s stage) {
		p := s.open(s.options("pc-1"))
		s.vendor.Stall()
		failed := make(chan error)
		go func() { failed <- p.Refresh(s.Context()) }()
		synctest.Wait()
		start := time.Now()
		s.NoErr(p.Close())
		s.True(<-failed != nil)
		s.Equal(time.Since(start), time.Duration(0))
		s.True(p.Status().Valid)
	})
}

// TestConcurrentUse, for the race detector: 64 goroutines share one check.
func TestConcurrentUse(t *testing.T) {
	onStage(t, func(s stage) {
		o := s.options("pc-1")
		o.OnChange = func(client.Status) {}
		p := s.open(o)
		s.vendor.Requests()
		var work sync.WaitGroup
		for i := range 64 {
			work.Go(func() {
				switch i % 4 {
				case 0:
					if err := p.Refresh(s.Context()); err != nil {
						s.Error(err)
					}
				case 1:
					if err := p.SetKey(s.Context(), s.license.Key); err != nil {
						s.Error(err)
					}
				default:
					for range 1000 {
						if !p.Status().Valid || !p.Has("export") {
							s.Error("not valid")
						}
					}
					_, _ = p.Metrics(), p.Report()
				}
			})
		}
		work.Wait()
		s.Equal(s.live(), []string{"pc-1"})
		slow := s.options("pc-1")
		slow.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return s.vendor.HTTPClient().Transport.RoundTrip(r)
		})}
		p = s.open(slow)
		s.vendor.Requests()
		refresh := func() {
			if err := p.Refresh(s.Context()); err != nil {
				s.Error(err)
			}
		}
		work.Go(refresh)
		synctest.Wait() // its check has begun
		for range 63 {
			work.Go(refresh)
		}
		work.Wait()
		s.Equal(len(s.vendor.Requests()), 2) // the check of the first, and one that began after all calls
	})
}

// TestOnChange is called for changes only, one after the other.
func TestOnChange(t *testing.T) {
	onStage(t, func(s stage) {
		o := s.options("pc-1")
		var got []client.Status
		o.OnChange = func(st client.Status) { got = append(got, st) }
		p := s.open(o)
		time.Sleep(10 * day)
		synctest.Wait()
		s.Equal(len(got), 0)
		s.update(license.UpdateParams{Entitlements: license.To(map[string]any{"import": true})})
		s.NoErr(p.Refresh(s.Context()))
		synctest.Wait()
		s.Equal(len(got), 1)
		s.Equal(got[0].Entitlements["import"], true)
		s.vendor.Die()
		time.Sleep(2 * day)
		synctest.Wait()
		s.Equal(len(got), 2) // the warning, once
		s.Equal(got[1].Warnings[0].Code, client.CodeUnreachable)
	})
}

// TestNoGoroutineStays after Close, with a network.
func TestNoGoroutineStays(t *testing.T) {
	is := is.New(t)
	h, _, _ := newHandler(t, licensing.Options{})
	l, err := h.Service().Create(t.Context(), license.CreateParams{Name: "n", ProductID: "atlas", CustomerID: "c"})
	is.NoErr(err)
	server := httptest.NewServer(h)
	defer server.Close()
	before := runtime.NumGoroutine()
	for range 10 {
		p, err := client.Open(client.ProgramOptions{URL: server.URL, Key: l.Key, ProductID: "atlas", Fingerprint: "pc-1"})
		is.NoErr(err)
		is.True(p.Status().Valid)
		is.NoErr(p.Close())
	}
	server.CloseClientConnections()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, before %d", n, before)
	}
}

// TestWrongLocalClock: the program judges by the clock of the service.
func TestWrongLocalClock(t *testing.T) {
	onStage(t, func(s stage) {
		for _, ahead := range []time.Duration{400 * day, -400 * day} {
			o := s.options("pc-1")
			o.Offline = 300 * day
			o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				resp, err := s.vendor.HTTPClient().Transport.RoundTrip(r)
				if err == nil {
					resp.Header.Set("Date", time.Now().Add(-ahead).UTC().Format(http.TimeFormat))
				}
				return resp, err
			})}
			end := time.Now().Add(-ahead).Add(10 * day)
			verdict := `{"valid":true,"code":"valid","reasons":[],"license":{"id":"lic_1","expires_at":"` + end.Format(time.RFC3339) + `"},"recheck_after":86400}`
			s.vendor.Lie(200, "application/json", verdict)
			p := s.open(o)
			s.vendor.Die()
			time.Sleep(10*day - 10*time.Second)
			s.Equal(p.Status().Code, client.CodeValid)
			time.Sleep(20 * time.Second)
			s.Equal(p.Status().Code, client.CodeExpired)
			s.NoErr(p.Close())
		}
	})
}

func TestRequire(t *testing.T) {
	is := is.New(t)
	report := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("the report")) })
	for name, tt := range map[string]struct {
		status client.Status
		code   int
		body   string
	}{
		"valid":       {client.Status{Valid: true, Entitlements: map[string]any{"export": 0.0}}, 200, "the report"},
		"not in it":   {client.Status{Valid: true, Entitlements: map[string]any{"import": true}}, 403, "does not include export"},
		"expired":     {client.Status{Code: client.CodeExpired, Entitlements: map[string]any{"export": true}}, 403, "expired"},
		"unreachable": {client.Status{}, 403, "unreachable"},
	} {
		p := client.Fixed(tt.status)
		w := httptest.NewRecorder()
		p.Require("export")(report).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != tt.code {
			t.Errorf("%s: the status is %d, want %d", name, w.Code, tt.code)
		}
		require.Contains(t, w.Body.String(), tt.body)
		if tt.code == 403 {
			is.Equal(w.Header().Get("Content-Type"), "application/problem+json")
			require.Contains(t, w.Body.String(), `"code":"license_denied"`)
		}
		w = httptest.NewRecorder()
		p.Require()(report).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		is.Equal(w.Code == 200, tt.status.Valid)
	}
}

func TestFixed(t *testing.T) {
	is := is.New(t)
	want := client.Status{Valid: true, Code: client.CodeInGrace, ExpiresAt: time.Unix(1, 0), Entitlements: map[string]any{"users": 3.0}}
	p := client.Fixed(want)
	is.True(reflect.DeepEqual(p.Status(), want))
	n, ok := p.Number("users")
	is.True(ok && n == 3)
	is.NoErr(p.Err())
	is.NoErr(p.Refresh(t.Context()))
	is.NoErr(p.SetKey(t.Context(), "k"))
	is.NoErr(p.Close())
	require.ErrorIs(t, client.Fixed(client.Status{Code: client.CodeRevoked}).Err(), client.CodeRevoked)
}

func TestMetricsAndReport(t *testing.T) {
	onStage(t, func(s stage) {
		p := s.open(s.options("pc-1"))
		s.vendor.Lie(502, "text/html", "")
		time.Sleep(3*day + time.Hour)
		text := p.Metrics()
		for _, want := range []string{
			"\nlicensekit_license_valid 1\n", `licensekit_license_status{code="valid",source="online"} 1` + "\n",
			"\nlicensekit_license_expires_seconds 2.4156e+06\n", "\nlicensekit_license_last_check_timestamp_seconds ",
			"# TYPE licensekit_license_valid gauge\n",
		} {
			if !strings.Contains(text, want) {
				s.Errorf("the metrics lack %q:\n%s", want, text)
			}
		}
		text = p.Report()
		for _, want := range []string{"pc-1", "atlas", s.license.ID, "unreachable", "502", licensingtest.VendorURL, runtime.GOOS} {
			if !strings.Contains(text, want) {
				s.Errorf("the report lacks %q:\n%s", want, text)
			}
		}
		for part := range strings.SplitSeq(s.license.Key, "-") {
			require.NotContains(s.T, text, part)
		}
		text = client.Fixed(client.Status{}).Metrics()
		require.Contains(s.T, text, "licensekit_license_valid 0\n")
		require.NotContains(s.T, text, "expires", "last_check")
	})
}

func TestStatusAllocatesNothing(t *testing.T) {
	onStage(t, func(s stage) {
		p := s.open(s.options("pc-1"))
		s.Equal(testing.AllocsPerRun(100, func() {
			if !p.Status().Valid || !p.Has("export") {
				s.Fatal("not valid")
			}
		}), 0.0)
	})
}

func BenchmarkStatus(b *testing.B) {
	v := licensingtest.NewVendor(b)
	end := time.Now().Add(day)
	l, err := v.Handler.Service().Create(b.Context(), license.CreateParams{Name: "n", ProductID: "atlas", CustomerID: "c", ExpiresAt: &end, GraceSeconds: 60})
	if err != nil {
		b.Fatal(err)
	}
	p, err := client.Open(client.ProgramOptions{URL: licensingtest.VendorURL, Key: l.Key, ProductID: "atlas", HTTPClient: v.HTTPClient()})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	b.ReportAllocs()
	for b.Loop() {
		if !p.Status().Valid {
			b.Fatal("not valid")
		}
	}
}
