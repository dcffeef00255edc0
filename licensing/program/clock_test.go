package program

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// TestWrongClock: while the service can be reached, the clock of the machine does
// not matter.
func TestWrongClock(t *testing.T) {
	for _, off := range []time.Duration{-10 * time.Minute, -400 * day, 10 * time.Minute, 400 * day} {
		t.Run(off.String(), func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.offline(6 * time.Hour)
				s.setClock(off)
				b := s.box("pc-1")
				l := b.open()
				s.is(l, "valid")
				time.Sleep(8 * time.Hour)
				s.is(l, "valid")
				l = b.restart(l)
				s.is(l, "valid")
				time.Sleep(time.Hour)
				s.is(l, "valid")
				s.vendor.Die()
				until := l.Status().ValidUntil
				time.Sleep(time.Until(until) - time.Second)
				s.is(l, "valid", CodeUnreachable) // until the true end
				time.Sleep(time.Second)
				s.is(l, CodeFileExpired, CodeUnreachable)
			})
		})
	}
}

// TestClockIsDoubted: a clock that is wrong while the file counts is noticed by
// the date of the service, and a license file proves the time. Within the leeway, a
// clock is right enough.
func TestClockIsDoubted(t *testing.T) {
	for off, want := range map[time.Duration]int{3 * time.Hour: 1, 2 * time.Minute: 0} {
		t.Run(off.String(), func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.offline(12 * time.Hour)
				b := s.box("pc-1")
				l := b.open()
				time.Sleep(time.Hour)
				s.setClock(off)
				s.requests()
				l = b.restart(l)
				s.is(l, "valid")
				time.Sleep(time.Minute)
				files := 0
				for _, r := range s.requests() {
					if r.file {
						files++
					}
				}
				s.Equal(files, want)
				if want == 0 {
					return
				}
				s.vendor.Die()
				until := l.Status().ValidUntil
				time.Sleep(time.Until(until) - time.Second)
				s.is(l, "valid", CodeUnreachable)
			})
		})
	}
}

// TestClockSetBackWhileRunning changes nothing but a warning.
func TestClockSetBackWhileRunning(t *testing.T) {
	onStage(t, func(s *stage) {
		s.offline(6 * time.Hour)
		l := s.box("pc-1").open()
		until := l.Status().ValidUntil
		time.Sleep(time.Minute)
		s.vendor.Die()
		time.Sleep(time.Hour)
		s.setClock(-30 * day)
		time.Sleep(10 * time.Minute)
		s.is(l, "valid", CodeUnreachable, CodeClockChanged)
		time.Sleep(time.Until(until) - time.Second)
		s.is(l, "valid", CodeUnreachable, CodeClockChanged)
		time.Sleep(time.Second)
		s.is(l, CodeFileExpired, CodeUnreachable, CodeClockChanged)
		s.vendor.Answer()
		time.Sleep(8 * time.Minute)
		s.is(l, "valid") // the service has proved the time
	})
}

// TestSleep: time asleep counts without the service, and a check follows immediately.
func TestSleep(t *testing.T) {
	onStage(t, func(s *stage) {
		l := s.box("pc-1").open()
		time.Sleep(time.Minute)
		s.vendor.Die()
		s.setClock(20 * day)
		time.Sleep(5 * time.Minute)
		s.is(l, CodeFileExpired, CodeUnreachable)
		s.vendor.Answer()
		time.Sleep(8 * time.Minute)
		s.is(l, "valid")
		s.requests()
		s.setClock(20*day + 2*time.Hour)
		time.Sleep(5 * time.Minute)
		require.AtLeast(s.T, len(s.requests()), 1)
		s.is(l, "valid")
	})
}

// TestStartBelowTheFloor: without the service, a clock before what is certain does
// not count; the right clock does.
func TestStartBelowTheFloor(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		l := b.open()
		time.Sleep(2 * time.Hour)
		s.NoErr(l.Close())
		s.vendor.Die()
		s.setClock(-time.Hour)
		l = b.open()
		s.is(l, CodeClockChanged, CodeUnreachable)
		s.setClock(0)
		time.Sleep(5 * time.Minute)
		s.is(l, "valid", CodeUnreachable)
		s.setClock(-time.Hour)
		s.vendor.Answer()
		s.is(b.restart(l), "valid")
	})
}

// TestClock: a clock a little below the floor starts at it, and nothing but the service
// moves a floor that the service has proved.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		now := time.Now().Round(0)
		c := clock{wall: func() time.Time { return now }}
		c.start(now.Add(licensefile.Leeway))
		is.Equal(c.now().Sub(now), licensefile.Leeway)
		c.start(now.Add(licensefile.Leeway + time.Second))
		is.Equal(c.now().Sub(now), 0*time.Second)
		c.prove(now)
		c.raise(now.Add(time.Hour))
		is.Equal(c.certain().Sub(now), 0*time.Second)
	})
}

// TestResetClocks: a file of a day does not run longer than a day, although the
// clock is set to its beginning before each start, which ends without Close.
func TestResetClocks(t *testing.T) {
	onStage(t, func(s *stage) {
		s.offline(day)
		b := s.box("pc-1")
		begun := time.Now()
		s.NoErr(b.open().Close())
		s.meddle(refuse)
		ran := time.Duration(0)
		const each = 20 * time.Minute
		for range 4600 * time.Hour / each {
			s.setClock(time.Until(begun) + ran) // not before what the program knows
			l := b.open()
			if !l.Status().Valid {
				break
			}
			time.Sleep(each)
			crash(l)
			ran += each
		}
		require.AtMost(s.T, ran, 33*time.Hour) // each crash loses up to five minutes
		s.setClock(time.Until(begun))
		s.True(!b.open().Status().Valid)
	})
}

// crash ends a program without Close.
func crash(l *License) {
	l.cancel()
	l.loop.Wait()
}

// TestFloorOfAnotherTime: a service whose clock was ahead does not lock users out for long.
func TestFloorOfAnotherTime(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		l := b.open()
		s.NoErr(l.Close())
		s.NoErr(disk{b.opts.Dir}.write(clockName, "4000000000"))
		l = b.open()
		s.is(l, "valid") // proved by the service
		time.Sleep(time.Hour)
		s.is(l, "valid")
		s.vendor.Die()
		s.True(b.restart(l).Status().Valid)
	})
}
