package licensing

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
)

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Handler for the programs and packages of this module.
type internals struct{ h *Handler }

// Of returns the methods for h.
func (internals) Of(h *Handler) internals { return internals{h} }

// LinkOffice makes the dashboard link to the page of an office, which the program serves at
// dashboard/office to admins.
func (i internals) LinkOffice() { i.h.office.Store(true) }

// AddressKey returns the key by which the requests of a network are counted, as
// Options.ClientIP says; empty: they are not.
func (i internals) AddressKey(r *http.Request) string { return i.h.site.AddressKey(r) }
