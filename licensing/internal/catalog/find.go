package catalog

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	maxCandidates = 2000 // examined for one page
	chunk         = 250  // candidates read together
	commonTerm    = 100  // candidates by which terms are compared
	maxSampled    = 8    // common terms that are compared by a sample
)

// A Search selects licenses by words.
type Search struct {
	Text  string
	Keys  bool               // the caller may see keys
	Where store.LicenseQuery // filters, direction and Limit; no Order, IDs or After
	// Sees reports whether a license exists for the caller.
	Sees  func(store.License) bool
	After string // Next of the page before or, with Back, Prev of the page after
	Back  bool   // the page before the position After
}

// A Page is a page of a search. It may be short.
type Page struct {
	Licenses []store.License
	Next     string // continues the search; empty at its end
	Prev     string // the position before which the page before ends; empty: there is none
}

// Find returns the licenses that have, for each word of the text, a word that
// begins with it. The order is that of the index: by the matching word of the
// rarest search word, then by ID. With a customer in Where, it is by ID. Each
// license appears once. Find returns ok false if After is not a position of such a
// search.
func (in Snapshot) Find(ctx context.Context, s Search) (page Page, ok bool, err error) {
	f := finder{Search: s, Snapshot: in, terms: searchTerms(s.Text), descending: s.Where.Descending}
	if len(f.terms) == 0 {
		return Page{}, s.After == "", nil
	}
	f.pairs = newPairReader(in)
	after := ""
	if s.After != "" {
		number, key, _ := strings.Cut(s.After, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(f.terms) || key == "" || !utf8.ValidString(key) || strings.Contains(key, "\x00") || len(key) > store.MaxKey {
			return Page{}, false, nil
		}
		f.rarest, after = n, key
		f.Where.Descending = f.descending != s.Back
	} else if s.Where.CustomerID == "" {
		if f.rarest, err = f.findRarest(ctx); err != nil {
			return Page{}, false, err
		}
	}
	if s.Where.CustomerID != "" {
		err = f.ofCustomer(ctx, after)
	} else {
		err = f.byTerm(ctx, after)
	}
	f.link()
	return f.page, true, err
}

// link sets the positions before and after the page.
func (f *finder) link() {
	begin := ""
	if len(f.page.Licenses) > 0 && f.After != "" {
		begin = f.position(f.first)
	}
	if !f.Back {
		f.page.Prev, f.page.Next = begin, f.stopped
		return
	}
	slices.Reverse(f.page.Licenses)
	f.page.Prev, f.page.Next = f.stopped, cmp.Or(begin, f.stopped)
}

// A finder reads one page of a search.
type finder struct {
	Search
	Snapshot
	pairs    pairReader
	terms    []string // of the search
	rarest   int      // the term whose candidates are examined
	examined int
	page     Page
	first    string // key of the license in the page that was read first
	last     string // key of the license in the page that was read last
	stopped  string // the position after which reading continues; empty: it reached the end

	descending bool // the direction of the list; Where has that of reading
}

// A candidate is a license that may match.
type candidate struct {
	key string // its place in the list
	id  string
}

// matches reports whether a term of a license matches a term of the search.
func (f *finder) matches(term, search string) bool {
	if strings.HasPrefix(term, groupMark) {
		return f.Keys && term == keyGroup(search)
	}
	return strings.HasPrefix(term, search)
}

// hasAll reports whether the terms of a license match all terms of the search.
func (f *finder) hasAll(terms []string) bool {
	for _, search := range f.terms {
		if !slices.ContainsFunc(terms, func(term string) bool { return f.matches(term, search) }) {
			return false
		}
	}
	return true
}

// byTerm examines the candidates of the rarest term after a key.
func (f *finder) byTerm(ctx context.Context, after string) error {
	for _, q := range f.sources(f.terms[f.rarest]) {
		switch {
		case after == "":
		case !f.Where.Descending && q.Before != "" && after >= q.Before, f.Where.Descending && after < q.From:
			continue // an earlier page examined this range
		case !f.Where.Descending && after >= q.From, f.Where.Descending && (q.Before == "" || after < q.Before):
			q.After.ID = after
		}
		list := f.pairs.list(q)
		for more := true; more; {
			n := f.step()
			candidates, err := f.next(ctx, list, n)
			if err != nil {
				return err
			}
			if more = len(candidates) == n; len(candidates) > 0 {
				q.After.ID = candidates[len(candidates)-1].key
			}
			if full, err := f.examine(ctx, candidates, nil); err != nil || full {
				return err
			}
			if f.examined >= maxCandidates && more {
				f.stop(q.After.ID)
				return nil
			}
		}
		if f.examined >= maxCandidates {
			f.stop(q.After.ID)
			return nil
		}
	}
	return nil
}

// ofCustomer examines the licenses of one customer after an ID.
func (f *finder) ofCustomer(ctx context.Context, after string) error {
	q := f.Where
	for more := true; more; {
		q.After.ID, q.Limit = after, f.step()
		licenses, err := f.r.Licenses(ctx, q)
		if err != nil {
			return err
		}
		candidates := make([]candidate, len(licenses))
		for i, l := range licenses {
			candidates[i] = candidate{l.ID, l.ID}
			after = l.ID
		}
		more = len(licenses) == q.Limit
		if full, err := f.examine(ctx, candidates, licenses); err != nil || full {
			return err
		}
		if f.examined >= maxCandidates && more {
			f.stop(after)
			return nil
		}
	}
	return nil
}

// step returns how many candidates to read next.
func (f *finder) step() int { return stepSize(f.Where.Limit, f.examined) }

// stepSize returns how many candidates to read next for a page, after a number of
// them: as many as fill the page if all match, and more if they did not.
func stepSize(limit, examined int) int {
	return min(max(limit+1, examined), chunk, maxCandidates-examined)
}

// stop ends the page at a key after which there may be more.
func (f *finder) stop(key string) { f.stopped = f.position(key) }

// position returns the position of a key.
func (f *finder) position(key string) string { return strconv.Itoa(f.rarest) + " " + key }

// examine adds the candidates that match to the page. It reports whether the page
// is full. The licenses, if not nil, are those of the candidates.
func (f *finder) examine(ctx context.Context, candidates []candidate, licenses []store.License) (full bool, err error) {
	if len(candidates) == 0 {
		return false, nil
	}
	f.examined += len(candidates)
	indexed, err := f.indexed(ctx, candidates)
	if err != nil {
		return false, err
	}
	if licenses == nil {
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool {
			terms, known := indexed[c.id]
			return known && !(f.hasAll(terms) && f.isFirst(c, terms))
		})
		if len(candidates) == 0 {
			return false, nil
		}
		if licenses, err = f.read(ctx, candidates); err != nil {
			return false, err
		}
	}
	records := make(map[string]store.License, len(licenses))
	for _, l := range licenses {
		records[l.ID] = l
	}
	for _, c := range candidates {
		l, there := records[c.id]
		if !there || !f.Sees(l) {
			continue
		}
		match, err := f.check(ctx, l, c, indexed)
		if err != nil {
			return false, err
		}
		if !match {
			continue
		}
		if len(f.page.Licenses) == f.Where.Limit {
			f.stop(f.last)
			return true, nil
		}
		if len(f.page.Licenses) == 0 {
			f.first = c.key
		}
		f.page.Licenses, f.last = append(f.page.Licenses, l), c.key
	}
	return false, nil
}

