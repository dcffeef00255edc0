package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
)

func searchCases() []testCase {
	return []testCase{
		{"Search", "Filters", 30, findFilters},
		{"Search", "Changes", 30, findChanged},
		{"Search", "EditsBetweenCalls", 30, findBetweenEdits},
		{"Search", "ManyExamined", 30, findAmongMany},
		{"Search", "Examined", 30, findExamined},
		{"Search", "Refused", 22, findRefused},
		{"Search", "Fingerprints", 11, fingerprints},
		{"Search", "FingerprintPages", 12, fingerprintPages},
		{"Search", "FingerprintsOfDeleted", 19, fingerprintsOfDeleted},
		{"Search", "FingerprintsRefused", 22, fingerprintsRefused},
	}
}

// find returns the IDs that a chain of calls finds. It fails if a call does not
// continue after the one before.
func (b *bench) find(r store.Reader, q store.LicenseQuery, between ...func()) ([]string, error) {
	var ids []string
	for {
		found, next, err := r.FindLicenses(b.ctx, q)
		if err != nil {
			return ids, err
		}
		ids = append(ids, licenseIDs(found)...)
		if len(found) > store.Limit(q.Limit) {
			return ids, fmt.Errorf("%d licenses with a Limit of %d", len(found), q.Limit)
		}
		if next.IsZero() {
			return ids, nil
		}
		if after := q.After; !after.IsZero() && !follows(q, next) {
			return ids, fmt.Errorf("next is %v after %v", next, after)
		}
		q.After = next
		for _, fn := range between {
			fn()
		}
	}
}

// follows reports whether a position comes after that of q.
func follows(q store.LicenseQuery, p store.Position) bool {
	if q.Order == store.ByID {
		return p.ID != q.After.ID && p.ID < q.After.ID == q.Descending
	}
	c := cmp.Or(p.Time.Compare(q.After.Time), strings.Compare(p.ID, q.After.ID))
	return c != 0 && c < 0 == q.Descending
}

// findFilters searches by every field alone and by pairs.
func findFilters(b *bench) {
	rows := b.mixedLicenses()
	type query = store.LicenseQuery
	sweep[query, store.License]{
		slices.Concat(licenseFields(),
			by("Text", func(q *query, v []string) { q.Text = v }, []string{}, []string{""}, []string{"text_001"}, []string{"_00", "2"}, []string{"3", "4"}, []string{"1", "nothing"}),
			by("KeyPart", func(q *query, v string) { q.KeyPart = v }, "ey_002", "5", "nothing"),
			by("Descending", func(q *query, v bool) { q.Descending = v }, true),
			by("After", func(q *query, v string) { q.After = store.Position{Time: day(2), ID: v} }, word("lic", 33), "m"),
			by("Limit", func(q *query, v int) { q.Limit = v }, 1, 7),
			by("Examine", func(q *query, v int) { q.Examine = v }, 1, 7),
			by("Order", func(q *query, v store.LicenseOrder) { q.Order = v }, store.ByExpiresAt, store.ByStartsAt),
		), rows, licenseID,
		func(q query, l store.License) bool {
			p, in := placed(q.Order, l)
			return in && selects(q, l) && (q.After.IsZero() || follows(q, p))
		},
		func(r store.Reader, q query) ([]string, error) {
			ids, err := b.find(r, q)
			for i := 1; i < len(ids) && err == nil; i++ {
				q.After, _ = placed(q.Order, rows[slices.Index(licenseIDs(rows), ids[i-1])])
				p, _ := placed(q.Order, rows[slices.Index(licenseIDs(rows), ids[i])])
				b.equal(follows(q, p), true, "order of what FindLicenses finds, for %+v", q)
			}
			return ids, err
		},
	}.pairs(b)
}

