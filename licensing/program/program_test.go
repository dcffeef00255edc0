package program

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// TestFirstStart: the program takes a seat, gets a license file, and checks each
// hour without another one until half of its lifetime.
func TestFirstStart(t *testing.T) {
	onStage(t, func(s *stage) {
		is := s.I
		s.offline(2 * day)
		b := s.box("pc-1")
		l := b.open()
		s.is(l, "valid")
		st := l.Status()
		is.Equal(st.LicensedTo, "Acme Ltd")
		is.Equal(st.LicenseID, s.license.ID)
		is.Equal(st.ValidUntil.UTC(), time.Now().Add(2*day).UTC())
		is.Equal(st.CheckedAt, time.Now())
		is.True(st.ExpiresAt.IsZero())
		is.NoErr(st.Err())
		is.True(l.Has("export") && l.Has("users") && !l.Has("import"))
		n, ok := l.Number("users")
		is.True(ok)
		is.Equal(n, 5.0)
		tier, ok := l.Text("tier")
		is.True(ok)
		is.Equal(tier, "gold")
		_, ok = l.Text("users")
		is.True(!ok)
		is.Equal(s.seats(), []string{"pc-1"})
		synctest.Wait()
		is.Equal(paths(s.requests()), []string{"/license/activate", "/file/revocations"})
		is.Equal(b.files(), []string{"clock", "license.json", "next-check", "revocations.jwt"})

		time.Sleep(21 * time.Hour)
		files, checks := 0, 0
		for _, r := range s.requests() {
			if r.file {
				files++
			} else if r.path == "/license/validate" {
				checks++
			}
		}
		is.Equal(files, 0)
		require.AtLeast(t, checks, 20)
		require.AtMost(t, checks, 24)
		time.Sleep(5 * time.Hour)
		for _, r := range s.requests() {
			if r.file {
				files++
			}
		}
		is.Equal(files, 1)
		is.Equal(b.changes[0], api.VerdictValid) // of ValidUntil
		is.Equal(len(b.changes), 1)
		require.Greater(t, time.Until(l.Status().ValidUntil), 40*time.Hour)
	})
}

// TestOpenWaits only without a license file, and at most five seconds.
func TestOpenWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		event         func(*stage)
		without, with time.Duration
	}{
		"the service stalls":        {func(s *stage) { s.vendor.Stall() }, 5 * time.Second, 0},
		"the connection is refused": {func(s *stage) { s.vendor.Die() }, 0, 0},
		"the service is down":       {func(s *stage) { s.vendor.Lie(503, "text/plain", "") }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				s.NoErr(b.open().Close())
				tt.event(s)
				start := time.Now()
				l := b.open()
				s.Equal(time.Since(start), tt.with)
				s.True(l.Status().Valid) // the check is in the background
				other := s.box("pc-2").open()
				s.Equal(time.Since(start), tt.without)
				if tt.without > 0 {
					s.is(other, CodeUnreachable)
				} else {
					s.is(other, CodeUnreachable, CodeUnreachable)
				}
				require.ErrorIs(t, other.Status().Err(), CodeUnreachable)
				time.Sleep(30 * time.Second)
				s.is(l, "valid", CodeUnreachable)
				s.vendor.Answer()
				time.Sleep(2 * time.Minute)
				s.is(l, "valid")
				s.is(other, "valid")
			})
		})
	}
}

// foreignFile replaces license files with ones that another key has signed.
func foreignFile(s *stage) func(*http.Request, func() answerOf) answerOf {
	_, key := newKey(s.T)
	return change(func(v map[string]any) {
		if text, ok := v["file"].(string); ok {
			c := claimsOf(s.T, text)
			var err error
			v["file"], err = licensefile.Sign(c, key)
			s.NoErr(err)
		}
	})
}