// indexed returns the indexed terms of the candidates by license ID.
func (f *finder) indexed(ctx context.Context, candidates []candidate) (map[string][]string, error) {
	found, err := f.g.readIndexed(ctx, f.r, ids(candidates))
	indexed := make(map[string][]string, len(found))
	for id, terms := range found {
		indexed[id] = terms.words()
	}
	return indexed, err
}

// isFirst reports whether a candidate is the first in the list of the entries of
// its license that match the rarest term.
func (f *finder) isFirst(c candidate, terms []string) bool {
	for _, term := range terms {
		if key := pairOf(term, c.id); f.matches(term, f.terms[f.rarest]) && key != c.key && (key < c.key) != f.descending {
			return false
		}
	}
	return true
}

// read returns the licenses of the candidates that the filters select.
func (f *finder) read(ctx context.Context, candidates []candidate) ([]store.License, error) {
	q := f.Where
	q.IDs, q.Limit = ids(candidates), 0
	return f.r.Licenses(ctx, q)
}

// check compares a candidate with the current license. It reads the
// fingerprints only if the index says that they match.
func (f *finder) check(ctx context.Context, l store.License, c candidate, indexed map[string][]string) (bool, error) {
	rec, err := record.ReadLicense(l)
	if err != nil {
		return false, err
	}
	own, err := recordTerms(rec)
	if err != nil {
		return false, err
	}
	terms, known := indexed[c.id]
	if !known && c.key != c.id && !f.isFirst(c, own) { // an index of an earlier release
		return false, nil
	}
	if f.hasAll(own) || !known || !f.hasAll(terms) {
		return f.hasAll(own), nil
	}
	seats, err := fingerprintTerms(ctx, f.r, l.ID)
	return err == nil && f.hasAll(append(own, seats...)), err
}

func ids(candidates []candidate) []string {
	list := make([]string, 0, len(candidates))
	seen := make(map[string]bool, len(candidates))
	for _, c := range candidates {
		if !seen[c.id] {
			seen[c.id] = true
			list = append(list, c.id)
		}
	}
	return list
}