// findExamined searches, with calls that examine few licenses each, for what is not
// there: between a call and its next are no more licenses of the index of its query.
func findExamined(b *bench) {
	rows := b.mixedLicenses()
	for _, q := range []store.LicenseQuery{
		{}, {CustomerID: "customer_0001"}, {CustomerID: "customer_0001", ProductID: "product_0002"}, {ProductID: "product_0002"}, {State: "state_0001"},
		{State: store.StateActive}, {ProductID: "product_0002", State: "state_0001"}, {ProductID: "product_0002", State: store.StateActive},
		{Expires: store.TimeRange{From: day(1)}}, {State: "state_0001", Starts: store.TimeRange{Before: day(2), OrNone: true}},
	} {
		for _, q.Order = range []store.LicenseOrder{store.ByID, store.ByExpiresAt, store.ByStartsAt} {
			for _, q.Descending = range []bool{false, true} {
				q := q
				q.KeyPart, q.Examine = "nothing", 3
				for more := true; more; {
					found, next, err := b.FindLicenses(b.ctx, q)
					b.equal(err, nil, "FindLicenses")
					examined, after := 0, q
					after.After = next
					for _, l := range rows {
						p, in := placed(q.Order, l)
						if in && selects(q.Walked(), l) && (q.After.IsZero() || follows(q, p)) && (next.IsZero() || !follows(after, p)) {
							examined++
						}
					}
					if len(found) > 0 || examined > q.Examine {
						b.fail([]int{len(found), examined}, []int{0, q.Examine}, "licenses found and examined by a call, for %+v", q)
					}
					if more = !next.IsZero() && (q.After.IsZero() || follows(q, next)); more {
						q.After = next
					}
				}
			}
		}
	}
}

// findChanged searches for licenses whose text alone has changed, and for one that
// was deleted.
func findChanged(b *bench) {
	b.add(license(1), license(2))
	renamed := license(1)
	renamed.Text = "renamed"
	b.update(func(tx store.Tx) error { return tx.UpdateLicense(b.ctx, renamed) })
	search := func(text string, want ...string) {
		b.readers(func(how string, r store.Reader) {
			ids, err := b.find(r, store.LicenseQuery{Text: []string{text}})
			b.equal(err, nil, "FindLicenses %s", how)
			b.equal(ids, want, "licenses found by %q %s, after the text of one changed", text, how)
		})
	}
	search("renamed", license(1).ID)
	search(license(1).Text)
	b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, license(1).ID) })
	search("renamed")
	search("text", license(2).ID)
}

// findBetweenEdits changes other licenses between the calls of a chain: licenses that
// the chain has passed, licenses ahead, and the one that the next call continues
// after.
func findBetweenEdits(b *bench) {
	for _, descending := range []bool{false, true} {
		var rows []store.License
		for n := range 30 {
			l := license(n)
			l.ID, l.Key = fmt.Sprint(descending, " ", l.ID), fmt.Sprint(descending, " ", l.Key)
			l.CustomerID, l.Text = fmt.Sprint("customer ", descending), "others"
			if n%3 == 1 {
				l.Text = "wanted"
			}
			rows = append(rows, l)
		}
		b.add(anys(rows)...)
		calls := 0
		edit := func() {
			added := license(100 + calls)
			added.ID, added.Key, added.Text = rows[10].ID+fmt.Sprint(calls), fmt.Sprint(descending, " ", added.Key), "others"
			b.add(added)
			if n := calls * 3; calls < 10 {
				renamed := rows[n+2]
				renamed.Text = "still others"
				b.update(func(tx store.Tx) error {
					if err := tx.DeleteLicense(b.ctx, rows[n].ID); err != nil {
						return err
					}
					return tx.UpdateLicense(b.ctx, renamed)
				})
			}
			calls++
		}
		var want []string
		for _, l := range rows {
			if l.Text == "wanted" {
				want = append(want, l.ID)
			}
		}
		if descending {
			slices.Reverse(want)
		}
		ids, err := b.find(b.Store, store.LicenseQuery{CustomerID: rows[0].CustomerID, Text: []string{"wanted"}, Descending: descending, Limit: 1}, edit)
		b.equal(err, nil, "FindLicenses")
		b.equal(ids, want, "licenses found, one a call, with others changed between the calls, descending %v", descending)
	}

	// What a call has found is deleted before the next continues after it.
	b.add(license(1), license(2), license(3))
	var last []string
	q := store.LicenseQuery{KeyPart: "key_", CustomerID: "", Text: []string{"text_"}, Limit: 1}
	for next := "start"; next != ""; q.After.ID = next {
		var found []store.License
		var err error
		var at store.Position
		found, at, err = b.FindLicenses(b.ctx, q)
		next = at.ID
		b.ok(err, "FindLicenses")
		for _, l := range found {
			last = append(last, l.ID)
			b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, l.ID) })
		}
	}
	b.equal(last, []string{license(1).ID, license(2).ID, license(3).ID}, "licenses found, each deleted before the next call")
}

