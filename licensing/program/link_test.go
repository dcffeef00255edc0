package program

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// withoutKey returns a machine whose program has no license key, and the program.
func (s *stage) withoutKey(id string) (*box, *License) {
	b := s.box(id)
	b.opts.Key = ""
	l := b.open()
	s.is(l, CodeNoKey)
	return b, l
}

// link starts a link, and waits for it in the background.
func (s *stage) link(l *License) (k Link, ended chan error) {
	s.Helper()
	k, err := l.Link(s.Context())
	s.NoErr(err)
	ended = make(chan error, 1)
	go func() { ended <- k.Wait(s.Context()) }()
	return k, ended
}

func (s *stage) approve(k Link) {
	s.Helper()
	_, err := s.service().Customer("cus_1").ApproveLink(s.Context(), api.ApproveLinkParams{Code: k.Code, LicenseID: s.license.ID})
	s.NoErr(err)
}

// TestLink: a program without a key is activated while it waits, and keeps the key.
func TestLink(t *testing.T) {
	onStage(t, func(s *stage) {
		b, l := s.withoutKey("pc-1")
		k, ended := s.link(l)
		s.Equal(k.URL, "http://licensing.test/account/licenses/link?code="+k.Code)
		s.True(k.Expires.Equal(time.Now().Add(10 * time.Minute)))
		time.Sleep(12 * time.Second)
		s.is(l, CodeNoKey)
		s.Equal(len(s.seats()), 0)
		s.approve(k)
		s.NoErr(<-ended)
		s.is(l, "valid")
		s.Equal(l.Status().LicensedTo, "Acme Ltd")
		s.Equal(s.seats(), []string{"pc-1"})
		s.Equal(paths(s.requests()), []string{"/license/link", "/license/link/poll", "/license/link/poll", "/license/link/poll", "/license/activate", "/file/revocations"})
		s.vendor.Die()
		s.is(b.restart(l), "valid")
		s.NoErr(k.license.Close())
		require.ErrorIs(t, k.Wait(s.Context()), errClosed)
	})
}

// TestLinkInSteps: calls of Wait that are shorter than the time between two polls poll too, and
// no more often than one long call.
func TestLinkInSteps(t *testing.T) {
	onStage(t, func(s *stage) {
		_, l := s.withoutKey("pc-1")
		k, err := l.Link(s.Context())
		s.NoErr(err)
		s.requests()
		wait := func() error {
			ctx, cancel := context.WithTimeout(s.Context(), 700*time.Millisecond)
			defer cancel()
			return k.Wait(ctx)
		}
		for range 30 { // 21 seconds
			require.ErrorIs(t, wait(), CodeTimeout)
		}
		s.Equal(len(s.requests()), 4)
		s.approve(k)
		err = wait()
		for range 9 {
			if errors.Is(err, CodeTimeout) {
				err = wait()
			}
		}
		s.NoErr(err)
		s.is(l, "valid")
	})
}

// TestLinkLoses: whatever gets lost after the approval, the program asks again.
func TestLinkLoses(t *testing.T) {
	for _, path := range []string{"/license/link/poll", "/license/activate"} {
		for name, times := range map[string]int{"one answer": 1, "some answers": 4} {
			t.Run(path+" "+name, func(t *testing.T) {
				onStage(t, func(s *stage) {
					_, l := s.withoutKey("pc-1")
					k, ended := s.link(l)
					s.approve(k)
					left := times
					s.meddle(func(r *http.Request, carry func() answerOf) answerOf {
						a := carry()
						if strings.HasSuffix(r.URL.Path, path) && left > 0 {
							left--
							return answerOf{nil, errors.New("connection reset by peer")}
						}
						return a
					})
					s.NoErr(<-ended)
					s.is(l, "valid")
					s.Equal(s.seats(), []string{"pc-1"})
				})
			})
		}
	}
}

