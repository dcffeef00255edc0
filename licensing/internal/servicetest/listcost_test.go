package servicetest

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An examinedStore counts the licenses that lists examine in the indexes of the contract.
type examinedStore struct {
	store.Store
	examinedReader
}

func (s examinedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(examinedReader{r, s.indexes, s.examined}) })
}

func (s examinedStore) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return s.examinedReader.Licenses(ctx, q)
}

func (s examinedStore) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	return s.examinedReader.FindLicenses(ctx, q)
}

type examinedReader struct {
	store.Reader
	indexes  *indexes
	examined *int
}

func (r examinedReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	found, err := r.Reader.Licenses(ctx, q)
	if q.IDs != nil {
		*r.examined += len(q.IDs)
	} else if len(found) == store.Limit(q.Limit) {
		*r.examined += r.indexes.between(q, q.Position(found[len(found)-1]))
	} else {
		*r.examined += r.indexes.between(q, store.Position{})
	}
	return found, err
}

func (r examinedReader) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	found, next, err := r.Reader.FindLicenses(ctx, q)
	*r.examined += r.indexes.between(q, next)
	return found, next, err
}

// indexes have the positions of all licenses in each index of the contract, in order.
type indexes struct {
	all  []store.License
	kept map[string][]store.Position
}

func comparePlaces(a, b store.Position) int {
	return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID))
}

// between returns how many licenses are in the index of a query, after its position and
// up to last, zero meaning the end.
func (x *indexes) between(q store.LicenseQuery, last store.Position) int {
	w := q.Walked()
	key := fmt.Sprintf("%q %q %q %d", w.CustomerID, w.ProductID, w.State, w.Order)
	in, known := x.kept[key]
	if !known {
		for _, l := range x.all {
			p := w.Position(l)
			if (w.CustomerID == "" || w.CustomerID == l.CustomerID) && (w.ProductID == "" || w.ProductID == l.ProductID) &&
				(w.State == "" || w.State == l.State) && (w.Order == store.ByID || !p.Time.IsZero()) {
				in = append(in, p)
			}
		}
		slices.SortFunc(in, comparePlaces)
		x.kept[key] = in
	}
	place := func(p store.Position) int { i, _ := slices.BinarySearchFunc(in, p, comparePlaces); return i }
	after := func(p store.Position) int { p.ID += "\x00"; return place(p) }
	from, to := 0, len(in)
	span := w.Expires
	if w.Order == store.ByStartsAt {
		span = w.Starts
	}
	if !span.From.IsZero() {
		from = place(store.Position{Time: span.From})
	}
	if !span.Before.IsZero() {
		to = place(store.Position{Time: span.Before})
	}
	switch {
	case !w.Descending && !w.After.IsZero():
		from = max(from, after(w.After))
	case w.Descending && !w.After.IsZero():
		to = min(to, place(w.After))
	}
	switch {
	case !w.Descending && !last.IsZero():
		to = min(to, after(last))
	case w.Descending && !last.IsZero():
		from = max(from, place(last))
	}
	return max(0, to-from)
}

