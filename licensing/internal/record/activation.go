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

	CreatedAt  time.Time
	LastSeenAt time.Time

	unknown []byte // the other members, each with a comma before it
}

// ReadActivation decodes the document of a stored activation.
func ReadActivation(row store.Activation) (Activation, error) {
	a := Activation{Activation: row}
	a.Document = nil
	d := decoder{rest: row.Document}
	for d.next() {
		switch string(d.name) {
		case "name":
			a.Name = d.text()
		case "reason":
			a.EndReason = d.text()
		case "metadata":
			a.Metadata = d.object()
		case "lease":
			a.Lease = d.time()
		case "held":
			a.HeldUntil = d.time()
		case "heldgen":
			a.HeldGeneration = d.integer()
		case "heldterms":
			a.HeldTerms = d.text()
		case "created":
			a.CreatedAt = d.time()
		case "seen":
			a.LastSeenAt = d.time()
		default:
			a.unknown = append(append(a.unknown, ','), d.member...)
		}
	}
	if d.err != nil {
		return Activation{}, fmt.Errorf("stored document of activation %s of license %s: %w", row.ID, row.LicenseID, d.err)
	}
	return a, nil
}

// Row returns the activation with its document, in its stored form.
func (a Activation) Row() store.Activation {
	d := newEncoder(len(a.Name) + len(a.EndReason) + len(a.Metadata) + len(a.HeldTerms) + len(a.unknown))
	d.text("name", a.Name)
	d.text("reason", a.EndReason)
	d.object("metadata", a.Metadata)
	d.time("lease", a.Lease)
	d.time("held", a.HeldUntil)
	d.integer("heldgen", a.HeldGeneration, a.HeldGeneration != 0)
	d.text("heldterms", a.HeldTerms)
	d.time("created", a.CreatedAt)
	d.time("seen", a.LastSeenAt)
	a.Document = d.document(a.unknown)
	return a.Activation
}