// TestOutages: whatever the service does, if it proves nothing, the license file
// counts until it expires, restarts included.
func TestOutages(t *testing.T) {
	const positive = `{"valid":true,"code":"valid","reasons":[],"license":{"id":"lic_1","entitlements":{"all":true}},"recheck_after":3600}`
	const unknown = `{"valid":false,"code":"not_found","reasons":[{"code":"not_found","detail":"No license has this key."}],"recheck_after":3600}`
	for name, tt := range map[string]struct {
		event   func(*stage)
		warning []api.Code
		list    []api.Code // after a restart, too
		ended   api.Code
	}{
		"refuses connections": {func(s *stage) { s.meddle(refuse) }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"resets connections": {func(s *stage) {
			s.meddle(func(*http.Request, func() answerOf) answerOf {
				return answerOf{nil, errors.New("connection reset by peer")}
			})
		}, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"stalls": {func(s *stage) { s.vendor.Stall() }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"500":    {func(s *stage) { s.vendor.Lie(500, "application/problem+json", `{"code":"internal","status":500}`) }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"503":    {func(s *stage) { s.vendor.Lie(503, "text/plain", "busy") }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"429":    {func(s *stage) { s.vendor.Lie(429, "text/plain", "") }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"404":    {func(s *stage) { s.vendor.Lie(404, "text/html", "<p>Not here.</p>") }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"redirect": {func(s *stage) {
			s.meddle(respond(302, "text/html", "", "Location", "https://portal.test/"))
		}, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"captive portal":  {func(s *stage) { s.vendor.Lie(200, "text/html", "<p>Pay.</p>") }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"no verdict":      {func(s *stage) { s.vendor.Lie(200, "application/json", `{"ok":true}`) }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"half of JSON":    {func(s *stage) { s.vendor.Lie(200, "application/json", positive[:40]) }, []api.Code{CodeUnreachable}, nil, CodeFileExpired},
		"a lie":           {func(s *stage) { s.vendor.Lie(200, "application/json", positive) }, []api.Code{CodeUntrusted}, []api.Code{CodeListRefused}, CodeFileExpired},
		"a foreign key":   {func(s *stage) { s.update(api.UpdateLicenseParams{Name: new("Other")}); s.meddle(foreignFile(s)) }, []api.Code{CodeUntrusted}, nil, CodeFileExpired},
		"the key unknown": {func(s *stage) { s.vendor.Lie(200, "application/json", unknown) }, []api.Code{api.VerdictNotFound, CodeListRefused}, nil, api.VerdictNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.offline(6 * time.Hour)
				b := s.box("pc-1")
				l := b.open()
				until := l.Status().ValidUntil
				time.Sleep(time.Minute)
				tt.event(s)
				time.Sleep(2 * time.Hour)
				s.is(l, "valid", tt.warning...)
				s.True(!l.Has("all"))
				l = b.restart(l)
				s.True(l.Status().Valid)
				time.Sleep(time.Minute)
				s.is(l, "valid", append(tt.warning, tt.list...)...)
				s.True(l.Status().ValidUntil.Equal(until))
				time.Sleep(time.Until(until) - time.Second)
				s.True(l.Status().Valid)
				time.Sleep(time.Second)
				s.True(!l.Status().Valid)
				s.Equal(l.Status().Code, tt.ended)
				s.True(!l.Has("export"))
				l = b.restart(l)
				s.True(!l.Status().Valid)
				s.meddle(nil)
				s.vendor.Answer()
				time.Sleep(time.Hour)
				s.is(l, "valid")
			})
		})
	}
}

// TestUnknownKey: only the signed revocation list tells that the license was
// deleted or got another key.
func TestUnknownKey(t *testing.T) {
	for code, event := range map[api.Code]func(*stage){
		api.VerdictRevoked: func(s *stage) {
			s.NoErr(s.service().Delete(s.Context(), api.DeleteLicenseParams{ID: s.license.ID}))
		},
		CodeFileOutdated: func(s *stage) {
			_, err := s.service().Rekey(s.Context(), api.RekeyLicenseParams{ID: s.license.ID})
			s.NoErr(err)
		},
	} {
		t.Run(string(code), func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				l := b.open()
				time.Sleep(10 * time.Minute) // the list is older than the change
				event(s)
				time.Sleep(time.Hour + 5*time.Minute)
				s.is(l, code, api.VerdictNotFound)
				s.vendor.Die()
				l = b.restart(l)
				s.is(l, code, CodeUnreachable)
			})
		})
	}
}

// TestRekeyed: another key in the options makes the file of the old key useless.
func TestRekeyed(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		l := b.open()
		rekeyed, err := s.service().Rekey(s.Context(), api.RekeyLicenseParams{ID: s.license.ID})
		s.NoErr(err)
		b.opts.Key = rekeyed.Key
		s.vendor.Die()
		l = b.restart(l)
		s.is(l, CodeUnreachable, CodeUnreachable)
		s.vendor.Answer()
		time.Sleep(time.Minute)
		s.is(l, "valid")
		text, err := os.ReadFile(filepath.Join(b.opts.Dir, licenseName))
		s.NoErr(err)
		require.NotContains(s.T, string(text), rekeyed.Key)
		s.Equal(s.seats(), []string{"pc-1"})
	})
}

// TestDenials: a denial counts at the next check, with the reason, also after a
// restart without the service, until a newer license file arrives.
func TestDenials(t *testing.T) {
	for code, tt := range map[api.Code]struct {
		event, undo func(*stage)
		message     string
	}{
		api.VerdictSuspended: {
			func(s *stage) { s.move((*license.Service).Suspend, "Invoice 7 is unpaid.") },
			func(s *stage) { s.move((*license.Service).Reinstate, "") },
			"The license is suspended: Invoice 7 is unpaid.",
		},
		api.VerdictRevoked: {
			func(s *stage) { s.move((*license.Service).Revoke, "Fraud.") }, nil, "The license was revoked: Fraud.",
		},
		api.VerdictProductMismatch: {
			func(s *stage) { s.update(api.UpdateLicenseParams{ProductID: new("borealis")}) },
			func(s *stage) { s.update(api.UpdateLicenseParams{ProductID: new("atlas")}) },
			"The license is for another product.",
		},
		api.VerdictExpired: {
			func(s *stage) { s.update(api.UpdateLicenseParams{ExpiresAt: api.To(time.Now().Add(-day))}) },
			func(s *stage) { s.update(api.UpdateLicenseParams{ExpiresAt: api.ToNull[time.Time]()}) },
			"The license expired on " + time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC).Add(-time.Millisecond).Local().Format("2 January 2006") + "; renew it.",
		},
	} {
		t.Run(string(code), func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				l := b.open()
				tt.event(s)
				s.is(l, "valid")
				time.Sleep(time.Hour)
				s.is(l, code)
				s.Equal(l.Status().Message(), tt.message)
				s.Equal(l.Status().Err().Error(), tt.message)
				s.True(l.Status().ValidUntil.IsZero())
				s.vendor.Die()
				l = b.restart(l)
				s.is(l, code, CodeUnreachable)
				s.Equal(l.Status().Message(), tt.message)
				s.NoErr(os.Remove(filepath.Join(b.opts.Dir, listName)))
				l = b.restart(l)
				s.is(l, code, CodeUnreachable)
				s.vendor.Answer()
				time.Sleep(2 * time.Hour)
				s.is(l, code)
				if tt.undo == nil {
					return
				}
				tt.undo(s)
				time.Sleep(time.Hour)
				s.is(l, "valid")
				require.NotContains(s.T, strings.Join(b.files(), " "), denialName)
				s.vendor.Die()
				s.True(b.restart(l).Status().Valid)
			})
		})
	}
}

