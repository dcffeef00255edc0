package program

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestLease: a machine that slept longer than its lease activates again; if no seat
// is free, it says so.
func TestLease(t *testing.T) {
	onStage(t, func(s *stage) {
		s.update(api.UpdateLicenseParams{LeaseSeconds: api.To[int64](600), MaxActivations: api.To[int64](1)})
		b := s.box("pc-1")
		l := b.open()
		s.Equal(l.Status().ValidUntil.UTC(), time.Now().Add(20*time.Minute).UTC()) // two leases
		time.Sleep(2 * time.Hour)
		s.is(l, "valid")
		s.Equal(s.seats(), []string{"pc-1"})

		s.vendor.Die()
		time.Sleep(time.Hour)
		s.is(l, CodeFileExpired, CodeUnreachable)
		s.Equal(len(s.seats()), 0)
		s.vendor.Answer()
		time.Sleep(8 * time.Minute)
		s.is(l, "valid")
		s.Equal(s.seats(), []string{"pc-1"})

		s.vendor.Die()
		time.Sleep(time.Hour)
		_, err := s.service().Activate(s.Context(), api.ActivateKeyParams{Key: s.license.Key, Fingerprint: "other"})
		s.NoErr(err)
		s.vendor.Answer()
		time.Sleep(8 * time.Minute)
		s.is(l, api.VerdictActivationLimit)
		time.Sleep(2 * time.Hour) // the other lease has ended
		s.is(l, "valid")
	})
}

// TestLostSeat: a program whose seat was released or taken over does not fight for
// it. The key, a take-over or the next start take a seat.
func TestLostSeat(t *testing.T) {
	release := func(s *stage) {
		page, err := s.service().ListActivations(s.Context(), api.ListActivationsParams{LicenseID: s.license.ID})
		s.NoErr(err)
		_, err = s.service().ReleaseActivation(s.Context(), api.ReleaseActivationParams{LicenseID: s.license.ID, ActivationID: page.Data[0].ID})
		s.NoErr(err)
	}
	evict := func(s *stage) {
		s.update(api.UpdateLicenseParams{MaxActivations: api.To[int64](1)})
		s.NoErr(s.box("pc-2").open().TakeOver(s.Context()))
		s.update(api.UpdateLicenseParams{MaxActivations: api.To[int64](2)}) // and a seat is free again
	}
	for code, event := range map[api.Code]func(*stage){api.VerdictNotActivated: release, api.VerdictEvicted: evict} {
		for name, back := range map[string]func(*box, *License) *License{
			"SetKey":   func(b *box, l *License) *License { b.NoErr(l.SetKey(b.Context(), b.license.Key)); return l },
			"TakeOver": func(b *box, l *License) *License { b.NoErr(l.TakeOver(b.Context())); return l },
			"restart":  func(b *box, l *License) *License { return b.restart(l) },
		} {
			t.Run(string(code)+", "+name, func(t *testing.T) {
				onStage(t, func(s *stage) {
					b := s.box("pc-1")
					l := b.open()
					event(s)
					s.is(l, "valid")
					time.Sleep(time.Hour)
					s.is(l, code)
					s.NoErr(l.Refresh(s.Context()))
					time.Sleep(3 * time.Hour)
					s.is(l, code)
					require.NotContains(s.T, strings.Join(s.seats(), " "), "pc-1")
					s.meddle(refuse)
					s.is(b.restart(l), code, CodeUnreachable)
					s.meddle(nil)
					l = b.open()
					if name == "restart" {
						s.is(l, "valid")
					}
					l = back(b, l)
					s.is(l, "valid")
					require.Contains(s.T, strings.Join(s.seats(), " "), "pc-1")
				})
			})
		}
	}
}