// findAmongMany searches, and counts, more licenses than one call examines: those at
// the ends of what a call examines match, and those beside them.
func findAmongMany(b *bench) {
	if testing.Short() {
		return
	}
	total := store.MaxExamined + 1100
	wanted := map[int]bool{0: true, total - 1: true}
	for _, n := range []int{store.MaxExamined - 1, store.MaxExamined, store.MaxExamined + 1} {
		wanted[n], wanted[total-1-n] = true, true
	}
	var want []string
	rows := make([]store.License, total)
	for n := range rows {
		rows[n] = store.License{ID: fmt.Sprintf("lic_%06d", n), Key: fmt.Sprint("key_", n), CustomerID: "customer", ProductID: "product", State: "active", Text: "other"}
		if wanted[n] {
			rows[n].Text = "a wanted one"
			want = append(want, rows[n].ID)
		}
	}
	for chunk := range slices.Chunk(rows, store.MaxLimit) {
		b.update(func(tx store.Tx) error { return tx.CreateLicenses(b.ctx, chunk...) })
	}
	for _, q := range []store.LicenseQuery{{}, {CustomerID: "customer"}, {ProductID: "product", State: "active"}, {State: "active"}, {Limit: 2}} {
		q.Text = []string{"wanted"}
		for _, q.Descending = range []bool{false, true} {
			ids, err := b.find(b.Store, q)
			if q.Descending {
				slices.Reverse(ids)
			}
			b.equal(err, nil, "FindLicenses")
			b.equal(ids, want, "licenses found among %d, for %+v", total, q)
		}
	}
	first := store.LicenseQuery{KeyPart: rows[total-1].Key}
	found, next, err := b.FindLicenses(b.ctx, first)
	b.equal(err, nil, "FindLicenses")
	if len(found) > 0 || next.IsZero() || next.ID > rows[store.MaxExamined-1].ID {
		b.fail(next.ID, "one of the first 10,000", "next of the first call that searches for the last of %d licenses", total)
	}
	first.After = next
	found, next, err = b.FindLicenses(b.ctx, first)
	b.equal(err, nil, "FindLicenses")
	b.equal([]any{len(found), next}, []any{1, store.Position{}}, "what the second call found that searches for the last of %d licenses, and its next", total)

	b = b.under(31)
	other := rows[total-1]
	other.CustomerID = "other"
	b.update(func(tx store.Tx) error { return tx.UpdateLicense(b.ctx, other) })
	for _, q := range []store.LicenseQuery{{}, {CustomerID: "customer"}, {ProductID: "product"}, {State: "active"}, {CustomerID: "customer", ProductID: "product"}} {
		want := int64(total)
		if q.CustomerID != "" {
			want--
		}
		counts, err := b.CountLicenses(b.ctx, q)
		b.equal(err, nil, "CountLicenses")
		b.equal(counts, []int64{want}, "count of %d licenses, for %+v", total, q)
	}
	names, err := b.LicenseNames(b.ctx, store.NamesQuery{})
	b.equal(err, nil, "LicenseNames")
	b.equal(names, []store.NameCount{{Name: "customer", Count: int64(total - 1)}, {Name: "other", Count: 1}}, "names of %d licenses", total)
}

// findRefused asks for what FindLicenses does not know, and Licenses for what is of
// FindLicenses alone.
func findRefused(b *bench) {
	b.add(license(1))
	for _, q := range []store.LicenseQuery{
		{Order: 7}, {Order: -1}, {IDs: []string{license(1).ID}}, {IDs: []string{}}, {Text: make([]string, 101)},
	} {
		b.refuses("FindLicenses", fmt.Sprintf("%+v", q), func(r store.Reader) error {
			_, _, err := r.FindLicenses(b.ctx, q)
			return err
		})
	}
	for _, q := range []store.LicenseQuery{{Text: []string{"x"}}, {Text: []string{}}, {KeyPart: "x"}, {Examine: 1}, {Order: 7}, {Order: -1}} {
		b.refuses("Licenses", fmt.Sprintf("%+v", q), func(r store.Reader) error {
			_, err := r.Licenses(b.ctx, q)
			return err
		})
	}
}

// refuses checks that a query is refused, and that an Update continues after it.
func (b *bench) refuses(method, query string, call func(r store.Reader) error) {
	b.readers(func(how string, r store.Reader) {
		if call(r) == nil {
			b.fail("no error", "an error", "%s %s for %s", method, how, query)
		}
	})
	kept := entry("kept", 1)
	kept.Key = method + query[:min(len(query), 100)]
	err := b.try(func(tx store.Tx) error {
		_ = call(tx)
		return tx.PutEntries(b.ctx, kept)
	})
	b.under(28).equal(err, nil, "Update that continued after %s had refused %s", method, query)
}

