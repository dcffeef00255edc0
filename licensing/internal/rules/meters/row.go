package meters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// MeterKind is the kind of the entries that count a meter of a license in one period. Key
// is that of [rowKey], Owner the license ID, and Data a row. ExpiresAt is when the next
// usage.counted event is due or, if there is nothing to say, when the entry is no longer
// kept.
const MeterKind = "meter"

// CountedKind is the kind of the entries that say how much has counted under an ID. Key is
// that of [countedKey]; Data is the total in decimal digits. After ExpiresAt, the ID is
// unknown.
const CountedKind = "counted"

const (
	// ReportWindow is how old usage may be when it is reported.
	ReportWindow = 35 * 24 * time.Hour
	// ReportAhead is how far ahead the clock of a reporter may be.
	ReportAhead = 5 * time.Minute
	// knownFor is how long an ID is known after it last counted: longer than a report with
	// At can be repeated.
	knownFor = ReportWindow + 24*time.Hour
	// keptFor is how long a period is kept after its end.
	keptFor = 400 * 24 * time.Hour
	// tellEvery is how long usage is collected for one usage.counted event.
	tellEvery = time.Hour
	// maxUsed is the largest count, which every JSON parser represents exactly.
	maxUsed = 1<<53 - 1
)

// A row is what was used of a meter in one period.
type row struct {
	Used   int64           `json:"used"`
	Told   int64           `json:"told,omitzero"`    // the sum of what the usage.counted events said
	Warned map[int64]int64 `json:"warned,omitempty"` // by limit: the highest threshold whose event was appended
	To     time.Time       `json:"to,omitzero"`      // the end of the period

	due, created time.Time // of the entry; zero: none
}

func readRow(e store.Entry) (r row, err error) {
	r, err = call.ReadJSON[row](e)
	r.due, r.created = e.ExpiresAt, e.CreatedAt
	return r, err
}

func readUsed(e store.Entry) (int64, error) {
	r, err := readRow(e)
	return r.Used, err
}

// entry returns the entry of a row that was changed at an instant. If there was nothing to
// say before, the next event is due in an hour.
func (r row) entry(key string, before row, now time.Time) store.Entry {
	id, from, _ := parseRowKey(key)
	e := store.Entry{Kind: MeterKind, Key: key, Owner: id, Data: record.Encode(r), ExpiresAt: before.due, CreatedAt: before.created}
	if e.CreatedAt.IsZero() {
		e.CreatedAt = now
	}
	switch {
	case r.Used != r.Told && before.Used == before.Told:
		e.ExpiresAt = now.Add(tellEvery)
	case r.Used == r.Told && from.IsZero():
		e.ExpiresAt = time.Time{}
	case r.Used == r.Told:
		e.ExpiresAt = terms.Capped(r.To.Add(keptFor))
	}
	return e
}

// rowTime is the form of the beginning of a period in a key: in order of time.
const rowTime = "2006-01-02T15:04:05.000Z"

// rowKey returns the key of the entry of a meter in a period. Those without a period come
// first.
func rowKey(licenseID string, from time.Time, meter string) string {
	text := ""
	if !from.IsZero() {
		text = from.UTC().Format(rowTime)
	}
	return licenseID + "/" + text + "/" + meter
}

func parseRowKey(key string) (licenseID string, from time.Time, meter string) {
	licenseID, rest, _ := strings.Cut(key, "/")
	text, meter, _ := strings.Cut(rest, "/")
	from, _ = time.Parse(rowTime, text) // empty: the zero time
	return licenseID, from, meter
}

// rowsOf selects the entries of a license.
func rowsOf(licenseID string) store.EntryQuery {
	prefix := licenseID + "/"
	return store.EntryQuery{Kind: MeterKind, From: prefix, Before: store.PrefixEnd(prefix)}
}

// countedKey returns the key of the entry of an ID. It does not hold the ID, which may name
// a person.
func countedKey(licenseID, meter, id string) string {
	sum := sha256.Sum256([]byte(meter + "\x00" + id))
	return licenseID + "/" + hex.EncodeToString(sum[:16])
}

// readCounted returns a function that reads the total under an ID; 0: it is unknown now.
func readCounted(now time.Time) func(store.Entry) (int64, error) {
	return func(e store.Entry) (int64, error) {
		n, err := strconv.ParseInt(string(e.Data), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("usage of license %s: %w", e.Key, err)
		}
		if !now.Before(e.ExpiresAt) {
			return 0, nil
		}
		return n, nil
	}
}

// readAll is entries.Of for any number of keys, which may be repeated; nil: there are no
// keys.
func readAll[T any](ctx context.Context, r store.Reader, kind string, keys []string, read func(store.Entry) (T, error)) (map[string]T, error) {
	slices.Sort(keys)
	var all map[string]T
	for some := range slices.Chunk(slices.Compact(keys), store.MaxLimit) {
		found, err := entries.Of(ctx, r, kind, some, read)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = found
		} else {
			maps.Copy(all, found)
		}
	}
	return all, nil
}