// TestNoSeatFree: a start without a free seat takes none, and gets one when it is
// free.
func TestNoSeatFree(t *testing.T) {
	onStage(t, func(s *stage) {
		first, second, third := s.box("pc-1"), s.box("pc-2"), s.box("pc-3")
		one := first.open()
		time.Sleep(time.Minute)
		second.open()
		l := third.open()
		s.is(l, api.VerdictActivationLimit)
		s.Equal(len(third.files()) > 0, true)
		s.NoErr(l.TakeOver(s.Context()))
		s.is(l, "valid")
		s.Equal(s.seats(), []string{"pc-2", "pc-3"})
		time.Sleep(time.Hour)
		s.is(one, api.VerdictEvicted)
		fourth := s.box("pc-4").open()
		s.is(fourth, api.VerdictActivationLimit)
		s.NoErr(l.Release(s.Context()))
		time.Sleep(time.Hour)
		s.is(fourth, "valid")
	})
}

// TestRelease frees the seat and deletes the files; the next start takes one again.
func TestRelease(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.opts.Key = ""
		l := b.open()
		s.is(l, CodeNoKey)
		s.NoErr(l.SetKey(s.Context(), s.license.Key))
		s.is(l, "valid")
		s.vendor.Die()
		err := l.Release(s.Context())
		require.ErrorIs(s.T, err, CodeUnreachable)
		s.Equal(err.Error(), "The licensing service cannot be reached; check the network connection.")
		s.is(l, "valid")
		s.vendor.Answer()
		s.NoErr(l.Release(s.Context()))
		s.is(l, api.VerdictNotActivated)
		s.Equal(len(s.seats()), 0)
		s.Equal(b.files(), []string{"clock", "key"})
		time.Sleep(3 * time.Hour)
		s.is(l, api.VerdictNotActivated)
		s.Equal(len(s.seats()), 0)
		s.NoErr(l.Release(s.Context())) // again
		l = b.restart(l)
		s.is(l, "valid")
		s.Equal(s.seats(), []string{"pc-1"})
	})
}

// TestAnotherActivation: a seat that was released and taken again for the same machine
// needs a file of its own.
func TestAnotherActivation(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		l := b.open()
		p := api.ActivateKeyParams{Key: s.license.Key, Fingerprint: l.fingerprint}
		_, err := s.service().Deactivate(s.Context(), api.DeactivateKeyParams{Key: p.Key, Fingerprint: p.Fingerprint})
		s.NoErr(err)
		v, err := s.service().Activate(s.Context(), p)
		s.NoErr(err)
		time.Sleep(time.Hour)
		s.is(l, "valid")
		s.Equal(l.file.ActivationID, v.Activation.ID)
	})
}

// TestReleaseBeforeACheck: a check that waits for the release takes no seat again.
func TestReleaseBeforeACheck(t *testing.T) {
	onStage(t, func(s *stage) {
		l := s.box("pc-1").open()
		s.is(l, "valid")
		var checked sync.WaitGroup
		s.meddle(func(req *http.Request, carry func() answerOf) answerOf {
			if strings.HasSuffix(req.URL.Path, "/deactivate") {
				checked.Go(func() { _ = l.Refresh(s.Context()) })
				time.Sleep(time.Second)
			}
			return carry()
		})
		s.NoErr(l.Release(s.Context()))
		checked.Wait()
		s.Equal(len(s.seats()), 0)
		s.is(l, api.VerdictNotActivated)
	})
}

// TestReleaseOfAHeldSeat: moves are free for a while, then the file holds the seat.
func TestReleaseOfAHeldSeat(t *testing.T) {
	onStage(t, func(s *stage) {
		s.update(api.UpdateLicenseParams{MaxActivations: api.To[int64](1)})
		for _, id := range []string{"pc-1", "pc-2", "pc-3"} {
			l := s.box(id).open()
			s.is(l, "valid")
			s.NoErr(l.Release(s.Context()))
		}
		l := s.box("pc-4").open()
		err := l.Release(s.Context())
		require.ErrorIs(s.T, err, api.CodeSeatHeld)
		require.NotContains(s.T, err.Error(), "program:")
		s.is(l, "valid")
	})
}

