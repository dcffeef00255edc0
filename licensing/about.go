package licensing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/dashboard"
)

// about returns the settings that the dashboard shows: the values in effect, and
// warnings about those an operator may want to change.
func (h *Handler) about() dashboard.About {
	o, rules, tokens := h.opts, h.service.Options(), h.auth.Options().Tokens
	rate := func(n int) any {
		switch {
		case o.Limiter != nil:
			return "By the program's own limiter"
		case n < 0:
			return "No limit"
		}
		return fmt.Sprintf("%d a second, bursts of %d", n, 2*n)
	}
	kept := func(d time.Duration) any {
		if d == 0 {
			return "Forever"
		}
		return d
	}
	a := dashboard.About{
		Store: fmt.Sprintf("%T", h.store),
		Settings: []dashboard.Setting{
			{Name: "Public address", Value: cmp.Or(o.PublicURL, "Not set")},
			{Name: "Access tokens live", Value: tokens.TTL},
			{Name: "Live tokens of a client", Value: tokens.Max},
			{Name: "Secret in the address", Value: !tokens.DisableGET},
			{Name: "Requests of a client", Value: rate(o.Limits.ClientRate)},
			{Name: "Requests of an address", Value: rate(o.Limits.AddressRate)},
			{Name: "Requests with a key", Value: rate(o.Limits.KeyRate)},
			{Name: "Bytes of a request", Value: o.Limits.MaxBody},
			{Name: "Bytes of an import", Value: o.Limits.MaxImport},
			{Name: "Time for a request", Value: o.Limits.Timeout},
			{Name: "Answers repeated for", Value: rules.IdempotencyTTL},
			{Name: "Events are kept", Value: kept(rules.Events.Retention)},
			{Name: "Deliveries are kept", Value: h.webhooks.Internal().Options().DeliveryRetention},
			{Name: "Key holders see seats", Value: o.KeyHolderSeats},
			{Name: "Private webhooks", Value: o.Webhooks.AllowPrivate},
			{Name: "Own sign-in", Value: o.Dashboard.Operator != nil},
		},
	}
	if o.PublicURL == "" {
		a.Warnings = append(a.Warnings, "Options.PublicURL is not set: programs cannot discover the OAuth endpoints, and the commands shown here use the address of this page.")
	}
	if o.MasterKey == nil {
		a.Warnings = append(a.Warnings, "Options.MasterKey is not set: webhook secrets and the keys of license files are stored in plain text.")
	}
	return a
}