// TestAPageExaminesFewLicenses lists licenses of a store in which most have ended, by each
// filter and by several: a page examines 10,000 at most, and where an index serves the
// filters, only what it returns. Its cursors lead to all that match.
func TestAPageExaminesFewLicenses(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	ctx, now := t.Context(), c.Clock.Now()
	made, err := c.Store.License(ctx, c.create("n", "atlas", "c"))
	is.NoErr(err)
	x := &indexes{all: []store.License{made}, kept: map[string][]store.Position{}}
	const all = 40_000 // four times as many as a page may examine
	for i := range all {
		l := made
		l.ID, l.Key = fmt.Sprintf("lic_%026d", i), fmt.Sprint("OLD-", i)
		l.ProductID = []string{"atlas", "atlas", "globe"}[i%3]
		if l.CustomerID = "big"; i%2 == 0 {
			l.CustomerID = fmt.Sprint("customer ", i/10)
		}
		switch { // the last are of the kinds that others are filtered for
		case i >= all-10:
			l.State = []store.State{store.StateSuspended, store.StateRevoked}[i%2]
		case i >= all-all/10:
		case i%3 == 0:
			l.State = store.StateRevoked
		default:
			l.ExpiresAt = now.Add(time.Duration(i-all) * time.Minute)
		}
		if l.ExpiresAt.IsZero() && i%5 != 0 {
			l.ExpiresAt = now.Add(time.Duration(i) * time.Minute)
		}
		if i == all-all/10-2 {
			l.StartsAt, l.ExpiresAt = now.Add(time.Hour), now.Add(100*time.Hour)
		}
		x.all = append(x.all, l)
	}
	for some := range slices.Chunk(x.all[1:], 5000) {
		is.NoErr(c.Store.Update(ctx, func(tx store.Tx) error { return tx.CreateLicenses(ctx, some...) }))
	}
	examined := 0
	st := examinedStore{c.Store, examinedReader{c.Store, x, &examined}}
	h := licensing.NewHandler(st, licensing.Options{Now: c.Clock.Now, Logger: discard})
	c.mount = h

	later, before := now.Add(-2*all/5*time.Minute).UTC().Format(time.RFC3339), now.Add(19*all/20*time.Minute).UTC().Format(time.RFC3339)
	lists := 0
	for _, status := range []string{"", "active", "expired", "scheduled", "suspended", "revoked"} {
		for _, product := range []string{"", "globe"} {
			for _, customer := range []string{"", "big"} {
				for _, window := range [][2]string{{}, {"expires_after", later}, {"expires_before", before}} {
					q := url.Values{"limit": {"200"}}
					for name, value := range map[string]string{"status": status, "product_id": product, "customer_id": customer, window[0]: window[1]} {
						if value != "" {
							q.Set(name, value)
						}
					}
					most := store.MaxExamined
					if ended := status == "suspended" || status == "revoked"; customer == "" && ended && (product == "" || window[0] == "") {
						most = 1000 + 200
					}
					found, more := map[string]bool{}, true
					for pages := 0; more && pages < 12; pages++ {
						examined = 0
						a := c.do("GET", "/license?"+q.Encode(), "")
						is.Equal(a.Code, 200)
						require.AtMost(t, examined, most)
						data := a.json["data"].([]any)
						if len(data) == 200 { // enough of these
							pages += 4
						}
						for _, l := range data {
							found[l.(map[string]any)["id"].(string)] = true
						}
						if more = a.json["has_more"].(bool); more {
							q.Set("cursor", a.json["next_cursor"].(string))
						}
					}
					if lists++; !more {
						is.Equal(len(found), matching(x.all, now, status, product, customer, window)) // every match is on a page
					}
				}
			}
		}
	}
	is.Equal(lists, 72)

	find := inner.Of(h.Service()).Find()
	for _, condition := range []string{"due", "near_limit", "updates_ended", "updates_end_soon"} {
		for _, status := range []api.LicenseStatus{"", api.LicenseActive, api.LicenseExpired, api.LicenseSuspended} {
			examined = 0
			page, said, err := find.ListWhere(ctx, api.ListLicensesParams{Status: status, ProductID: "globe", Only: condition})
			is.NoErr(err)
			require.AtMost(t, max(examined, said), store.MaxExamined+200)
			if condition == "near_limit" {
				is.Equal(examined, 0) // no license was counted as one
				is.True(!page.HasMore)
			}
		}
	}
}

// matching counts the licenses that the filters of a list select.
func matching(all []store.License, now time.Time, status, product, customer string, window [2]string) (n int) {
	bound, _ := time.Parse(time.RFC3339, window[1])
	for _, l := range all {
		is := string(l.State)
		switch {
		case l.State != store.StateActive:
		case !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt):
			is = "expired"
		case now.Before(l.StartsAt):
			is = "scheduled"
		}
		if (status == "" || status == is) && (product == "" || product == l.ProductID) && (customer == "" || customer == l.CustomerID) &&
			(window[0] == "" || !l.ExpiresAt.IsZero() && l.ExpiresAt.Before(bound) == (window[0] == "expires_before")) {
			n++
		}
	}
	return n
}