// TestSetKey: a typo changes nothing and says so in a sentence; a key of another
// license replaces the first, also for the next start.
func TestSetKey(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		key := b.opts.Key
		b.opts.Key = ""
		l := b.open()
		require.ErrorIs(s.T, l.SetKey(s.Context(), " "), CodeNoKey)
		s.NoErr(l.SetKey(s.Context(), " "+key+"\n"))
		err := l.SetKey(s.Context(), "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA")
		require.ErrorIs(s.T, err, api.VerdictNotFound)
		s.Equal(err.Error(), "No license has this license key; check it for typos.")
		s.is(l, "valid")
		s.is(b.restart(l), "valid")
		l = b.open()

		other, err := s.service().Create(s.Context(), api.CreateLicenseParams{Name: "Other", ProductID: "atlas", CustomerID: "cus_2"})
		s.NoErr(err)
		s.meddle(refuse)
		require.ErrorIs(s.T, l.SetKey(s.Context(), other.Key), CodeUnreachable)
		s.Equal(l.Status().LicensedTo, "Acme Ltd")
		s.meddle(nil)
		s.NoErr(l.SetKey(s.Context(), other.Key))
		s.Equal(l.Status().LicensedTo, "Other")
		s.vendor.Die()
		l = b.restart(l)
		s.True(l.Status().Valid)
		s.Equal(l.Status().LicensedTo, "Other")
		s.vendor.Answer()
		_, err = s.service().Suspend(s.Context(), api.ChangeStateParams{ID: s.license.ID, Reason: "unpaid"})
		s.NoErr(err)
		err = l.SetKey(s.Context(), key)
		require.ErrorIs(s.T, err, api.VerdictSuspended)
		s.Equal(err.Error(), "The license is suspended: unpaid")
		s.True(!l.Status().Valid)
	})
}

// TestMistypedKey: at the first start, the message is about the key, not the network.
func TestMistypedKey(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		b.opts.Key = "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA"
		l := b.open()
		s.is(l, api.VerdictNotFound, api.VerdictNotFound)
		s.Equal(l.Status().Message(), "No license has this license key; check it for typos.")
		require.ErrorIs(s.T, l.TakeOver(s.Context()), api.VerdictNotFound)
		s.requests()
		time.Sleep(50 * time.Minute)
		s.Equal(len(s.requests()), 6) // in the first half hour, and then each hour
		s.NoErr(l.SetKey(s.Context(), s.license.Key))
		s.is(l, "valid")

		// An address at which no service is mounted is another mistake.
		other := s.box("pc-2")
		other.opts.URL += "/v1"
		s.is(other.open(), CodeUnreachable, CodeUnreachable)
	})
}

// TestAnotherMachine: a copied directory takes no seat until the key is entered.
func TestAnotherMachine(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		s.NoErr(b.open().Close())
		b.machine, b.opts.Name = machineWithID("pc-2"), "pc-2"
		s.requests()
		l := b.open()
		s.is(l, CodeFingerprintChanged)
		time.Sleep(2 * time.Hour)
		s.NoErr(l.Refresh(s.Context()))
		s.is(l, CodeFingerprintChanged)
		s.Equal(len(s.requests()), 0)
		s.NoErr(l.SetKey(s.Context(), s.license.Key))
		s.is(l, "valid")
		s.Equal(s.seats(), []string{"pc-1", "pc-2"})
		s.is(b.restart(l), "valid")
	})
}

// TestNoFile: a valid license of which no file can be issued.
func TestNoFile(t *testing.T) {
	onStage(t, func(s *stage) {
		large := map[string]any{}
		for i := range 97 {
			large[string(rune('一'+i))] = strings.Repeat("x", 255)
		}
		b := s.box("pc-1")
		l := b.open()
		s.update(api.UpdateLicenseParams{Entitlements: api.To(large)})
		time.Sleep(time.Hour + 6*time.Minute)
		s.is(l, "valid", api.VerdictFileTooLarge)
		s.is(s.box("pc-2").open(), api.VerdictFileTooLarge, api.VerdictFileTooLarge)
	})
}