// TestChangedLicense: a new license file comes when the license has changed.
func TestChangedLicense(t *testing.T) {
	onStage(t, func(s *stage) {
		l := s.box("pc-1").open()
		s.update(api.UpdateLicenseParams{Entitlements: api.To(map[string]any{"import": true}), Name: new("Acme Inc")})
		time.Sleep(time.Hour)
		s.is(l, "valid")
		s.True(l.Has("import") && l.Has("export"))
		s.Equal(l.Status().LicensedTo, "Acme Inc")
	})
}

// TestExtendedUpdates: the program fetches a file with the new end, so that a build
// before it runs offline.
func TestExtendedUpdates(t *testing.T) {
	onStage(t, func(s *stage) {
		until := time.Now().Add(day).Truncate(time.Second)
		s.update(api.UpdateLicenseParams{UpdatesUntil: api.To(until)})
		b := s.box("pc-1")
		b.opts.BuiltAt = until
		l := b.open()
		s.is(l, "valid")
		s.update(api.UpdateLicenseParams{UpdatesUntil: api.To(until.Add(day))})
		time.Sleep(time.Hour)
		s.vendor.Die()
		b.opts.BuiltAt = until.Add(day)
		l = b.restart(l)
		time.Sleep(startDelay)
		synctest.Wait()
		s.is(l, "valid", CodeUnreachable)
	})
}

