package program

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// TestRetryAfter is a floor, with jitter above it, up to an hour.
func TestRetryAfter(t *testing.T) {
	for said, want := range map[string]time.Duration{"": 10 * time.Second, "1": 10 * time.Second, "600": 10 * time.Minute, "86400": time.Hour} {
		t.Run(said, func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.meddle(respond(429, "application/problem+json", `{"code":"rate_limited","status":429}`, "Retry-After", said))
				for i := range 50 {
					b := s.box(strconv.Itoa(i))
					b.opts.Dir = "/dev/null/none" // from memory
					b.open()
				}
				time.Sleep(2 * time.Hour)
				sent := s.requests()
				slices.SortFunc(sent, func(a, b sentRequest) int { return a.at.Compare(b.at) })
				first, next := sent[0].at, sent[50].at
				s.Equal(sent[49].at, first)
				require.AtLeast(s.T, next.Sub(first), want) // none is early
				require.AtMost(s.T, sent[99].at.Sub(first), want+min(want, 5*time.Minute)/2)
				require.AtLeast(s.T, sent[99].at.Sub(next), min(want, 5*time.Minute)/4) // and not all together
			})
		})
	}
}

// TestStorm: hundreds of programs that start while the service fails send hardly
// more than the programs that start while it answers, and are spread once it is back.
func TestStorm(t *testing.T) {
	for name, programs := range map[string]int{"first start": 300, "restart": 50} {
		stored := name == "restart"
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc")
				b.opts.OnChange = nil
				if stored {
					s.NoErr(b.open().Close()) // and all share its directory
				} else {
					b.opts.Dir = "/dev/null/none"
				}
				answer := func(req *http.Request, carry func() answerOf) answerOf {
					if strings.HasSuffix(req.URL.Path, "/validate") || strings.HasSuffix(req.URL.Path, "/revocations") {
						return carry()
					}
					return respond(409, "application/problem+json", `{"code":"suspended","verdict":{"valid":false,"code":"suspended","reasons":[{"code":"suspended"}],"recheck_after":3600}}`)(req, carry)
				}
				start := func() (all []*License) {
					var mu sync.Mutex
					var wg sync.WaitGroup
					for range programs {
						wg.Go(func() {
							l, err := open(b.opts, b.machine, b.wall)
							if err != nil {
								s.Error(err)
								return
							}
							mu.Lock()
							defer mu.Unlock()
							all = append(all, l)
						})
					}
					wg.Wait()
					return all
				}
				end := func(all []*License) {
					for _, l := range all {
						l.Close()
					}
				}
				s.requests()
				s.meddle(answer)
				all := start()
				time.Sleep(time.Minute)
				healthy := len(s.requests())
				end(all)

				s.meddle(respond(503, "text/plain", ""))
				all = start()
				time.Sleep(time.Minute)
				failing := len(s.requests())
				require.AtMost(s.T, failing, healthy*3/2)

				time.Sleep(6 * time.Minute)
				s.meddle(answer)
				s.requests()
				back := time.Now()
				time.Sleep(8 * time.Minute)
				perSecond := map[time.Duration]int{}
				validated := 0
				for _, r := range s.requests() {
					perSecond[r.at.Sub(back).Truncate(10*time.Second)]++
					if r.path != "/file/revocations" {
						validated++
					}
				}
				require.AtLeast(s.T, validated, programs)
				for at, n := range perSecond {
					if n > programs/5+20 { // evenly, it would be two thirds of a fifth
						s.Errorf("%d requests in the ten seconds after %v", n, at)
					}
				}
				end(all)
			})
		})
	}
}

// TestRefusedLists: a revocation list that does not count gives a warning.
func TestRefusedLists(t *testing.T) {
	_, foreign := newKey(t)
	for name, answer := range map[string]func(*stage) func(*http.Request, func() answerOf) answerOf{
		"HTML": func(*stage) func(*http.Request, func() answerOf) answerOf {
			return respond(200, "text/html", "<p>Pay.</p>")
		},
		"503": func(*stage) func(*http.Request, func() answerOf) answerOf { return respond(503, "text/plain", "") },
		"a foreign key": func(s *stage) func(*http.Request, func() answerOf) answerOf {
			return respond(200, "application/jwt", list(s.T, foreign, time.Now()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				lie := answer(s)
				s.meddle(func(req *http.Request, carry func() answerOf) answerOf {
					if strings.HasSuffix(req.URL.Path, "/file/revocations") {
						return lie(req, carry)
					}
					return carry()
				})
				l := s.box("pc-1").open()
				time.Sleep(time.Second)
				s.is(l, "valid", CodeListRefused)
				s.meddle(nil)
				time.Sleep(time.Hour)
				s.is(l, "valid")
			})
		})
	}
}

