package licensing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// about returns the settings that the dashboard shows: the values in effect, and
// warnings about those an operator may want to change.
func (h *Handler) about() kit.About {
	host, o, rules, tokens := kit.Host(h.opts.Dashboard), h.opts, h.service.Options(), inner.Of(h.auth).Options().Tokens
	rate := func(n int) any {
		switch {
		case o.Limiter != nil:
			return "Set by Options.Limiter"
		case n < 0:
			return "No limit"
		}
		return fmt.Sprintf("%d per second, bursts of %d", n, 2*n)
	}
	size := func(n int64) any {
		switch {
		case n%(1<<20) == 0:
			return fmt.Sprintf("%d MiB", n>>20)
		case n%(1<<10) == 0:
			return fmt.Sprintf("%d KiB", n>>10)
		}
		return fmt.Sprintf("%d bytes", n)
	}
	kept := func(d time.Duration) any {
		if d == 0 {
			return "Forever"
		}
		return d
	}
	a := kit.About{
		Store: fmt.Sprintf("%T", h.store.Store),
		Settings: []kit.Setting{
			{Name: "Public URL", Path: "PublicURL", Value: cmp.Or(o.PublicURL, "Not set")},
			{Name: "Access token lifetime", Path: "Tokens.TTL", Value: tokens.TTL},
			{Name: "Maximum active tokens per client", Path: "Tokens.Max", Value: tokens.Max},
			{Name: "Token requests with GET", Path: "Tokens.DisableGET", Value: !tokens.DisableGET},
			{Name: "Requests per client", Path: "Limits.ClientRate", Value: rate(o.Limits.ClientRate)},
			{Name: "Requests per address", Path: "Limits.AddressRate", Value: rate(o.Limits.AddressRate)},
			{Name: "Requests per license key", Path: "Limits.KeyRate", Value: rate(o.keyRate())},
			{Name: "Maximum request size", Path: "Limits.MaxBody", Value: size(o.Limits.MaxBody)},
			{Name: "Maximum import size", Path: "Limits.MaxImport", Value: size(o.Limits.MaxImport)},
			{Name: "Request timeout", Path: "Limits.Timeout", Value: o.Limits.Timeout},
			{Name: "Idempotent replay", Path: "IdempotencyTTL", Value: rules.IdempotencyTTL},
			{Name: "Event retention", Path: "Events.Retention", Value: kept(rules.Events.Retention)},
			{Name: "Delivery retention", Path: "Webhooks.DeliveryRetention", Value: inner.Of(h.webhooks).Options().DeliveryRetention},
			{Name: "Activations visible to key holders", Path: "KeyHolderSeats", Value: o.KeyHolderSeats},
			{Name: "Webhooks to private addresses", Path: "Webhooks.AllowPrivate", Value: o.Webhooks.AllowPrivate},
		},
	}
	if host.ConfigFile == "" {
		a.Settings = append(a.Settings, kit.Setting{Name: "Sign-in by the host application", Value: o.Dashboard.Operator != nil})
	}
	if o.PublicURL == "" {
		a.Warnings = append(a.Warnings, host.Option("PublicURL")+" is not set: programs cannot discover the OAuth endpoints, and example programs use the address of this page.")
	}
	if o.MasterKey == nil {
		a.Warnings = append(a.Warnings, host.Option("MasterKey")+" is not set: webhook secrets and the keys of license files are stored in plain text.")
	}
	return a
}
