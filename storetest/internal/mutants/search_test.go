package mutants

import (
	"context"
	"runtime"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// searchMutants break the rules about searches and counts.
var searchMutants = []mutant{
	{30, "searches the text before the last update", func() store.Store { return keepsText{memory.New()} }},
	{30, "ends a search at the first call that finds less than a page", reading(func(r store.Reader) store.Reader { return endsSearch{r} })},
	{30, "skips the license at the end of what a call examines", reading(func(r store.Reader) store.Reader { return skipsNext{r} })},
	{30, "examines more licenses than a query allows", reading(func(r store.Reader) store.Reader { return examinesMore{r} })},
	{30, "continues a search in the order of ends by the time alone", reading(func(r store.Reader) store.Reader { return skipsEqualEnds{r} })},
	{30, "finds licenses that contain one of several texts", reading(func(r store.Reader) store.Reader { return anyText{r} })},
	{30, "ignores the part of a key", reading(func(r store.Reader) store.Reader { return anyKey{r} })},
	{31, "counts at most a thousand", reading(func(r store.Reader) store.Reader { return countsPage{r} })},
	{31, "counts a license at an edge before it", reading(func(r store.Reader) store.Reader { return closedEdges{r} })},
	{31, "counts licenses that are not in the order", reading(func(r store.Reader) store.Reader { return countsAll{r} })},
	{31, "starts a page of names with the last name of the page before", reading(func(r store.Reader) store.Reader { return repeatsName{r} })},
	{3, "searches what is committed in an Update", readingInUpdates(func(before, tx store.Reader) store.Reader { return searchesBefore{tx, before} })},
	{3, "counts what is committed in an Update", readingInUpdates(func(before, tx store.Reader) store.Reader { return countsBefore{tx, before} })},
	{6, "counts each part in a state of its own", func() store.Store { return &countsParts{halves{Store: memory.New()}} }},
	{7, "searches without regard to case", reading(func(r store.Reader) store.Reader { return foldsText{r} })},
	{24, "finds texts by half a character", reading(func(r store.Reader) store.Reader { return halfCharacter{r} })},
	{22, "counts with a Limit", reading(func(r store.Reader) store.Reader { return countsWithLimit{r} })},
	{11, "lists fingerprints that contain the prefix", reading(func(r store.Reader) store.Reader { return fingerprintPart{r} })},
	{12, "pages through activations by fingerprint alone", reading(func(r store.Reader) store.Reader { return fingerprintPage{r} })},
}

// Rules 3 and 6.

// searchesBefore searches what was committed before the Update, unless the call
// fails.
type searchesBefore struct {
	store.Reader
	before store.Reader
}

func (r searchesBefore) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if found, next, err := r.Reader.FindLicenses(ctx, q); err != nil {
		return found, next, err
	}
	return r.before.FindLicenses(ctx, q)
}

type countsBefore struct {
	store.Reader
	before store.Reader
}

func (r countsBefore) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if counts, err := r.Reader.CountLicenses(ctx, q, edges...); err != nil {
		return counts, err
	}
	return r.before.CountLicenses(ctx, q, edges...)
}

type countsParts struct{ halves }

func (s *countsParts) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if len(edges) < 3 || q.CheckCount(edges) != nil {
		return s.Store.CountLicenses(ctx, q, edges...)
	}
	var counts []int64
	for i := 1; i < len(edges); i++ {
		part, err := s.Store.CountLicenses(ctx, q, edges[i-1], edges[i])
		if err != nil {
			return nil, err
		}
		counts = append(counts, part...)
		for seen, n := s.updates.Load(), 0; s.updates.Load() == seen && n < 100; n++ {
			runtime.Gosched()
		}
	}
	return counts, nil
}

// Rules 7 and 24.

type foldsText struct{ store.Reader }

func (r foldsText) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if len(q.Text) == 1 {
		if part, ok := strings.CutSuffix(q.Text[0], "Abc"); ok {
			q.Text = []string{part}
		}
	}
	return r.Reader.FindLicenses(ctx, q)
}

type halfCharacter struct{ store.Reader }

func (r halfCharacter) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if len(q.Text) == 1 && q.Text[0] == "\xc2" {
		q.Text = []string{"½"}
	}
	return r.Reader.FindLicenses(ctx, q)
}

