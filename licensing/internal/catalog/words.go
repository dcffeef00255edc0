package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The terms of one license are bounded, so that the cost of a change is too.
const (
	maxMetadata = 500  // terms of the metadata values
	maxTerms    = 1000 // in total
)

// recordTerms returns the terms of the record of l: the words of its name,
// customer, product and metadata values, and the groups of its key.
func recordTerms(l record.License) ([]string, error) {
	var t termSet
	for _, group := range keyGroups(l.Key) {
		t.add(group)
	}
	for _, text := range []string{l.Name, l.CustomerID, l.ProductID} {
		t.addText(text, maxTerms)
	}
	if len(l.Metadata) == 0 {
		return t.list, nil
	}
	var metadata map[string]string
	if err := json.Unmarshal(l.Metadata, &metadata); err != nil {
		return nil, fmt.Errorf("license %s: metadata: %w", l.ID, err)
	}
	limit := min(len(t.list)+maxMetadata, maxTerms)
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		t.addText(metadata[name], limit)
	}
	return t.list, nil
}

// fingerprintTerms returns the words of the fingerprints of a license, of at most
// store.MaxLimit activations.
func fingerprintTerms(ctx context.Context, r store.Reader, id string) ([]string, error) {
	activations, err := r.Activations(ctx, store.ActivationQuery{LicenseID: id})
	if err != nil {
		return nil, err
	}
	var t termSet
	for _, a := range activations {
		t.addText(a.Fingerprint, maxTerms)
	}
	return t.list, nil
}

// A termSet is a list of different terms.
type termSet struct {
	list []string
	seen map[string]bool // of a long list
}

// longList is the length from which a map is faster than a search.
const longList = 40

func (t *termSet) add(term string) {
	switch {
	case t.seen[term] || len(t.list) < longList && slices.Contains(t.list, term):
		return
	case len(t.list) == longList:
		t.seen = setOf(t.list)
	}
	if t.seen != nil {
		t.seen[term] = true
	}
	t.list = append(t.list, term)
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// addText adds the terms that find a text, up to a number of terms in total.
func (t *termSet) addText(text string, limit int) {
	for term := range indexTerms(text) {
		if len(t.list) >= limit {
			return
		}
		t.add(term)
	}
}

// putWords adds the postings of changed licenses to the batch.
func (b *batch) putWords(ctx context.Context, r store.Reader, g *generation, changes []change) error {
	var list []posting
	for _, c := range changes {
		for _, term := range c.added {
			list = append(list, posting{term, c.id, false})
		}
		for _, term := range c.gone {
			list = append(list, posting{term, c.id, true})
		}
	}
	slices.SortFunc(list, posting.compare)
	return g.addPostings(ctx, r, list, b)
}