// TestLargeList: a program asks for the list of its license when that of the product
// is too large, and the list of another license does not replace it.
func TestLargeList(t *testing.T) {
	onStage(t, func(s *stage) {
		tooLarge := respond(409, "application/problem+json", `{"status":409,"code":"list_too_large"}`)
		s.meddle(func(req *http.Request, carry func() answerOf) answerOf {
			if strings.HasSuffix(req.URL.Path, "/file/revocations") && req.URL.Query().Get("license_id") == "" {
				return tooLarge(req, carry)
			}
			return carry()
		})
		b := s.box("pc-1")
		l := b.open()
		time.Sleep(time.Minute)
		s.is(l, "valid")
		text, err := s.vendor.Handler.Files().LicenseRevocations(s.Context(), "atlas", "lic_other")
		s.NoErr(err)
		require.ErrorIs(s.T, l.Install(text), licensefile.ErrOtherLicense)

		s.NoErr(s.service().Delete(s.Context(), api.DeleteLicenseParams{ID: s.license.ID}))
		time.Sleep(time.Hour + 5*time.Minute)
		s.is(l, api.VerdictRevoked, api.VerdictNotFound)
		s.vendor.Die()
		l = b.restart(l)
		s.is(l, api.VerdictRevoked, CodeUnreachable)
	})
}

// TestTwoProcesses share a directory: one takes the seat for both, and a denial, a
// new key and a new file reach the other.
func TestTwoProcesses(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.opts.Key = ""
		s.offline(6 * time.Hour)
		one, two := b.open(), b.open()
		synctest.Wait()
		s.NoErr(one.SetKey(s.Context(), s.license.Key))
		s.is(two, CodeNoKey)
		s.meddle(refuse) // for the second one, the directory is enough
		time.Sleep(6 * time.Minute)
		s.is(two, "valid", CodeUnreachable)
		s.meddle(nil)
		s.Equal(s.seats(), []string{"pc-1"})
		time.Sleep(8 * time.Hour)
		s.is(one, "valid")
		s.is(two, "valid")
		s.move((*license.Service).Suspend, "unpaid")
		s.NoErr(one.Refresh(s.Context()))
		s.is(one, api.VerdictSuspended)
		s.meddle(refuse)
		time.Sleep(6 * time.Minute)
		s.True(!two.Status().Valid)
		s.Equal(two.Status().Code, api.VerdictSuspended)
		s.meddle(nil)
		s.move((*license.Service).Reinstate, "")
		time.Sleep(2 * time.Hour)
		s.is(one, "valid")
		s.is(two, "valid")
		s.Equal(b.files(), []string{"clock", "key", "license.json", "next-check", "revocations.jwt"})
	})
}

// TestTwoProcessesWithAnotherKey: a denial of the old key says nothing of the new one.
func TestTwoProcessesWithAnotherKey(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.opts.Key = ""
		one, two := b.open(), b.open()
		synctest.Wait()
		s.NoErr(one.SetKey(s.Context(), s.license.Key))
		s.move((*license.Service).Suspend, "unpaid")
		s.NoErr(one.Refresh(s.Context()))
		time.Sleep(6 * time.Minute)
		s.Equal(two.Status().Code, api.VerdictSuspended)
		other, err := s.service().Create(s.Context(), api.CreateLicenseParams{Name: "Other", ProductID: "atlas", CustomerID: "cus_2"})
		s.NoErr(err)
		_, err = s.service().Revoke(s.Context(), api.ChangeStateParams{ID: other.ID})
		s.NoErr(err)
		require.ErrorIs(s.T, one.SetKey(s.Context(), other.Key), api.VerdictRevoked)
		s.meddle(refuse) // for the second one, the directory is enough
		time.Sleep(6 * time.Minute)
		s.Equal(two.Status().Code, api.VerdictRevoked)
	})
}
