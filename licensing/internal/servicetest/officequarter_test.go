package servicetest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// TestOfficeQuarter is the work with an office, from its first answer to the end of the
// last one. Programs that have the keys of the vendor only run with it, and only texts go
// between it and the vendor.
func TestOfficeQuarter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		n := newClosedNetwork(t, api.Terms{MaxActivations: new(int64(8)), Entitlements: map[string]any{"users": 25}})
		run := func(users float64, programs ...lentProgram) {
			t.Helper()
			for i, p := range programs {
				s := p.Status()
				if !s.Valid || s.Entitlements["users"] != users || s.LicensedTo != "Acme Ltd" || len(s.Warnings) > 0 {
					t.Errorf("program %d has %+v", i+1, s)
				}
			}
		}
		ending := func() (details string) {
			for _, p := range n.office.Load().Health(ctx).Problems {
				if p.Code == licensing.HealthOfficeEnding {
					details += p.Detail
				}
			}
			return details
		}

		// The first answer.
		n.run(n.answer(3, 12), 3)
		p1, p2, p3 := n.open("pc-1"), n.open("pc-2"), n.open("pc-3")
		run(25, p1, p2, p3)
		p4 := n.open("pc-4")
		n.Equal(p4.Status().Code, api.VerdictActivationLimit)

		// What is changed in the store of the office has no effect.
		_, err := n.office.Load().Service().Update(ctx, api.UpdateLicenseParams{
			ID: n.license.ID, Entitlements: api.To(map[string]any{"users": 999, "export": true}), Name: new("Somebody"),
		})
		n.NoErr(err)
		time.Sleep(3 * time.Hour)
		run(25, p1, p2, p3)
		n.Equal(p1.Status().Entitlements, map[string]any{"users": 25.0})

		// A seat that is free again is lent to the fourth.
		n.NoErr(p3.Release(ctx))
		n.NoErr(p3.Close())
		time.Sleep(3 * time.Hour)
		run(25, p1, p2, p4)

		// The same request renews the file.
		_, err = n.vendor.Service().Update(ctx, api.UpdateLicenseParams{ID: n.license.ID, Entitlements: api.To(map[string]any{"users": 30})})
		n.NoErr(err)
		renewed := n.answer(3, 18)
		n.run(renewed, 3)
		time.Sleep(2 * time.Hour)
		run(30, p1, p2, p4)
		time.Sleep(5 * time.Hour) // past the end of the first
		run(30, p1, p2, p4)

		// An answer for another office is refused, and so is what is no answer.
		for _, wrong := range []string{"x", strings.Fields(renewed)[1]} {
			err = licensing.Options{SigningKeys: []files.SigningKey{{Signer: n.key, Office: wrong}}}.Validate()
			require.Contains(t, fmt.Sprint(err), "Options.SigningKeys[0].Office must be")
		}
		err = licensing.Options{SigningKeys: []files.SigningKey{{Signer: officeKey('p'), Office: renewed}}}.Validate()
		require.Contains(t, fmt.Sprint(err), "another key")

		// More seats.
		n.run(n.answer(5, 12), 5)
		p5, p6 := n.open("pc-5"), n.open("pc-6")
		run(30, p1, p2, p4, p5, p6)
		n.refuses()
		free := func(want int) { // at the vendor
			t.Helper()
			var ids []string
			for i := range want + 1 {
				v, err := n.vendor.Service().Activate(ctx, api.ActivateKeyParams{Key: n.license.Key, Fingerprint: fmt.Sprint("other-", i)})
				n.Equal(err == nil, i < want)
				if err == nil {
					ids = append(ids, v.Activation.ID)
				}
			}
			for _, id := range ids {
				_, err = n.vendor.Service().ReleaseActivation(ctx, api.ReleaseActivationParams{LicenseID: n.license.ID, ActivationID: id})
				n.NoErr(err)
			}
		}
		free(3)

		// Fewer seats: the office lends no more than these. The rest is free at the vendor
		// when the file for more expires.
		n.run(n.answer(2, 49), 2)
		time.Sleep(2*n.lease + time.Second)
		run(30, p1, p2)
		n.Equal(valid(p4, p5, p6), 0)
		for _, p := range []lentProgram{p4, p5, p6} {
			n.NoErr(p.Close())
		}
		free(3)
		time.Sleep(11 * time.Hour) // past the ends of the earlier answers
		free(6)

		// Nobody renews the file. Health says so, and the programs run until it expires.
		n.Equal(ending(), "")
		time.Sleep(13 * time.Hour)
		require.Contains(t, ending(), "ends within a day")
		time.Sleep(23*time.Hour - time.Minute)
		run(30, p1, p2)
		time.Sleep(licensefile.Leeway + time.Minute)
		require.Contains(t, ending(), "has ended")
		for _, p := range []lentProgram{p1, p2} {
			n.Equal(p.Status().Code, api.VerdictExpired)
			n.Equal(len(p.Status().Warnings), 1)
			require.Contains(t, p.Status().Warnings[0].Detail, "The license file of the office has ended")
		}
		free(8)
		last := n.answer(2, 49)
		n.run(last, 2)
		n.Equal(ending(), "")
		time.Sleep(5 * time.Minute)
		run(30, p1, p2)

		// A revocation list is carried to the office, too.
		_, err = n.vendor.Service().Suspend(ctx, api.ChangeStateParams{ID: n.license.ID})
		n.NoErr(err)
		list, err := n.vendor.Files().LicenseRevocations(ctx, "atlas", n.license.ID)
		n.NoErr(err)
		n.run(strings.Fields(last)[0]+"\n"+list, 2)
		time.Sleep(24 * time.Hour)
		for _, p := range []lentProgram{p1, p2} {
			n.Equal(p.Status().Code, api.VerdictRevoked)
		}
	})
}
