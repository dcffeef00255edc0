package client

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

// TestNoticeOfAClockJump is inside the package, because a test cannot move the
// two clocks of a process apart.
func TestNoticeOfAClockJump(t *testing.T) {
	is := is.New(t)
	open := func() *Program {
		p := &Program{start: time.Now(), opts: ProgramOptions{Offline: 7 * 24 * time.Hour}, key: "k", first: make(chan struct{}), wake: make(chan struct{}, 1)}
		p.accept(&answer{at: time.Now(), verdict: Verdict{
			Valid: true, Code: CodeValid, License: &License{ID: "lic_1", ExpiresAt: new(time.Now().Add(5 * 24 * time.Hour))}, RecheckAfter: 3600,
		}})
		return p
	}
	due := func(p *Program) bool {
		_, due := p.due(time.Now())
		return due
	}
	const day = 24 * time.Hour

	p := open()
	p.notice(time.Minute, time.Minute)
	p.notice(90*time.Second, time.Minute) // the clock was corrected a little
	is.True(!due(p))

	// The machine slept for six days: the service is asked, and until it
	// answers, the status stays.
	p.notice(6*day, time.Minute)
	is.True(due(p))
	is.True(p.Status().Valid)
	p.fail(errClosed) // it cannot be reached: the license has expired meanwhile
	is.Equal(p.Status().Code, CodeExpired)

	// It slept for eight days, longer than Offline, with a license that does
	// not expire.
	p = open()
	p.good.verdict.License.ExpiresAt = nil
	p.notice(8*day, time.Minute)
	p.fail(errClosed)
	is.Equal(p.Status().Code, CodeUnreachable)
	p.accept(&answer{at: time.Now(), verdict: p.good.verdict})
	is.True(p.Status().Valid)
	is.Equal(len(p.Status().Warnings), 0)

	// The clock was set back: that prolongs nothing, and locks nothing out.
	p = open()
	p.notice(-30*day, time.Minute)
	is.True(due(p))
	p.fail(errClosed)
	is.True(p.Status().Valid)
	is.Equal(p.Status().Warnings[1].Code, CodeClockChanged)
	require.Less(t, p.current().ends, 5*day+time.Minute)
}

// TestTrustedClock moves the clock of the machine while a program runs.
func TestTrustedClock(t *testing.T) {
	is := is.New(t)
	start := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	var c trustedClock
	is.Equal(c.advance(start, 0), start)
	is.Equal(c.advance(start.Add(time.Hour), time.Hour), start.Add(time.Hour))
	is.Equal(c.advance(start.Add(2*time.Hour-time.Second), time.Hour), start.Add(2*time.Hour)) // a correction
	is.True(!c.setBack)
	is.Equal(c.advance(start.Add(-240*time.Hour), time.Hour), start.Add(3*time.Hour)) // set back
	is.True(c.setBack)
	is.Equal(c.advance(start.Add(-239*time.Hour), time.Hour), start.Add(4*time.Hour))
	is.True(c.setBack)
	is.Equal(c.advance(start.Add(100*time.Hour), time.Hour), start.Add(100*time.Hour)) // right again, after a sleep
	is.True(!c.setBack)
}