// Rule 30.

type keepsText struct{ *memory.Store }

func (s keepsText) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(oldText{tx}) })
}

type oldText struct{ store.Tx }

func (t oldText) UpdateLicense(ctx context.Context, l store.License) error {
	if old, err := t.Tx.License(ctx, l.ID); err == nil && l.Key == old.Key && l.CustomerID == old.CustomerID && string(l.Document) == string(old.Document) {
		l.Text = old.Text
	}
	return t.Tx.UpdateLicense(ctx, l)
}

type endsSearch struct{ store.Reader }

func (r endsSearch) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	found, next, err := r.Reader.FindLicenses(ctx, q)
	if len(found) < store.Limit(q.Limit) {
		next = store.Position{}
	}
	return found, next, err
}

type skipsNext struct{ store.Reader }

func (r skipsNext) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	found, next, err := r.Reader.FindLicenses(ctx, q)
	if !next.IsZero() && len(found) < store.Limit(q.Limit) {
		if more, err := r.Reader.Licenses(ctx, store.LicenseQuery{Order: q.Order, After: next, Descending: q.Descending, Limit: 1}); err == nil && len(more) > 0 {
			next = q.Position(more[0])
		}
	}
	return found, next, err
}

type examinesMore struct{ store.Reader }

func (r examinesMore) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if q.Order == store.ByExpiresAt && q.State != "" {
		q.Examine *= 20 // above which it is as if it were not set
	}
	return r.Reader.FindLicenses(ctx, q)
}

type skipsEqualEnds struct{ store.Reader }

func (r skipsEqualEnds) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if q.Order == store.ByExpiresAt && !q.After.IsZero() && !q.Descending && q.Examine != 0 {
		q.After.ID = "\U0010FFFF"
	}
	return r.Reader.FindLicenses(ctx, q)
}

type anyText struct{ store.Reader }

func (r anyText) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if len(q.Text) == 2 && len(q.Text[1]) == 1 { // text of rule 24, and not too many of rule 22
		q.Text = q.Text[:1]
	}
	return r.Reader.FindLicenses(ctx, q)
}

type anyKey struct{ store.Reader }

func (r anyKey) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if !strings.Contains(q.KeyPart, "ä") && q.Text != nil {
		q.KeyPart = ""
	}
	return r.Reader.FindLicenses(ctx, q)
}

// Rule 31.

type countsPage struct{ store.Reader }

func (r countsPage) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	counts, err := r.Reader.CountLicenses(ctx, q, edges...)
	for i := range counts {
		counts[i] = min(counts[i], store.MaxLimit)
	}
	return counts, err
}

type closedEdges struct{ store.Reader }

func (r closedEdges) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if q.Order == store.ByID {
		for i := range edges {
			if edges[i].ID != "" {
				edges[i].ID += "\x00"
			}
		}
	}
	return r.Reader.CountLicenses(ctx, q, edges...)
}

type countsAll struct{ store.Reader }

func (r countsAll) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if edges == nil && q.CheckCount(nil) == nil {
		q.Order = store.ByID
	}
	return r.Reader.CountLicenses(ctx, q, edges...)
}

type repeatsName struct{ store.Reader }

func (r repeatsName) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	if q.After != "" && q.Limit > 1 {
		q.After = q.After[:len(q.After)-1]
	}
	return r.Reader.LicenseNames(ctx, q)
}

// Rule 22.

type countsWithLimit struct{ store.Reader }

func (r countsWithLimit) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	q.Limit = 0
	return r.Reader.CountLicenses(ctx, q, edges...)
}

// Rules 11 and 12.

type fingerprintPart struct{ store.Reader }

func (r fingerprintPart) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if len(q.FingerprintPrefix) > 1 {
		q.FingerprintPrefix = q.FingerprintPrefix[:1]
	}
	return r.Reader.Activations(ctx, q)
}

type fingerprintPage struct{ store.Reader }

func (r fingerprintPage) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if q.AfterFingerprint != "" && q.FingerprintPrefix != "" {
		q.AfterLicenseID = "\U0010FFFF"
	}
	return r.Reader.Activations(ctx, q)
}
