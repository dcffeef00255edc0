package storetest

import (
	"context"
	"math"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A readCall or writeCall is one call of one method of the contract, for the
// rules about every method. Each succeeds at version 1.
type (
	readCall struct {
		method string
		call   func(context.Context, store.Reader) error
	}
	writeCall struct {
		method string
		call   func(context.Context, store.Writer) error
	}
)

var readCalls = []readCall{
	{"License", func(ctx context.Context, r store.Reader) error {
		_, err := r.License(ctx, license(1).ID)
		return err
	}},
	{"LicenseByKey", func(ctx context.Context, r store.Reader) error {
		_, err := r.LicenseByKey(ctx, license(1).Key)
		return err
	}},
	{"Licenses", func(ctx context.Context, r store.Reader) error {
		_, err := r.Licenses(ctx, store.LicenseQuery{Limit: many})
		return err
	}},
	{"FindLicenses", func(ctx context.Context, r store.Reader) error {
		_, _, err := r.FindLicenses(ctx, store.LicenseQuery{Text: []string{license(1).Text}, Limit: many})
		return err
	}},
	{"CountLicenses", func(ctx context.Context, r store.Reader) error {
		_, err := r.CountLicenses(ctx, store.LicenseQuery{})
		return err
	}},
	{"LicenseNames", func(ctx context.Context, r store.Reader) error {
		_, err := r.LicenseNames(ctx, store.NamesQuery{Limit: many})
		return err
	}},
	{"Activation", func(ctx context.Context, r store.Reader) error {
		_, err := r.Activation(ctx, license(1).ID, activation("", 1).Fingerprint)
		return err
	}},
	{"Activations", func(ctx context.Context, r store.Reader) error {
		_, err := r.Activations(ctx, store.ActivationQuery{LicenseID: license(1).ID, Limit: many})
		return err
	}},
	{"Events", func(ctx context.Context, r store.Reader) error {
		_, err := r.Events(ctx, store.EventQuery{Limit: many})
		return err
	}},
	{"Entry", func(ctx context.Context, r store.Reader) error {
		_, err := r.Entry(ctx, "version", entry("", 1).Key)
		return err
	}},
	{"Entries", func(ctx context.Context, r store.Reader) error {
		_, err := r.Entries(ctx, store.EntryQuery{Kind: "version", Limit: many})
		return err
	}},
}

var writeCalls = []writeCall{
	{"CreateLicenses", func(ctx context.Context, w store.Writer) error {
		return w.CreateLicenses(ctx, license(7))
	}},
	{"UpdateLicense", func(ctx context.Context, w store.Writer) error {
		l := license(1)
		l.Document = []byte("changed")
		return w.UpdateLicense(ctx, l)
	}},
	{"DeleteLicense", func(ctx context.Context, w store.Writer) error {
		return w.DeleteLicense(ctx, license(1).ID)
	}},
	{"PutActivations", func(ctx context.Context, w store.Writer) error {
		return w.PutActivations(ctx, activation(license(1).ID, 7))
	}},
	{"DeleteActivations", func(ctx context.Context, w store.Writer) error {
		return w.DeleteActivations(ctx, license(1).ID, activation("", 1).ID)
	}},
	{"AppendEvents", func(ctx context.Context, w store.Writer) error {
		return w.AppendEvents(ctx, event(7))
	}},
	{"DeleteEvents", func(ctx context.Context, w store.Writer) error {
		_, err := w.DeleteEvents(ctx, math.MaxInt64, many)
		return err
	}},
	{"PutEntries", func(ctx context.Context, w store.Writer) error {
		return w.PutEntries(ctx, entry("version", 7))
	}},
	{"DeleteEntries", func(ctx context.Context, w store.Writer) error {
		return w.DeleteEntries(ctx, "version", entry("", 1).Key)
	}},
}

// replaceEventCall is separate, because it needs a Seq that the store assigned.
func replaceEventCall(seq int64) writeCall {
	return writeCall{"ReplaceEvent", func(ctx context.Context, w store.Writer) error {
		e := event(7)
		e.Seq = seq
		return w.ReplaceEvent(ctx, e)
	}}
}
