package record

import (
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An Activation is a stored activation with the fields of its document.
type Activation struct {
	store.Activation // without Document

	Name      string // display name
	EndReason string // why it was ended by hand
	Metadata  []byte // a JSON object; empty: none
	// Lease is the end of the lease if HeldUntil is later. LeaseEndsAt is the
	// later of both.
	Lease          time.Time
	HeldUntil      time.Time // until when license files hold the seat; zero: none does
	HeldGeneration int64     // the generation of the file that holds it
	HeldTerms      string    // a digest of what that file says, apart from times
	PerProcess     bool      // of one process of a program, whose files end with the lease

	CreatedAt  time.Time
	LastSeenAt time.Time

	unknown []byte // the other members, each with a comma before it
}

// ReadActivation decodes the document of a stored activation.
func ReadActivation(row store.Activation) (Activation, error) {
	a := Activation{Activation: row}
	a.Document = nil
	c := newReader(row.Document)
	for c.more() {
		a.visit(&c)
	}
	if c.err != nil {
		return Activation{}, fmt.Errorf("stored document of activation %s of license %s: %w", row.ID, row.LicenseID, c.err)
	}
	a.unknown = c.unknown
	return a, nil
}

// Row returns the activation with its document, in its stored form.
func (a Activation) Row() store.Activation {
	c := newWriter(len(a.Name) + len(a.EndReason) + len(a.Metadata) + len(a.HeldTerms) + len(a.unknown))
	a.visit(&c)
	a.Document = c.document(a.unknown)
	return a.Activation
}

// visit passes the members of the document to a codec.
func (a *Activation) visit(c *codec) {
	c.text("name", &a.Name)
	c.text("reason", &a.EndReason)
	c.object("metadata", &a.Metadata)
	c.time("lease", &a.Lease)
	c.time("held", &a.HeldUntil)
	c.integer("heldgen", &a.HeldGeneration, a.HeldGeneration != 0)
	c.text("heldterms", &a.HeldTerms)
	c.flag("process", &a.PerProcess)
	c.time("created", &a.CreatedAt)
	c.time("seen", &a.LastSeenAt)
}
