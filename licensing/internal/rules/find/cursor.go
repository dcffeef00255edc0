package find

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// scope returns the digest of everything that positions in a list depend on.
// The page size is not included and may change between pages.
func (s Service) scope(p api.ListLicensesParams) [16]byte {
	if p.IDs != nil {
		return call.ScopeOf("licenses %q %q", p.IDs, s.OnlyProducts()) // filters apply on every page
	}
	return call.ScopeOf("licenses %q %q %q %d %d %q %q %t %t %q",
		p.CustomerID, p.ProductID, p.Status, call.Millis(p.ExpiresBefore), call.Millis(p.ExpiresAfter),
		p.Search, p.KeyPart, p.NewestFirst, s.Caller.Products != nil, s.OnlyProducts())
}