// TestReinstatedWithAnOldList: a file that was issued after the list counts, although
// the list refuses all files of the license.
func TestReinstatedWithAnOldList(t *testing.T) {
	onStage(t, func(s *stage) {
		l := s.box("pc-1").open()
		time.Sleep(2 * time.Hour) // the service signs another list
		s.move((*license.Service).Suspend, "unpaid")
		s.NoErr(l.Refresh(s.Context()))
		s.is(l, api.VerdictSuspended)
		s.Equal(len(l.revoked.Licenses), 1)
		s.meddle(func(req *http.Request, carry func() answerOf) answerOf {
			if strings.HasSuffix(req.URL.Path, "/file/revocations") {
				return refuse(req, carry)
			}
			return carry()
		})
		time.Sleep(time.Minute)
		s.move((*license.Service).Reinstate, "")
		s.NoErr(l.Refresh(s.Context()))
		s.True(l.Status().Valid)
	})
}

// TestOldDenial: a denial that could not be removed does not count beside a newer file.
func TestOldDenial(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		l := b.open()
		old, err := json.Marshal(denial{Code: api.VerdictSuspended, Key: l.digest(), Since: time.Now().Add(-time.Hour)})
		s.NoErr(err)
		s.NoErr(l.Close())
		s.NoErr(disk{b.opts.Dir}.write(denialName, string(old)))
		s.vendor.Die()
		l = b.open()
		time.Sleep(startDelay)
		synctest.Wait()
		s.is(l, "valid", CodeUnreachable)
	})
}

// TestEndOffline: the license ends on time while the service cannot be reached,
// and a renewal arrives by itself.
func TestEndOffline(t *testing.T) {
	onStage(t, func(s *stage) {
		end := time.Now().Add(10 * time.Hour)
		s.update(api.UpdateLicenseParams{ExpiresAt: api.To(end), GraceSeconds: new(int64(2 * 60 * 60))})
		b := s.box("pc-1")
		l := b.open()
		s.True(l.Status().ExpiresAt.Equal(end))
		s.True(l.Status().ValidUntil.Equal(end.Add(2 * time.Hour)))
		s.Equal(l.Status().Message(), "The license is valid until "+end.Local().Format("2 January 2006")+".")
		time.Sleep(time.Minute)
		s.vendor.Die()
		time.Sleep(time.Until(end) - time.Second)
		s.is(l, "valid", CodeUnreachable)
		time.Sleep(time.Second)
		s.is(l, "in_grace", CodeUnreachable)
		require.Contains(s.T, l.Status().Message(), end.Add(2*time.Hour).Local().Format("2 January 2006"))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		s.is(l, "expired", CodeUnreachable)
		s.Equal(b.changes, []api.Code{"valid", "in_grace", "expired"}) // the first for the warning
		s.is(b.restart(l), "expired", CodeUnreachable)
		_, err := s.service().Renew(s.Context(), api.RenewLicenseParams{ID: s.license.ID, ExpiresAt: new(time.Now().Add(365 * day))})
		s.NoErr(err)
		s.vendor.Answer()
		s.is(b.open(), "valid")
	})
}

// TestNeverEnds: the last instant of the year 9999 is never. A license file and the status do not
// name it, and the program, which compares the two, asks for no other file.
func TestNeverEnds(t *testing.T) {
	onStage(t, func(s *stage) {
		last := api.To(time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC))
		s.update(api.UpdateLicenseParams{ExpiresAt: last, UpdatesUntil: last})
		l := s.box("pc-1").open()
		noEnd := func(code api.Code) {
			s.is(l, code)
			s.True(l.Status().ExpiresAt.IsZero())
			s.True(l.Status().UpdatesUntil.IsZero())
		}
		noEnd("valid")
		s.Equal(l.Status().Message(), "The license is valid.")
		s.requests()
		for range 3 {
			s.NoErr(l.Refresh(s.Context()))
		}
		for _, r := range s.requests() {
			s.True(!r.file)
		}
		s.move((*license.Service).Suspend, "unpaid")
		s.NoErr(l.Refresh(s.Context()))
		noEnd(api.VerdictSuspended)
	})
}

