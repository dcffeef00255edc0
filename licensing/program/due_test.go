package program

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// shortLife is how long a command runs after Open.
const shortLife = 5 * time.Millisecond

// command runs a program that ends at once, with or without Close, and returns its
// status. Without Close, nothing is stored at the end, as when a process exits.
func (b *box) command(closes bool) Status {
	b.Helper()
	l, err := open(b.opts, b.machine, b.wall)
	b.NoErr(err)
	s := l.Status()
	time.Sleep(shortLife)
	if closes {
		b.NoErr(l.Close())
	} else {
		l.cancel()
		l.loop.Wait()
	}
	synctest.Wait()
	return s
}

// slow makes every request take a time.
func slow(d time.Duration) func(*http.Request, func() answerOf) answerOf {
	return func(req *http.Request, carry func() answerOf) answerOf {
		select {
		case <-req.Context().Done():
			return answerOf{nil, req.Context().Err()}
		case <-time.After(d):
			return carry()
		}
	}
}

// TestCommandLearnsOfASuspension: a command that ends at once, and is started each
// hour, is denied at the second start after a suspension at the latest, and valid
// again after it was reinstated.
func TestCommandLearnsOfASuspension(t *testing.T) {
	for name, tt := range map[string]struct {
		closes bool
		takes  time.Duration // each request
	}{
		"with Close": {true, 0}, "without Close": {false, 0}, "with Close, slowly": {true, 300 * time.Millisecond}, "without Close, slowly": {false, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.meddle(slow(tt.takes))
				b := s.box("pc-1")
				for range 5 {
					s.Equal(b.command(tt.closes).Code, api.VerdictValid)
					time.Sleep(time.Hour)
				}
				s.move((*license.Service).Suspend, "unpaid")
				b.command(tt.closes)
				time.Sleep(time.Hour)
				s.Equal(b.command(tt.closes).Code, api.VerdictSuspended)
				s.meddle(refuse) // from now on, the directory is enough
				s.Equal(b.command(tt.closes).Code, api.VerdictSuspended)
				s.meddle(nil)
				s.move((*license.Service).Reinstate, "")
				s.Equal(b.command(tt.closes).Code, api.VerdictValid)
			})
		})
	}
}

// TestCommandsAskOnceAnHour: of 100 starts in the minute after a check, none waits or
// asks. A program that runs on checks in the background.
func TestCommandsAskOnceAnHour(t *testing.T) {
	for name, closes := range map[string]bool{"with Close": true, "without Close": false} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				b.command(closes)
				s.Equal(paths(s.requests()), []string{"/license/activate", "/file/revocations"})
				s.meddle(slow(300 * time.Millisecond))
				for range 100 {
					start := time.Now()
					s.Equal(b.command(closes).Code, api.VerdictValid)
					s.Equal(time.Since(start), shortLife)
					time.Sleep(590 * time.Millisecond)
				}
				s.Equal(len(s.requests()), 0)
				b.open()
				time.Sleep(startDelay + time.Second)
				s.Equal(paths(s.requests()), []string{"/license/validate", "/file/revocations"})
			})
		})
	}
}

// TestOverdueStart waits for the check, at most a second. After a failure, or after
// that second, the starts of a while do not wait.
func TestOverdueStart(t *testing.T) {
	for name, tt := range map[string]struct {
		event        func(*stage)
		waits, pause time.Duration
	}{
		"the service stalls":        {func(s *stage) { s.vendor.Stall() }, time.Second, 5 * time.Minute},
		"the connection is refused": {func(s *stage) { s.vendor.Die() }, 0, 10 * time.Second},
		"the service is busy": {func(s *stage) {
			s.meddle(respond(429, "application/problem+json", `{"code":"rate_limited","status":429}`, "Retry-After", "600"))
		}, 0, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				b.command(true)
				time.Sleep(time.Hour)
				tt.event(s)
				for range 2 {
					start := time.Now()
					s.requests()
					s.True(b.command(false).Valid)
					s.Equal(time.Since(start), tt.waits+shortLife)
					s.Equal(paths(s.requests()), []string{"/license/validate"})
					for range 5 {
						time.Sleep(tt.pause/5 - time.Second)
						before := time.Now()
						s.True(b.command(false).Valid)
						s.Equal(time.Since(before), shortLife)
					}
					s.Equal(len(s.requests()), 0)
					time.Sleep(tt.pause) // the jitter
				}
				start := time.Now()
				l := b.open() // a program that runs on
				s.Equal(time.Since(start), tt.waits)
				s.True(l.Status().Valid)
				time.Sleep(time.Minute)
				s.is(l, "valid", CodeUnreachable)
			})
		})
	}
}

// TestDenialBeforeTheList: a denial counts although the revocation list takes longer
// than Open waits.
func TestDenialBeforeTheList(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.command(true)
		time.Sleep(time.Hour)
		s.move((*license.Service).Suspend, "unpaid")
		s.meddle(func(req *http.Request, carry func() answerOf) answerOf {
			if strings.HasSuffix(req.URL.Path, "/file/revocations") {
				return slow(time.Minute)(req, carry)
			}
			return carry()
		})
		start := time.Now()
		s.Equal(b.command(false).Code, api.VerdictSuspended)
		s.Equal(time.Since(start), time.Second+shortLife)
	})
}

// TestWhatIsOverdue: a time that has passed, is missing, cannot be read, or was stored
// while the clock was wrong.
func TestWhatIsOverdue(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.command(true)
		in := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
		for text, want := range map[string]int{ // requests: the verdict and the list
			in(0): 2, in(-day): 2, "": 2, "soon": 2, in(day + time.Second): 2, in(400 * day): 2,
			in(time.Second): 0, in(day): 0,
		} {
			if text == "" {
				s.NoErr(disk{b.opts.Dir}.remove(dueName))
			} else {
				s.NoErr(disk{b.opts.Dir}.write(dueName, text))
			}
			s.requests()
			b.command(true)
			if got := len(s.requests()); got != want {
				s.Errorf("%q: %d requests, want %d", text, got, want)
			}
		}
	})
}

// TestCommandWithAMovedClock: neither a clock that was ahead nor one that was set back
// keeps a command from asking for more than a day.
func TestCommandWithAMovedClock(t *testing.T) {
	for _, off := range []time.Duration{400 * day, 3 * time.Hour, -23 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.setClock(max(off, 0))
				b := s.box("pc-1")
				b.command(true)
				s.setClock(min(off, 0))
				s.move((*license.Service).Suspend, "unpaid")
				for range 25 {
					b.command(false)
					time.Sleep(time.Hour)
				}
				s.Equal(b.command(false).Code, api.VerdictSuspended)
			})
		})
	}
}
