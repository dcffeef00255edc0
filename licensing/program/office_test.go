package program

import (
	"net/http"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// An officeStage is a stage whose service is an office: it signs with its own key, and
// passes on a list of the vendor.
type officeStage struct {
	*stage // its mu is also that of the following
	lender *licensefile.Lender
	ahead  time.Duration // of the clock of the office
	list   string

	product string                      // of the license; empty: atlas
	listOf  func(product string) string // returns a list of the vendor
}

// onOfficeStage runs a test with the office of a vendor, whose files are for the given time.
func onOfficeStage(t *testing.T, lasts time.Duration, test func(o *officeStage, renew func(users float64, list string))) {
	onStage(t, func(s *stage) {
		vendorKeys, vendor := newKey(s.T)
		_, office := newKey(s.T)
		s.keys = vendorKeys
		s.offline(day)
		o := &officeStage{stage: s, listOf: func(product string) string {
			return list(s.T, vendor, time.Now(), func(r *licensefile.Revocations) { r.ProductID = product })
		}}
		renew := func(users float64, list string) {
			text := signed(s.T, vendor, "office:x:1", func(c *licensefile.Claims) {
				c.ID, c.LicenseID, c.ActivationID, c.Name = "office", s.license.ID, "act_1", "Acme Network"
				c.ExpiresAt = c.IssuedAt.Add(lasts)
				c.FingerprintHash = licensefile.FingerprintHash(c.LicenseID, "office:x:1")
				c.Entitlements = map[string]any{"users": users}
				if o.product != "" {
					c.ProductID, c.Entitlements = o.product, map[string]any{"atlas": true, "beacon": true}
				}
				c.Office = &licensefile.Office{Key: office.Public(), Seats: 2}
			})
			lender, err := licensefile.NewLender(text, office)
			s.NoErr(err)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.lender, o.list = lender, list
		}
		renew(50, list(s.T, vendor, time.Now()))
		sign := change(func(v map[string]any) {
			if text, ok := v["file"].(string); ok {
				o.mu.Lock()
				lender, ahead := o.lender, o.ahead
				o.mu.Unlock()
				c := claimsOf(s.T, text)
				c.IssuedAt, c.NotBefore, c.ExpiresAt = c.IssuedAt.Add(ahead), c.NotBefore.Add(ahead), c.ExpiresAt.Add(ahead)
				var err error
				v["file"], err = lender.Sign(c)
				s.NoErr(err)
			}
		})
		s.meddle(func(req *http.Request, carry func() answerOf) answerOf {
			if req.Method == http.MethodGet {
				o.mu.Lock()
				list := o.list
				o.mu.Unlock()
				return respond(http.StatusOK, "application/jwt", list)(req, carry)
			}
			return sign(req, carry)
		})
		test(o, renew)
		revoked := list(s.T, vendor, time.Now(), func(r *licensefile.Revocations) {
			r.Licenses = []licensefile.RevokedLicense{{Hash: licensefile.LicenseHash(s.license.ID), MinGeneration: licensefile.AllGenerations, Until: time.Now().Add(12 * day)}}
		})
		l := s.box("pc-9").open()
		s.is(l, "valid")
		s.NoErr(l.Install(revoked))
		s.is(l, api.VerdictRevoked)
		time.Sleep(day) // the office lends as before
		s.is(l, api.VerdictRevoked)
	})
}

// setAhead sets the clock of the office.
func (o *officeStage) setAhead(ahead time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ahead = ahead
}

// TestOffice: a program runs with an office as with the vendor, under the terms of the
// vendor's file, which a later one replaces while the program runs. The list of the
// vendor is as good as the file that it came with.
func TestOffice(t *testing.T) {
	onOfficeStage(t, 2*day, func(o *officeStage, renew func(float64, string)) {
		l := o.box("pc-1").open()
		o.is(l, "valid")
		o.Equal(l.Status().Entitlements, map[string]any{"users": 50.0})
		o.Equal(l.Status().LicensedTo, "Acme Network")
		time.Sleep(day)
		o.is(l, "valid")
		renew(60, o.list)
		time.Sleep(day + 12*time.Hour) // past the first file of the office
		o.is(l, "valid")
		o.Equal(l.Status().Entitlements, map[string]any{"users": 60.0})
		time.Sleep(day)
		o.is(l, CodeFileExpired, CodeUntrusted)
		renew(60, o.list)
		time.Sleep(day)
		o.is(l, "valid")
	})
}

// TestOfficeClock: the time of an office counts within that of its file, and is never
// certain.
func TestOfficeClock(t *testing.T) {
	onOfficeStage(t, 12*day, func(o *officeStage, _ func(float64, string)) {
		certain := func(l *License) time.Time {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.clock.certain()
		}
		begin := time.Now()
		o.setClock(-400 * day)
		b := o.box("pc-1")
		l := b.open()
		o.is(l, "valid")
		time.Sleep(day)
		o.is(l, "valid")
		o.setAhead(5 * day)
		time.Sleep(day)
		l = b.restart(l)
		o.is(l, "valid")
		o.True(!certain(l).After(time.Now()))
		o.True(l.Status().ValidUntil.After(begin.Add(7 * day)))
		o.setAhead(-400 * day) // before the file of the office
		time.Sleep(2 * day)
		o.True(!certain(l).After(time.Now()))
		o.True(certain(l).After(begin.Add(3 * day)))
		o.is(l, CodeFileExpired, CodeUntrusted)
		o.setAhead(0)
		time.Sleep(day)
		o.is(l, "valid")
	})
}
