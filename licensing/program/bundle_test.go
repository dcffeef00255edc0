package program

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// suite makes the license of the stage one of a bundle with one seat and these programs.
func (s *stage) suite(programs ...string) {
	s.Helper()
	granted := map[string]any{}
	for _, p := range programs {
		granted[p] = true
	}
	s.update(api.UpdateLicenseParams{ProductID: new("suite"), MaxActivations: api.To(int64(1)), Entitlements: api.ToNull[map[string]any]()})
	s.update(api.UpdateLicenseParams{Entitlements: api.To(granted)})
}

// part returns a machine with one of the programs of the bundle.
func (s *stage) part(id, product string) *box {
	b := s.box(id)
	b.opts.ProductID, b.opts.AlsoProductID, b.opts.Name = product, "suite", id+" "+product
	return b
}

// TestBundle: the programs of a bundle take one seat of a machine, and a license of the bundle
// counts for those that it names. A program asks with its own product first.
func TestBundle(t *testing.T) {
	onStage(t, func(s *stage) {
		s.suite("atlas", "beacon")
		atlas := s.part("pc-1", "atlas")
		a := atlas.open()
		s.is(a, "valid")
		s.Equal(paths(s.requests()), []string{"/license/activate", "/license/validate", "/license/activate", "/file/revocations"})
		beacon := s.part("pc-1", "beacon")
		b := beacon.open()
		s.is(b, "valid")
		s.Equal(s.seats(), []string{"pc-1 beacon"}) // one, with the name of the last
		full := s.part("pc-2", "atlas").open()
		s.is(full, api.VerdictActivationLimit)
		s.NoErr(full.Close())
		s.requests()
		time.Sleep(2 * time.Hour)
		for _, r := range s.requests() { // the license is known to be one of the bundle
			s.True(r.path == "/license/validate" || strings.HasPrefix(r.path, "/file/"))
		}
		s.is(a, "valid")

		// Without the service, and with the revocation list of the bundle.
		s.meddle(refuse)
		a = atlas.restart(a)
		s.is(a, "valid")
		s.meddle(nil)
		s.move((*license.Service).Suspend, "unpaid")
		time.Sleep(2 * time.Hour)
		s.is(a, api.VerdictSuspended)
		s.move((*license.Service).Reinstate, "paid")
		time.Sleep(2 * time.Hour)
		s.is(a, "valid")

		// The bundle does not have it any more.
		s.update(api.UpdateLicenseParams{Entitlements: api.To(map[string]any{"atlas": nil})})
		time.Sleep(2 * time.Hour)
		s.is(a, api.VerdictProductMismatch)
		s.is(b, "valid")
		s.NoErr(b.Release(s.Context()))
		s.Equal(len(s.seats()), 0)
	})
}

// TestForeignKey: a license that is not for the program gives it no seat: that of another
// product, and that of a bundle without it.
func TestForeignKey(t *testing.T) {
	onStage(t, func(s *stage) {
		_, err := s.service().Create(s.Context(), api.CreateLicenseParams{Name: "Other", ProductID: "atlas", CustomerID: "cus_2"})
		s.NoErr(err)
		s.suite("beacon")
		s.is(s.part("pc-1", "atlas").open(), api.VerdictProductMismatch)
		s.update(api.UpdateLicenseParams{ProductID: new("other"), Entitlements: api.To(map[string]any{"atlas": true})})
		s.is(s.part("pc-2", "atlas").open(), api.VerdictProductMismatch)
		s.Equal(len(s.seats()), 0)
	})
}

// TestBundleInTheField: a program that gets AlsoProductID in an update keeps its license and
// its seat. With a key of the bundle, it then takes that of the bundle.
func TestBundleInTheField(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		l := b.open()
		s.is(l, "valid")
		before := s.seats()
		s.requests()
		s.NoErr(l.Close())
		b.opts.AlsoProductID, b.opts.Name = "suite", "updated"
		l = b.open()
		s.is(l, "valid")
		time.Sleep(2 * time.Hour)
		s.Equal(s.seats(), before)
		for _, r := range s.requests() {
			s.True(r.path != "/license/activate")
		}

		s.NoErr(l.Close())
		bundle, err := s.service().Create(s.Context(), api.CreateLicenseParams{Name: "Acme Ltd", ProductID: "suite", CustomerID: "cus_1", Terms: api.Terms{Entitlements: map[string]any{"atlas": true}}})
		s.NoErr(err)
		b.opts.Key = ""
		l = b.open()
		s.NoErr(l.SetKey(s.Context(), bundle.Key))
		s.is(l, "valid")
		s.Equal(l.Status().LicenseID, bundle.ID)
		s.NoErr(l.SetKey(s.Context(), s.license.Key))
		s.is(l, "valid")
		s.Equal(l.Status().LicenseID, s.license.ID)
		s.Equal(s.seats(), []string{"updated"})
	})
}

