package program

import (
	"errors"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// used returns what the service has counted of a meter, in all periods.
func (s *stage) used(meter string) (n int64) {
	s.Helper()
	page, err := s.vendor.Handler.Metering().ListUsage(s.Context(), api.ListUsageParams{LicenseID: s.license.ID, Limit: 200})
	s.NoErr(err)
	for _, p := range page.Data {
		if p.Meter == meter {
			n += p.Used
		}
	}
	return n
}

func (s *stage) meter(name string, m api.MeterChange) {
	s.update(api.UpdateLicenseParams{Meters: api.To(map[string]*api.MeterChange{name: &m})})
}

// TestUse asks, is refused with the code of the verdict, and counts once although answers
// are lost.
func TestUse(t *testing.T) {
	onStage(t, func(s *stage) {
		s.meter("exports", api.MeterChange{Limit: api.To[int64](3)})
		l := s.box("a").open()
		s.NoErr(l.Use(s.Context(), "exports", 2))
		lost := 0
		s.meddle(func(_ *http.Request, carry func() answerOf) answerOf {
			a := carry()
			if lost++; lost < 3 {
				a.err, a.resp = errors.New("lost"), nil
			}
			return a
		})
		s.NoErr(l.Use(s.Context(), "exports", 1))
		s.Equal(s.used("exports"), int64(3))
		err := l.Use(s.Context(), "exports", 1)
		s.True(errors.Is(err, api.VerdictUsageLimit))
		s.True(errors.Is(l.Use(s.Context(), "other", 1), api.VerdictMeterMissing))
		s.meddle(refuse)
		err = l.Use(s.Context(), "exports", 1)
		s.True(err != nil && !errors.As(err, new(api.Code)))
		s.NoErr(Fixed(Status{Valid: true}).Use(s.Context(), "exports", 1))
		s.True(errors.Is(Fixed(Status{Code: api.VerdictExpired}).Use(s.Context(), "exports", 1), api.VerdictExpired))
	})
}

// TestCount reports within a minute or so and at Close, once, and above the limit.
func TestCount(t *testing.T) {
	onStage(t, func(s *stage) {
		s.meter("calls", api.MeterChange{Limit: api.To[int64](10)})
		b := s.box("a")
		l := b.open()
		s.requests()
		for range 20 {
			l.Count("calls", 1)
		}
		l.Count("calls", 0)
		l.Count("unknown", 5) // is refused, and does not stop the others
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		s.Equal(s.used("calls"), int64(20))
		l.Count("calls", 2)
		l = b.restart(l)
		s.Equal(s.used("calls"), int64(22))
		time.Sleep(time.Hour)
		synctest.Wait()
		s.Equal(s.used("calls"), int64(22))
		s.NoErr(l.Close())
	})
}

// anyName is a name that means something to a pattern, where it is one of a file.
var anyName = map[bool]string{true: "", false: "*"}[runtime.GOOS == "windows"]

// TestRefusedCount: a meter that the license does not have, or cannot have, stops no other. It
// is reported again once an hour, and counts when the license has it. The directory may have
// any name.
func TestRefusedCount(t *testing.T) {
	onStage(t, func(s *stage) {
		s.meter("calls", api.MeterChange{})
		b := s.box("a")
		b.opts.Dir = filepath.Join(b.opts.Dir, "[a]"+anyName)
		killed, err := open(b.opts, b.machine, b.wall) // never closed
		s.NoErr(err)
		killed.Count("calls", 1)
		killed.Count("exports", 2)
		killed.cancel()
		killed.loop.Wait()
		l := b.open()
		l.Count("calls", 4)
		l.Count("exports", 8)
		l.Count("no name", 1)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.Equal(s.used("calls"), int64(5))
		s.requests()
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		reports := 0
		for _, r := range s.requests() {
			if r.path == "/license/usage" {
				reports++
			}
		}
		s.True(reports >= 8 && reports <= 24) // of two files, each hour
		s.meter("exports", api.MeterChange{})
		time.Sleep(refusedEvery + 2*reportEvery)
		synctest.Wait()
		s.Equal(s.used("exports"), int64(10))
		s.NoErr(l.Close())
	})
}

// TestCountIsKept: what was counted survives a process that is killed, 40 days without a
// network, and a clock that was set back or is ahead, and counts once.
func TestCountIsKept(t *testing.T) {
	for name, clock := range map[string]time.Duration{"right": 0, "ahead": 20 * day, "behind": -20 * day} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.meter("calls", api.MeterChange{Per: api.To(api.PerMonth)})
				b := s.box("a")
				l := b.open()
				s.meddle(refuse)
				killed, err := open(b.opts, b.machine, b.wall) // never closed
				s.NoErr(err)
				killed.Count("calls", 7)
				l.Count("calls", 1)
				killed.cancel()
				killed.loop.Wait()
				s.setClock(clock)
				l.Count("calls", 2)
				s.NoErr(l.Close())
				time.Sleep(40 * day)
				l = b.open()
				l.Count("calls", 4)
				s.NoErr(l.Close())
				s.Equal(s.used("calls"), int64(0))
				s.meddle(nil)
				l = b.open()
				time.Sleep(time.Hour)
				synctest.Wait()
				s.Equal(s.used("calls"), int64(14))
				time.Sleep(time.Hour)
				synctest.Wait()
				s.Equal(s.used("calls"), int64(14))
				s.NoErr(l.Close())
			})
		})
	}
}

// TestCountOfTwoProcesses that share a directory: each unit counts once, and in the end no
// file is left.
func TestCountOfTwoProcesses(t *testing.T) {
	onStage(t, func(s *stage) {
		s.meter("calls", api.MeterChange{})
		b := s.box("a")
		one, two := b.open(), b.open()
		for range 50 {
			one.Count("calls", 1)
			two.Count("calls", 2)
			time.Sleep(31 * time.Second)
		}
		s.NoErr(one.Close())
		s.NoErr(two.Close())
		s.Equal(s.used("calls"), int64(150))
		l := b.open()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		s.Equal(s.used("calls"), int64(150))
		for _, name := range b.files() {
			s.True(!strings.HasPrefix(name, usagePrefix))
		}
		s.NoErr(l.Close())
	})
}
