package webhook

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for the handler and the dashboard. Other
// files declare more of them.
type internals struct{ *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

// A limit returns the products whose events an actor, as in [license.Caller],
// may currently see, nil for all, and false if it may see none.
type limit = func(ctx context.Context, actor string) (products []string, ok bool, err error)

// Init makes a zero Service ready. It keeps its records in the store of rules, and
// takes their clock, logger and master key. limit restricts what webhooks receive
// to what their creators may see; nil: every creator sees all events. Init does no
// I/O and starts no goroutine.
func (s internals) Init(rules *license.Service, limit limit, opts Options) {
	if opts.DeliveryRetention <= 0 {
		opts.DeliveryRetention = 30 * 24 * time.Hour
	}
	o := rules.Options()
	*s.Service = Service{rules: rules, common: &common{opts: opts, limit: limit, logger: o.Logger, sender: newSender(opts, o.Now)}}
	inner.Of(rules).Call().Erasing = s.eraseResponses
}

// Options returns the options in effect, with defaults filled in.
func (s internals) Options() Options { return s.opts }
