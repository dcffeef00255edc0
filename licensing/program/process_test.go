package program

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const processLease = 10 * time.Minute

// perProcess prepares a machine whose processes each take one of k seats.
func (s *stage) perProcess(k int64) *box {
	s.update(api.UpdateLicenseParams{MaxActivations: api.To(k), LeaseSeconds: api.To(int64(processLease.Seconds()))})
	b := s.box("pc-1")
	b.opts.PerProcess = true
	return b
}

// kill ends a process as the operating system does: nothing is released or stored.
func kill(l *License) {
	l.cancel()
	l.loop.Wait()
}

// TestPerProcess: processes that share a directory take a seat each, and Close makes it free
// immediately.
func TestPerProcess(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.perProcess(2)
		b.opts.Name = ""
		one, two := b.open(), b.open()
		s.is(one, "valid")
		s.is(two, "valid")
		s.True(one.fingerprint != two.fingerprint)
		s.Equal(len(s.seats()), 2)
		host, err := os.Hostname()
		s.NoErr(err)
		s.Equal(s.seats()[0], fmt.Sprint(host, " process ", os.Getpid()))
		s.is(b.open(), api.VerdictActivationLimit)
		s.is(one, "valid") // it does not read what the other has stored
		for range 20 {     // more than the spent seats that a license may have
			s.NoErr(one.Close())
			s.is(one, api.VerdictNotActivated)
			s.Equal(len(s.seats()), 1)
			one = b.open()
			s.is(one, "valid")
		}
		s.Equal(b.files(), []string{"clock"})
		time.Sleep(3 * time.Hour)
		s.is(one, "valid")
		s.is(two, "valid")
	})
}

// TestKilledProcess: the seat is free when the lease of a process that was killed ends. One
// without a network stops no later, even if its answers took long.
func TestKilledProcess(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.perProcess(1)
		kill(b.open())
		until := time.Now().Add(processLease)
		other := b.open()
		s.is(other, api.VerdictActivationLimit)
		time.Sleep(time.Until(until) - time.Second)
		s.NoErr(other.Refresh(s.Context()))
		s.is(other, api.VerdictActivationLimit)
		time.Sleep(time.Second)
		s.NoErr(other.Refresh(s.Context()))
		s.is(other, "valid")
		s.NoErr(other.Close())

		time.Sleep(300 * time.Millisecond) // IssuedAt is cut
		s.meddle(func(_ *http.Request, carry func() answerOf) answerOf {
			a := carry()
			time.Sleep(3 * time.Second)
			return a
		})
		began := time.Now()
		cut := b.open()
		s.meddle(refuse)
		s.True(cut.Status().Valid)
		time.Sleep(time.Until(began.Add(processLease)))
		s.is(cut, CodeFileExpired, CodeUnreachable)
		s.meddle(nil)
		s.is(b.open(), "valid")
	})
}

// TestManyProcesses: of processes that start, end, crash and lose the network in any order,
// never more than the seats are valid, and all seats are used again after the leases.
func TestManyProcesses(t *testing.T) {
	onStage(t, func(s *stage) {
		const k = 3
		b := s.perProcess(k)
		var all, cut []*License
		most := 0
		valid := func() (n int) {
			for _, l := range all {
				if l.Status().Valid {
					n++
				}
			}
			return n
		}
		s.meddle(func(req *http.Request, carry func() answerOf) answerOf {
			if slices.ContainsFunc(cut, func(l *License) bool { return l.ctx.Err() == nil && req.Header.Get("X-Process") == l.fingerprint }) {
				return refuse(req, carry)
			}
			return carry()
		})
		r := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			any := func() int { return r.IntN(len(all)) }
			switch step := r.IntN(10); {
			case step < 4 || len(all) == 0:
				l := b.open()
				l.http.Transport = named{l.fingerprint, l.http.Transport}
				all = append(all, l)
			case step < 6:
				i := any()
				s.NoErr(all[i].Close())
				s.True(!all[i].Status().Valid)
				all = slices.Delete(all, i, i+1)
			case step < 7:
				i := any()
				kill(all[i])
				all = slices.Delete(all, i, i+1)
			case step < 8:
				s.mu.Lock()
				cut = append(cut, all[any()])
				s.mu.Unlock()
			}
			time.Sleep(time.Duration(r.IntN(90)) * time.Second)
			n := valid()
			s.True(n <= k)
			most = max(most, n)
		}
		s.Equal(most, k)
		for _, l := range all {
			kill(l)
		}
		time.Sleep(processLease)
		all = nil
		for range k + 1 {
			all = append(all, b.open())
		}
		s.Equal(valid(), k)
	})
}