// seats adds licenses with activations whose fingerprints begin alike, some of them
// ended, and returns them in the order of a list by
// fingerprint.
func (b *bench) seats() []store.Activation {
	var list []store.Activation
	for n, prints := range [][]string{{"LAPTOP-B", "LAPTOP-A", "laptop", "LAPTOP", "LAP"}, {"LAPTOP-A", "LAPTOP-AB", "LAPTOP", "許可", "許"}, {"LAPTOP-A", "LAPTOP-\U0010FFFF", "LAPTOQ", "\U0010FFFF"}} {
		b.add(license(n))
		for i, print := range prints {
			a := activation(license(n).ID, i)
			a.Fingerprint = print
			if i%2 == 0 {
				a.EndedAt = a.EndedAt.AddDate(-10, 0, 0)
			}
			b.add(a)
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b store.Activation) int {
		if c := strings.Compare(a.Fingerprint, b.Fingerprint); c != 0 {
			return c
		}
		return strings.Compare(a.LicenseID, b.LicenseID)
	})
	return list
}

func placeOf(a store.Activation) string { return a.Fingerprint + " of " + a.LicenseID }

// fingerprints lists activations by prefixes.
func fingerprints(b *bench) {
	all := b.seats()
	b.readers(func(how string, r store.Reader) {
		for _, prefix := range []string{"L", "LAP", "LAPTOP", "LAPTOP-", "LAPTOP-A", "LAPTOP-AB", "LAPTOP-\U0010FFFF", "laptop", "lap", "許", "許可", "\U0010FFFF", "none"} {
			var want, got []string
			for _, a := range all {
				if strings.HasPrefix(a.Fingerprint, prefix) {
					want = append(want, placeOf(a))
				}
			}
			found, err := r.Activations(b.ctx, store.ActivationQuery{FingerprintPrefix: prefix, Limit: many})
			b.equal(err, nil, "Activations %s", how)
			for _, a := range found {
				got = append(got, placeOf(a))
			}
			b.under(10).equal(slices.IsSorted(got), slices.IsSorted(want), "order of activations by the prefix %q %s", prefix, how)
			b.equal(got, want, "activations by the prefix %q %s", prefix, how)
		}
	})
}

// fingerprintPages pages through activations, and deletes each before the page after
// it.
func fingerprintPages(b *bench) {
	all := b.seats()
	q := store.ActivationQuery{FingerprintPrefix: "LAPTOP", Limit: 1}
	var want, got []string
	for _, a := range all {
		if strings.HasPrefix(a.Fingerprint, q.FingerprintPrefix) {
			want = append(want, placeOf(a))
		}
	}
	for len(got) <= len(want) {
		page, err := b.Activations(b.ctx, q)
		b.ok(err, "Activations")
		if len(page) == 0 {
			break
		}
		a := page[0]
		got = append(got, placeOf(a))
		q.AfterFingerprint, q.AfterLicenseID = a.Fingerprint, a.LicenseID
		b.update(func(tx store.Tx) error { return tx.DeleteActivations(b.ctx, a.LicenseID, a.ID) })
	}
	b.equal(got, want, "activations by a prefix, one a page, each deleted before the next page")
}

// fingerprintsOfDeleted lists the activations that a deleted license has left.
func fingerprintsOfDeleted(b *bench) {
	l, a := license(1), activation(license(1).ID, 1)
	b.add(l, a)
	b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, l.ID) })
	left := func(want int, when string) {
		found, err := b.Activations(b.ctx, store.ActivationQuery{FingerprintPrefix: a.Fingerprint, Limit: many})
		b.equal(err, nil, "Activations")
		b.equal(len(found), want, "activations by a prefix %s", when)
	}
	left(1, "after their license was deleted")
	b.update(func(tx store.Tx) error { return tx.DeleteActivations(b.ctx, l.ID, a.ID) })
	left(0, "after they were deleted")
}

// fingerprintsRefused mixes the fields of the two kinds of queries.
func fingerprintsRefused(b *bench) {
	b.add(license(1), activation(license(1).ID, 1))
	for _, q := range []store.ActivationQuery{
		{FingerprintPrefix: "p", LicenseID: license(1).ID}, {FingerprintPrefix: "p", LiveAt: day(1)}, {FingerprintPrefix: "p", LeaseEnds: store.TimeRange{From: day(1)}},
		{FingerprintPrefix: "p", After: "a"}, {LicenseID: license(1).ID, AfterFingerprint: "p"}, {LicenseID: license(1).ID, AfterLicenseID: "l"},
	} {
		b.refuses("Activations", fmt.Sprintf("%+v", q), func(r store.Reader) error {
			_, err := r.Activations(b.ctx, q)
			return err
		})
	}
}