// TestStatusAsJSON: the status is for logs and monitoring, and has no key.
func TestStatusAsJSON(t *testing.T) {
	onStage(t, func(s *stage) {
		l := s.box("pc-1").open()
		text, err := json.Marshal(l.Status())
		s.NoErr(err)
		require.Contains(s.T, string(text), `"valid":true,"code":"valid","license_id":"lic_`)
		require.Contains(s.T, string(text), `"valid_until":"`)
		require.NotContains(s.T, string(text), s.license.Key)
		text, err = json.Marshal(Status{Code: CodeNoKey})
		s.NoErr(err)
		s.Equal(string(text), `{"valid":false,"code":"no_key"}`)
	})
}

// TestStatusIsFree: the methods for hot paths allocate nothing.
func TestStatusIsFree(t *testing.T) {
	is := is.New(t)
	l := Fixed(Status{Valid: true, Entitlements: map[string]any{"users": 5.0}})
	is.Equal(testing.AllocsPerRun(100, func() {
		l.Has("users")
		l.Number("users")
		if !l.Status().Valid {
			panic("not valid")
		}
	}), 0.0)
}

// TestFixed: a license for the tests of a program.
func TestFixed(t *testing.T) {
	is := is.New(t)
	l := Fixed(Status{Valid: true, Entitlements: map[string]any{"export": true}})
	is.True(l.Has("export"))
	is.Equal(l.Status().Code, api.VerdictValid)
	for _, err := range []error{l.SetKey(t.Context(), "k"), l.TakeOver(t.Context()), l.Refresh(t.Context()), l.Release(t.Context()), l.Install("x"), l.Close()} {
		is.NoErr(err)
	}
	_, err := l.Request()
	is.True(err != nil)
	require.ErrorIs(t, Fixed(Status{}).Status().Err(), CodeUnreachable)
}

// TestMessages: every code has a sentence without a package prefix.
func TestMessages(t *testing.T) {
	for _, code := range []api.Code{
		api.VerdictValid, api.VerdictInGrace, api.VerdictNotFound, api.VerdictRevoked, api.VerdictSuspended, api.VerdictExpired,
		api.VerdictScheduled, api.VerdictProductMismatch, api.VerdictNotActivated, api.VerdictLeaseEnded, api.VerdictEvicted,
		api.VerdictActivationLimit, api.VerdictFileTooLarge, CodeNoKey, CodeNoFile, CodeUnreachable, CodeUntrusted, CodeFileExpired,
		CodeFileOutdated, CodeFingerprintRequired, CodeFingerprintChanged, CodeClockChanged,
	} {
		text := Status{Code: code}.Message()
		if text[0] < 'A' || text[0] > 'Z' || !strings.HasSuffix(text, ".") || strings.Contains(text, "program:") || strings.Contains(text, "(") {
			t.Errorf("the message of %s is %q", code, text)
		}
	}
	require.Contains(t, Status{Code: "of_the_future", Reason: "Why?"}.Message(), "of_the_future): Why?")
}

// TestCloseDuringARequest leaves no goroutine, which the bubble would report, and
// no file.
func TestCloseDuringARequest(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		s.vendor.Stall()
		l := b.open()
		done := make(chan error)
		for _, call := range []func() error{
			func() error { return l.SetKey(context.Background(), s.license.Key) },
			func() error { return l.Refresh(context.Background()) },
			func() error { return l.Release(context.Background()) },
		} {
			go func() { done <- call() }()
		}
		time.Sleep(time.Second)
		start := time.Now()
		s.NoErr(l.Close())
		for range 3 {
			require.ErrorIs(s.T, <-done, errClosed)
		}
		s.NoErr(l.Close())
		require.ErrorIs(s.T, l.Refresh(s.Context()), errClosed)
		require.Less(s.T, time.Since(start), time.Second)
		s.Equal(len(b.files()), 0)
	})
}
