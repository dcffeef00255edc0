package selling

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"log/slog"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/failing"
)

// inside leads package payment to the methods of internals, with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for package payment.
type internals struct{ *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

func (s internals) Now() time.Time            { return inner.Of(s.rules).Call().Now() }
func (s internals) Logger() *slog.Logger      { return inner.Of(s.rules).Call().Opts.Logger }
func (s internals) Payments() *failing.Events { return inner.Of(s.rules).Payments() }
func (s internals) Claimable(customerID string) bool {
	return inner.Of(s.rules).Call().Opts.Claimable(customerID)
}