// TestLinkFails: an error says why, and nothing has changed.
func TestLinkFails(t *testing.T) {
	decline := func(s *stage, k Link) {
		s.NoErr(s.service().Customer("cus_1").DeclineLink(s.Context(), k.Code))
	}
	for name, tt := range map[string]struct {
		event func(*stage, Link)
		code  api.Code
		after time.Duration
	}{
		"declined":      {decline, api.CodeLinkGone, 5 * time.Second},
		"too late":      {func(*stage, Link) {}, api.CodeLinkGone, 10 * time.Minute},
		"service dies":  {func(s *stage, _ Link) { s.vendor.Die() }, CodeUnreachable, 10 * time.Minute},
		"proxy answers": {func(s *stage, _ Link) { s.vendor.Lie(410, "text/html", "gone") }, CodeUnreachable, 10 * time.Minute},
		"always pending": {func(s *stage, _ Link) {
			s.meddle(respond(202, "application/json", `{"object":"link_state","status":"pending"}`))
		}, api.CodeLinkGone, 10 * time.Minute},
		"slow down": {func(s *stage, k Link) {
			s.meddle(respond(429, "application/problem+json", `{"code":"slow_down","status":429}`, "Retry-After", "60"))
			time.Sleep(6 * time.Minute)
			s.Equal(len(s.requests()), 7) // the start, and polls after 5, 65, 125, …, 305 s
			s.meddle(nil)
			decline(s, k)
		}, api.CodeLinkGone, 365 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				b, l := s.withoutKey("pc-1")
				start := time.Now()
				k, ended := s.link(l)
				synctest.Wait()
				tt.event(s, k)
				err := <-ended
				require.ErrorIs(t, err, tt.code)
				require.NotContains(t, err.Error(), string(tt.code)) // a sentence
				s.Equal(time.Since(start), tt.after)
				s.meddle(nil)
				s.vendor.Answer()
				s.is(l, CodeNoKey)
				s.is(b.restart(l), CodeNoKey)
				s.Equal(len(s.seats()), 0)
			})
		})
	}
}

// TestLinkStops with its context and at Close, and can be waited for again.
func TestLinkStops(t *testing.T) {
	onStage(t, func(s *stage) {
		_, l := s.withoutKey("pc-1")
		k, err := l.Link(s.Context())
		s.NoErr(err)
		ctx, cancel := context.WithTimeout(s.Context(), 7*time.Second)
		defer cancel()
		require.ErrorIs(t, k.Wait(ctx), context.DeadlineExceeded)
		s.approve(k)
		s.NoErr(k.Wait(s.Context()))
		s.is(l, "valid")

		_, other := s.withoutKey("pc-2")
		_, ended := s.link(other)
		synctest.Wait()
		start := time.Now()
		s.NoErr(other.Close())
		require.ErrorIs(t, <-ended, errClosed)
		s.Equal(time.Since(start), 0*time.Second)
	})
}

// TestLinkOfALicenseThatIsDenied: Wait returns what SetKey returns.
func TestLinkOfALicenseThatIsDenied(t *testing.T) {
	onStage(t, func(s *stage) {
		_, l := s.withoutKey("pc-1")
		k, ended := s.link(l)
		s.approve(k)
		s.move((*license.Service).Suspend, "Invoice 7 is unpaid.")
		err := <-ended
		require.ErrorIs(t, err, api.VerdictSuspended)
		s.Equal(err.Error(), "The license is suspended: Invoice 7 is unpaid.")
		s.is(l, api.VerdictSuspended)
	})
}

func TestLinkIsNotPossible(t *testing.T) {
	onStage(t, func(s *stage) {
		b, l := s.withoutKey("pc-1")
		s.vendor.Lie(404, "application/problem+json", `{"code":"not_configured","status":404}`)
		_, err := l.Link(s.Context())
		require.ErrorIs(t, err, api.CodeNotConfigured)
		s.Equal(err.Error(), "This program cannot be activated in a browser; enter a license key.")
		s.vendor.Die()
		_, err = l.Link(s.Context())
		require.ErrorIs(t, err, CodeUnreachable)
		for _, url := range []string{"", "file:///bin/sh", "javascript:alert(1)"} { // nothing that a browser should open
			s.vendor.Lie(201, "application/json", `{"object":"link","secret":"x","code":"BCDF-GHJK","url":"`+url+`"}`)
			_, err = l.Link(s.Context())
			require.ErrorIs(t, err, CodeUnreachable)
		}
		b.opts.URL = ""
		_, err = b.restart(l).Link(s.Context())
		require.ErrorIs(t, err, errNoService)
		_, err = Fixed(Status{}).Link(s.Context())
		s.True(err != nil)
	})
}

// TestLinkCanceledAfterAnAnswer: a wait that ends while the customer has not decided is an error.
func TestLinkCanceledAfterAnAnswer(t *testing.T) {
	onStage(t, func(s *stage) {
		_, l := s.withoutKey("pc-1")
		k, err := l.Link(s.Context())
		s.NoErr(err)
		ctx, cancel := context.WithCancel(s.Context())
		s.meddle(func(_ *http.Request, carry func() answerOf) answerOf {
			a := carry()
			cancel()
			return a
		})
		require.ErrorIs(s.T, k.Wait(ctx), CodeCanceled)
		s.True(!l.Status().Valid)
	})
}
