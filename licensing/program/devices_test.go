package program

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestDevices: where the service allows it, a program shows the seats and frees one.
func TestDevices(t *testing.T) {
	onStage(t, func(s *stage) {
		l := s.box("pc-1").open()
		_, err := l.Devices(s.Context())
		require.ErrorIs(s.T, err, api.CodeForbidden)
		s.Equal(err.Error(), "This program may not manage the devices of the license; use your account at the vendor.")
		require.ErrorIs(s.T, l.Free(s.Context(), "act_x"), api.CodeForbidden)

		s.vendor.Handler = licensing.NewHandler(memory.New(), licensing.Options{KeyHolderSeats: true, Logger: slog.New(slog.DiscardHandler)})
		s.vendor.Answer()
		s.keys = s.vendor.Keys(t)
		s.license, err = s.service().Create(s.Context(), api.CreateLicenseParams{
			Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{MaxActivations: new(int64(2))},
		})
		s.NoErr(err)
		one := s.box("pc-1").open()
		time.Sleep(time.Second)
		two := s.box("pc-2").open()
		three := s.box("pc-3").open()
		s.is(three, api.VerdictActivationLimit)
		all, err := three.Devices(s.Context())
		s.NoErr(err)
		s.Equal(len(all), 2)
		s.Equal([]string{all[0].Name, all[1].Name}, []string{"pc-1", "pc-2"})
		s.True(!all[0].This && !all[1].This)
		time.Sleep(time.Second)
		s.NoErr(three.Free(s.Context(), all[0].ID))
		s.NoErr(three.Refresh(s.Context()))
		s.is(three, "valid")
		s.NoErr(one.Refresh(s.Context()))
		s.is(one, api.VerdictNotActivated)

		err = two.Free(s.Context(), "act_aaaaaaaaaaaaaaaaaaaaaaaaaa")
		require.ErrorIs(s.T, err, api.CodeNotFound)
		s.Equal(err.Error(), "The license has no such device.")
		all, err = two.Devices(s.Context())
		s.NoErr(err)
		s.True(all[0].This && !all[1].This)
		s.NoErr(two.Free(s.Context(), all[0].ID)) // its own
		s.is(two, api.VerdictNotActivated)
		s.Equal(s.seats(), []string{"pc-3"})

		s.vendor.Die()
		_, err = three.Devices(s.Context())
		require.ErrorIs(s.T, err, CodeUnreachable)
	})
}

// TestManyDevices: all pages are read.
func TestManyDevices(t *testing.T) {
	onStage(t, func(s *stage) {
		s.vendor.Handler = licensing.NewHandler(memory.New(), licensing.Options{KeyHolderSeats: true, Logger: slog.New(slog.DiscardHandler)})
		s.vendor.Answer()
		s.keys = s.vendor.Keys(t)
		var err error
		s.license, err = s.service().Create(s.Context(), api.CreateLicenseParams{Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1"})
		s.NoErr(err)
		for range 201 {
			_, err := s.service().Activate(s.Context(), api.ActivateKeyParams{Key: s.license.Key, Fingerprint: time.Now().String()})
			s.NoErr(err)
			time.Sleep(time.Millisecond)
		}
		l := s.box("pc-1").open()
		all, err := l.Devices(s.Context())
		s.NoErr(err)
		s.Equal(len(all), 202)
		s.True(all[201].This)
	})
}

// TestVersion: the activation has the version of the program, also after an update.
func TestVersion(t *testing.T) {
	onStage(t, func(s *stage) {
		sent := func() []string {
			return slices.DeleteFunc(paths(s.requests()), func(path string) bool { return path == "/file/revocations" })
		}
		version := func() string {
			page, err := s.service().ListActivations(s.Context(), api.ListActivationsParams{LicenseID: s.license.ID})
			s.NoErr(err)
			s.Equal(len(page.Data), 1)
			return page.Data[0].Metadata["version"]
		}
		b := s.box("pc-1")
		b.opts.Version = "2.0.0"
		l := b.open()
		s.Equal(version(), "2.0.0")
		b.opts.Version = "2.1.0"
		l = b.restart(l)
		s.requests()
		s.NoErr(l.Refresh(s.Context()))
		s.Equal(version(), "2.1.0")
		s.Equal(sent(), []string{"/license/validate", "/license/activate"})
		s.NoErr(l.Refresh(s.Context()))
		s.Equal(sent(), []string{"/license/validate"})
		l = b.restart(l)
		s.requests()
		s.NoErr(l.Refresh(s.Context()))
		s.Equal(sent(), []string{"/license/validate"})
	})
}
