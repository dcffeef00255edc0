package licensing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/dashboard"
	"github.com/seed-d8a106b4/licensekit/store"
)

// about is what the dashboard says of how h was set up: the values in force,
// and what an operator may want changed.
func about(st store.Store, o Options) dashboard.About {
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
			return "For ever"
		}
		return d
	}
	a := dashboard.About{
		Store: fmt.Sprintf("%T", st),
		Settings: []dashboard.Setting{
			{Name: "Public address", Value: cmp.Or(o.PublicURL, "Not set")},
			{Name: "Access tokens live", Value: cmp.Or(o.TokenTTL, time.Hour)},
			{Name: "Live tokens of a client", Value: cmp.Or(o.MaxTokens, 1000)},
			{Name: "Secret in the address", Value: !o.DisableTokenGET},
			{Name: "Requests of a client", Value: rate(o.ClientRate)},
			{Name: "Requests of an address", Value: rate(o.AddressRate)},
			{Name: "Requests with a key", Value: rate(o.KeyRate)},
			{Name: "Bytes of a request", Value: o.MaxBody},
			{Name: "Bytes of an import", Value: o.MaxImport},
			{Name: "Time for a request", Value: o.Timeout},
			{Name: "Answers repeated for", Value: cmp.Or(o.ReplayTTL, 24*time.Hour)},
			{Name: "Events are kept", Value: kept(o.EventRetention)},
			{Name: "Deliveries are kept", Value: cmp.Or(o.DeliveryRetention, 30*24*time.Hour)},
			{Name: "Key holders see seats", Value: o.KeyHolderSeats},
			{Name: "Private webhooks", Value: o.Webhooks.AllowPrivate},
			{Name: "Own sign-in", Value: o.Operator != nil},
		},
	}
	if o.PublicURL == "" {
		a.Warnings = append(a.Warnings, "Options.PublicURL is not set: programs cannot find the OAuth endpoints by themselves, and command lines here show the address that this page was read from.")
	}
	if o.MasterKey == nil {
		a.Warnings = append(a.Warnings, "Options.MasterKey is not set: secrets of webhooks are kept in clear.")
	}
	return a
}
