package call

import (
	"net/mail"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// An Owner says which licenses exist for a call: those of a customer or, with an address,
// those of any customer whose own metadata has the address at the time of the call. The
// address is one of [Address].
type Owner struct{ CustomerID, Address string }

// AsOwner returns a Call that acts for a customer, whose licenses are the only ones that
// exist for it.
func (s *Call) AsOwner(o Owner) Call {
	as := *s
	as.Owner, as.Holder = &o, true
	if as.Caller.Actor == "" {
		as.Caller.Actor = "customer"
	}
	return as
}

// Owned reports whether a license exists for the call, as far as its Owner says.
func (s *Call) Owned(rec record.License) (bool, error) {
	if s.Owner == nil || s.Owner.Address == "" {
		return s.Owner == nil || s.Owner.CustomerID == rec.CustomerID, nil
	}
	metadata := map[string]string{}
	err := Decode(rec.Metadata, &metadata)
	return s.Owner.Reads(metadata[s.Opts.EmailKey]), err
}

// Reads reports whether a text of metadata is the address of o; if o has none, it is true.
func (o *Owner) Reads(text string) bool {
	return o == nil || o.Address == "" || Address(text) == o.Address
}

// Narrow limits a list of licenses to those of the Owner. The list for an address has it as
// the search, but reads the licenses by their entries; see package find.
func (s *Call) Narrow(p api.ListLicensesParams) api.ListLicensesParams {
	if s.Owner != nil {
		p.CustomerID, p.Search, p.KeyPart, p.IDs = s.Owner.CustomerID, s.Owner.Address, "", nil
	}
	return p
}

// Address returns the email address in a text such as "Ada <ada@example.com>" in lower case,
// in which addresses are compared; empty: the text is not one address.
func Address(text string) string {
	if len(text) > 320 {
		return ""
	}
	a, err := mail.ParseAddress(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(a.Address)
}
