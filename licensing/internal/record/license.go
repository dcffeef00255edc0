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

	Entitlements []byte // a JSON object; empty: none
	Metadata     []byte // a JSON object; empty: none

	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time

	unknown []byte // the other members, each with a comma before it
}

// ReadLicense decodes the document of a stored license.
func ReadLicense(row store.License) (License, error) {
	l := License{License: row, MaxActivations: -1, LeaseSeconds: -1, OfflineSeconds: -1}
	l.Document = nil
	d := decoder{rest: row.Document}
	for d.next() {
		switch string(d.name) {
		case "name":
			l.Name = d.text()
		case "key":
			l.KeyText = d.text()
		case "reason":
			l.StateReason = d.text()
		case "since":
			l.StateAt = d.time()
		case "grace":
			l.GraceSeconds = d.integer()
		case "seats":
			l.MaxActivations = d.integer()
		case "lease":
			l.LeaseSeconds = d.integer()
		case "offline":
			l.OfflineSeconds = d.integer()
		case "generation":
			l.Generation = d.integer()
		case "entitlements":
			l.Entitlements = d.object()
		case "metadata":
			l.Metadata = d.object()
		case "revision":
			l.Revision = d.integer()
		case "created":
			l.CreatedAt = d.time()
		case "updated":
			l.UpdatedAt = d.time()
		default:
			l.unknown = append(append(l.unknown, ','), d.member...)
		}
	}
	if d.err != nil {
		return License{}, fmt.Errorf("stored document of license %s: %w", row.ID, d.err)
	}
	return l, nil
}

// Row returns the license with its document, in its stored form.
func (l License) Row() store.License {
	d := newEncoder(len(l.Name) + len(l.KeyText) + len(l.StateReason) + len(l.Entitlements) + len(l.Metadata) + len(l.unknown))
	d.text("name", l.Name)
	d.text("key", l.KeyText)
	d.text("reason", l.StateReason)
	d.time("since", l.StateAt)
	d.integer("grace", l.GraceSeconds, l.GraceSeconds != 0)
	d.integer("seats", l.MaxActivations, l.MaxActivations >= 0)
	d.integer("lease", l.LeaseSeconds, l.LeaseSeconds >= 0)
	d.integer("offline", l.OfflineSeconds, l.OfflineSeconds >= 0)
	d.integer("generation", l.Generation, l.Generation != 0)
	d.object("entitlements", l.Entitlements)
	d.object("metadata", l.Metadata)
	d.integer("revision", l.Revision, l.Revision != 0)
	d.time("created", l.CreatedAt)
	d.time("updated", l.UpdatedAt)
	l.Document = d.document(l.unknown)
	return l.License
}