// A named transport says which process sends.
type named struct {
	process string
	http.RoundTripper
}

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Header.Set("X-Process", n.process)
	return n.RoundTripper.RoundTrip(req)
}

// TestPerProcessMeter: the meter of activations counts no process.
func TestPerProcessMeter(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.perProcess(2)
		s.update(api.UpdateLicenseParams{Meters: api.To(map[string]*api.MeterChange{api.MeterActivations: {Limit: api.To[int64](1)}})})
		for range 3 {
			l := b.open()
			s.is(l, "valid")
			s.NoErr(l.Close())
		}
		s.is(s.box("pc-2").open(), "valid")
		v, err := s.service().Activate(s.Context(), api.ActivateKeyParams{Key: s.license.Key, Fingerprint: "other"})
		require.ErrorIs(s.T, err, api.ErrDenied)
		s.Equal(v.Activation, nil)
		s.is(b.open(), "valid")
	})
}

// TestLeaseRequired: a license without leases, or with time offline, has no seats per
// process, and says so also to a process that runs.
func TestLeaseRequired(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.opts.PerProcess = true
		l := b.open()
		s.is(l, api.VerdictLeaseRequired)
		s.Equal(l.Status().Message(), "The license does not allow a seat for each process; contact the vendor.")
		require.ErrorIs(s.T, l.SetKey(s.Context(), s.license.Key), api.VerdictLeaseRequired)
		s.Equal(len(s.seats()), 0)
		s.perProcess(2)
		time.Sleep(time.Hour)
		s.is(l, "valid")

		s.offline(time.Hour)
		s.is(b.open(), api.VerdictLeaseRequired)
		time.Sleep(5 * time.Minute)
		s.is(l, "valid", api.VerdictLeaseRequired)
		time.Sleep(processLease)
		s.is(l, api.VerdictLeaseRequired, api.VerdictLeaseRequired)
		s.update(api.UpdateLicenseParams{OfflineSeconds: api.ToNull[int64]()})
		time.Sleep(time.Hour)
		s.is(l, "valid")
	})
}

// TestApprovedProcess: a process whose activation was approved in a browser, where only its
// fingerprint is known, runs per process.
func TestApprovedProcess(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.perProcess(1)
		b.opts.Key = ""
		for range 5 {
			l := b.open()
			_, err := s.service().Activate(s.Context(), api.ActivateKeyParams{Key: s.license.Key, Fingerprint: l.fingerprint})
			s.NoErr(err)
			s.NoErr(l.SetKey(s.Context(), s.license.Key))
			s.NoErr(l.Close())
			s.Equal(len(s.seats()), 0)
			s.NoErr(os.Remove(b.opts.Dir + "/key"))
		}
	})
}

func TestPerProcessOptions(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.opts.PerProcess, b.opts.Fingerprint = true, strings.Repeat("é", 228)
		s.update(api.UpdateLicenseParams{LeaseSeconds: api.To[int64](600)})
		s.is(b.open(), "valid")
		b.opts.Fingerprint += "é"
		_, err := Open(b.opts)
		require.Contains(s.T, err.Error(), "program: Options.Fingerprint must be at most 228 characters with PerProcess")
		b.opts.Fingerprint, b.opts.URL = "", ""
		_, err = Open(b.opts)
		require.Contains(s.T, err.Error(), "program: Options.URL must be set with PerProcess")
	})
}
