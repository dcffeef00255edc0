// Package record reads and writes the documents of stored licenses and
// activations: the fields that no store has to know. A new field that no query
// selects by is added here and touches no store.
//
// A document is a JSON object without white space, whose members are in a fixed
// order and are left out if they have their default. Members that this version
// does not know come from a newer one. They are kept, so that two versions may
// work with one store.
package record

import (
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A License is a stored license with the fields of its document.
type License struct {
	store.License // without Document

	Name        string
	KeyText     string // the key as supplied, if that differs from Key
	StateReason string
	StateAt     time.Time // when State was last set

	GraceSeconds   int64
	MaxActivations int64 // negative: unlimited
	LeaseSeconds   int64 // negative: an activation lasts until released
	OfflineSeconds int64 // negative: the default of the service
	Generation     int64 // 0: 1
	CustomerSince  int64 // the generation with which the license was given to its customer; 0: the first

	UpdatesUntil time.Time // when the last build may have been made; zero: at any time

	PlanID    string // of the plan that it was made from, if any
	Reference string // of the purchase that governs it, if any

	// What package terms stores of a license that has purchases; empty: it has none, or
	// nothing is to be stored.
	Bought     bool      // it has purchases
	Awaits     bool      // the end of one of them is unknown until the first activation
	Hand       []byte    // a JSON object: the fields set by hand
	Suspension []byte    // a JSON object: who suspends it
	Changes    []byte    // a JSON object: what time will change
	ChangesAt  time.Time // the first of these changes; zero: there is none

	Entitlements []byte // a JSON object; empty: none
	Metadata     []byte // a JSON object; empty: none
	Meters       []byte // a JSON object; empty: none
	Metered      bool   // it has or had meters, so there may be rows of their usage; Row sets it

	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time

	// Stored is the license as stored, if changes have come since, with the
	// purchases that have ended by them; nil: as it is here.
	Stored *License
	Ended  []string

	unknown []byte // the other members, each with a comma before it
}

// ReadLicense decodes the document of a stored license.
func ReadLicense(row store.License) (License, error) {
	l := License{License: row, MaxActivations: -1, LeaseSeconds: -1, OfflineSeconds: -1}
	l.Document = nil
	c := newReader(row.Document)
	for c.more() {
		l.visit(&c)
	}
	if c.err != nil {
		return License{}, fmt.Errorf("stored document of license %s: %w", row.ID, c.err)
	}
	l.unknown = c.unknown
	return l, nil
}

// Row returns the license with its document, in its stored form.
func (l License) Row() store.License {
	c := newWriter(len(l.Name) + len(l.KeyText) + len(l.StateReason) + len(l.PlanID) + len(l.Reference) + len(l.Hand) + len(l.Suspension) + len(l.Changes) + len(l.Entitlements) + len(l.Metadata) + len(l.Meters) + len(l.unknown))
	l.Metered = l.Metered || len(l.Meters) > 0
	l.visit(&c)
	l.Document = c.document(l.unknown)
	return l.License
}

// visit passes the members of the document to a codec.
func (l *License) visit(c *codec) {
	c.text("name", &l.Name)
	c.text("key", &l.KeyText)
	c.text("reason", &l.StateReason)
	c.time("since", &l.StateAt)
	c.integer("grace", &l.GraceSeconds, l.GraceSeconds != 0)
	c.integer("seats", &l.MaxActivations, l.MaxActivations >= 0)
	c.integer("lease", &l.LeaseSeconds, l.LeaseSeconds >= 0)
	c.integer("offline", &l.OfflineSeconds, l.OfflineSeconds >= 0)
	c.integer("generation", &l.Generation, l.Generation != 0)
	c.integer("customer_since", &l.CustomerSince, l.CustomerSince != 0)
	c.time("updates", &l.UpdatesUntil)
	c.text("plan", &l.PlanID)
	c.text("reference", &l.Reference)
	c.flag("bought", &l.Bought)
	c.flag("awaits", &l.Awaits)
	c.object("hand", &l.Hand)
	c.object("suspension", &l.Suspension)
	c.object("changes", &l.Changes)
	c.time("changes_at", &l.ChangesAt)
	c.object("entitlements", &l.Entitlements)
	c.object("metadata", &l.Metadata)
	c.object("meters", &l.Meters)
	c.flag("metered", &l.Metered)
	c.integer("revision", &l.Revision, l.Revision != 0)
	c.time("created", &l.CreatedAt)
	c.time("updated", &l.UpdatedAt)
}