// TestBundleWithoutNetwork: the file that answers a request counts, also if the program asked
// before it knew that its license is one of the bundle.
func TestBundleWithoutNetwork(t *testing.T) {
	onStage(t, func(s *stage) {
		s.suite("atlas")
		b := s.part("pc-1", "atlas")
		b.opts.URL, b.opts.Key = "", ""
		l := b.open()
		request, err := l.Request()
		s.NoErr(err)
		file, err := s.service().Customer("cus_1").AnswerRequest(s.Context(), s.license.ID, request)
		s.NoErr(err)
		text, err := s.vendor.Handler.Files().Sign(s.Context(), *file.FileClaims())
		s.NoErr(err)
		s.NoErr(l.Install(text))
		s.is(l, "valid")
		s.is(b.restart(l), "valid")
		again, err := l.Request()
		s.NoErr(err)
		s.True(again != request)

		other := s.part("pc-1", "beacon")
		other.opts.URL, other.opts.Key = "", ""
		require.ErrorIs(s.T, other.open().Install(text), licensefile.ErrProduct)
	})
}

// TestBundleAtAnOffice: an office lends a seat of the bundle as the vendor does.
func TestBundleAtAnOffice(t *testing.T) {
	onOfficeStage(t, 4*day, func(o *officeStage, renew func(float64, string)) {
		o.suite("atlas", "beacon")
		before := o.list
		o.product = "suite"
		renew(50, o.listOf("suite"))
		l := o.part("pc-1", "atlas").open()
		o.is(l, "valid")
		b := o.part("pc-1", "beacon").open()
		o.is(b, "valid")
		o.Equal(len(o.seats()), 1)
		time.Sleep(3 * day)
		o.is(l, "valid")
		o.NoErr(l.Close())
		o.NoErr(b.Close())
		o.product = ""
		o.update(api.UpdateLicenseParams{ProductID: new("atlas"), MaxActivations: api.ToNull[int64]()})
		renew(50, before)
	})
}

// TestBundleInTheBrowser: the customer chooses a license of the bundle for a program, which then
// has the same seat as if the key had been typed. One without the program cannot be chosen.
func TestBundleInTheBrowser(t *testing.T) {
	onStage(t, func(s *stage) {
		s.suite("beacon")
		b := s.part("pc-1", "atlas")
		b.opts.Key = ""
		l := b.open()
		k, ended := s.link(l)
		_, err := s.service().Customer("cus_1").ApproveLink(s.Context(), api.ApproveLinkParams{Code: k.Code, LicenseID: s.license.ID})
		require.ErrorIs(s.T, err, api.ErrDenied)
		s.Equal(len(s.seats()), 0)
		s.suite("atlas", "beacon")
		s.approve(k)
		s.NoErr(<-ended)
		s.is(l, "valid")
		s.Equal(s.seats(), []string{"pc-1 atlas"})
		s.is(s.part("pc-1", "beacon").open(), "valid") // of one seat
		s.Equal(len(s.seats()), 1)

		own, err := s.service().Create(s.Context(), api.CreateLicenseParams{Name: "Own", ProductID: "atlas", CustomerID: "cus_1"})
		s.NoErr(err)
		b = s.part("pc-2", "atlas")
		b.opts.Key = ""
		l = b.open()
		k, ended = s.link(l)
		_, err = s.service().Customer("cus_1").ApproveLink(s.Context(), api.ApproveLinkParams{Code: k.Code, LicenseID: own.ID})
		s.NoErr(err)
		s.NoErr(<-ended)
		s.is(l, "valid")
		page, err := s.service().ListActivations(s.Context(), api.ListActivationsParams{LicenseID: own.ID})
		s.NoErr(err)
		s.Equal(len(page.Data), 1)
	})
}

// TestBundleOptions: the options are refused that can mean nothing.
func TestBundleOptions(t *testing.T) {
	onStage(t, func(s *stage) {
		for product, also := range map[string]string{"atlas": "atlas", strings.Repeat("x", 65): "suite", "beacon": " suite"} {
			b := s.box("pc-1")
			b.opts.ProductID, b.opts.AlsoProductID = product, also
			_, err := open(b.opts, b.machine, b.wall)
			require.Contains(s.T, err.Error(), "ProductID must be")
		}
	})
}
