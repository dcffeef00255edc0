package program

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// denials are those that a person can end, and how. begin returns the denied program.
var denials = map[api.Code]struct {
	begin func(*box) *License
	end   func(*box)
}{
	api.VerdictExpired: {
		func(b *box) *License {
			b.update(api.UpdateLicenseParams{ExpiresAt: api.To(time.Now().Add(time.Second))})
			time.Sleep(2 * time.Second)
			return b.open()
		},
		func(b *box) {
			_, err := b.service().Renew(b.Context(), api.RenewLicenseParams{ID: b.license.ID, ExpiresAt: new(time.Now().Add(365 * day))})
			b.NoErr(err)
		},
	},
	api.VerdictSuspended: {
		func(b *box) *License {
			l := b.open()
			b.move((*license.Service).Suspend, "unpaid")
			b.NoErr(l.Refresh(b.Context()))
			return l
		},
		func(b *box) { b.move((*license.Service).Reinstate, "") },
	},
	api.VerdictActivationLimit: {
		func(b *box) *License {
			for _, fingerprint := range []string{"pc-8", "pc-9"} {
				_, err := b.service().Activate(b.Context(), api.ActivateKeyParams{Key: b.license.Key, Fingerprint: fingerprint})
				b.NoErr(err)
			}
			return b.open()
		},
		func(b *box) {
			_, err := b.service().Deactivate(b.Context(), api.DeactivateKeyParams{Key: b.license.Key, Fingerprint: "pc-8"})
			b.NoErr(err)
		},
	},
	api.VerdictNotFound: {
		func(b *box) *License {
			b.opts.Key = "OWN-KEY-0002-0002"
			return b.open()
		},
		func(b *box) {
			_, err := b.service().Create(b.Context(), api.CreateLicenseParams{Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Key: b.opts.Key})
			b.NoErr(err)
		},
	},
}

// TestEndOfADenial: a program that is denied asks each 5 minutes for half an hour, so it is
// soon valid when a person has ended the denial, and then as the service says.
func TestEndOfADenial(t *testing.T) {
	for code, denial := range denials {
		t.Run(string(code)+", ended", func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				l := denial.begin(b)
				s.Equal(l.Status().Code, code)
				time.Sleep(20 * time.Minute)
				denial.end(b)
				time.Sleep(5*time.Minute + time.Second)
				s.is(l, api.VerdictValid)
			})
		})
		t.Run(string(code)+", lasting", func(t *testing.T) {
			onStage(t, func(s *stage) {
				l := denial.begin(s.box("pc-1"))
				synctest.Wait()
				s.requests()
				time.Sleep(13 * time.Hour)
				s.Equal(l.Status().Code, code)
				s.Equal(len(s.requests()), 18)
			})
		})
	}
}

// TestRetryAfterADenial: the service decides when it is asked again.
func TestRetryAfterADenial(t *testing.T) {
	for name, answer := range map[string]func(*http.Request, func() answerOf) answerOf{
		"of a denial": respond(409, "application/problem+json", `{"code":"suspended","verdict":{"valid":false,"code":"suspended","reasons":[{"code":"suspended"}],"recheck_after":3600}}`, "Retry-After", "1500"),
		"of a limit":  respond(429, "application/problem+json", `{"code":"rate_limited","status":429}`, "Retry-After", "1500"),
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				l := denials[api.VerdictSuspended].begin(s.box("pc-1"))
				s.meddle(answer)
				time.Sleep(6 * time.Minute)
				s.Equal(l.Status().Code, api.VerdictSuspended)
				s.requests()
				time.Sleep(18 * time.Minute)
				s.Equal(len(s.requests()), 0)
				time.Sleep(14 * time.Minute)
				require.AtLeast(s.T, len(s.requests()), 1)
			})
		})
	}
}
