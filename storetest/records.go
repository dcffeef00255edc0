package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Cases use plain records unless they test special values: ids and words in lower
// case, and times at midnight UTC of days in 2030. Every field is set, to a value
// that distinguishes the record from its neighbors.

// many is a Limit that no list in a case reaches.
const many = 500

func day(n int) time.Time { return time.Date(2030, time.January, 1+n, 0, 0, 0, 0, time.UTC) }

// elsewhere is a zone other than UTC.
var elsewhere = time.FixedZone("elsewhere", 5*3600+1800)

func word(what string, n int) string { return fmt.Sprintf("%s_%04d", what, n) }

func document(n int) []byte { return fmt.Appendf(nil, `{"number":%d}`, n) }

func license(n int) store.License {
	return store.License{
		ID:         word("lic", n),
		Key:        word("key", n),
		CustomerID: word("customer", n),
		ProductID:  word("product", n),
		State:      store.State(word("state", n)),
		StartsAt:   day(n + 1),
		ExpiresAt:  day(n + 2),
		Text:       word("text", n),
		Document:   document(n),
	}
}

// activation returns the n-th activation of a license.
func activation(licenseID string, n int) store.Activation {
	return store.Activation{
		LicenseID:   licenseID,
		ID:          word("act", n),
		Fingerprint: word("print", n),
		LeaseEndsAt: day(n),
		EndedAt:     day(n + 1),
		Document:    document(n),
	}
}

func event(n int) store.Event {
	return store.Event{
		ID:         word("evt", n),
		Type:       word("type", n),
		Time:       day(n),
		Actor:      word("actor", n),
		RequestID:  word("request", n),
		Subject:    word("subject", n),
		ProductID:  word("product", n),
		CustomerID: word("customer", n),
		Data:       document(n),
	}
}

func entry(kind string, n int) store.Entry {
	return store.Entry{
		Kind:      kind,
		Key:       word("key", n),
		Owner:     word("owner", n),
		Data:      document(n),
		ExpiresAt: day(n),
		CreatedAt: day(n + 1),
		Move:      store.Derived,
	}
}

// anys returns rows as add takes them.
func anys[R any](rows []R) []any {
	list := make([]any, len(rows))
	for i, row := range rows {
		list[i] = row
	}
	return list
}

// put creates, puts or appends a row, depending on its kind.
func put(ctx context.Context, w store.Writer, row any) error {
	switch row := row.(type) {
	case store.License:
		return w.CreateLicenses(ctx, row)
	case store.Event:
		return w.AppendEvents(ctx, row)
	}
	return replace(ctx, w, row)
}

// replace replaces the row with the same identity.
func replace(ctx context.Context, w store.Writer, row any) error {
	switch row := row.(type) {
	case store.License:
		return w.UpdateLicense(ctx, row)
	case store.Activation:
		return w.PutActivations(ctx, row)
	case store.Event:
		return w.ReplaceEvent(ctx, row)
	case store.Entry:
		return w.PutEntries(ctx, row)
	}
	panic(fmt.Sprintf("storetest: cannot put a %T", row))
}

// remove removes the row with row's identity.
func remove(ctx context.Context, w store.Writer, row any) error {
	switch row := row.(type) {
	case store.License:
		return w.DeleteLicense(ctx, row.ID)
	case store.Activation:
		return w.DeleteActivations(ctx, row.LicenseID, row.ID)
	case store.Entry:
		return w.DeleteEntries(ctx, row.Kind, row.Key)
	}
	panic(fmt.Sprintf("storetest: cannot remove a %T", row))
}
