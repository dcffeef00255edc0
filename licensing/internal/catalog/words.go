package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The terms of one license are bounded, so that the cost of a change is too.
const (
	maxMetadata = 500  // terms of the metadata values
	maxTerms    = 1000 // in total
)

// wordTerms returns the terms that find l: those of its record and of the
// fingerprints of its activations, ended ones included, at most
// store.MaxLimit.
func wordTerms(ctx context.Context, r store.Reader, l store.License, fresh bool) ([]string, error) {
	t, err := recordTerms(l)
	if err != nil || fresh {
		return t.list, err
	}
	return fingerprintTerms(ctx, r, l.ID, t)
}

// recordTerms returns the terms of the record of l: the words of its name,
// customer, product and metadata values, and the groups of its key.
func recordTerms(row store.License) (termSet, error) {
	var t termSet
	l, err := record.ReadLicense(row)
	if err != nil {
		return t, err
	}
	for _, group := range keyGroups(l.Key) {
		t.add(group)
	}
	for _, text := range []string{l.Name, l.CustomerID, l.ProductID} {
		t.addText(text, maxTerms)
	}
	if len(l.Metadata) == 0 {
		return t, nil
	}
	var metadata map[string]string
	if err := json.Unmarshal(l.Metadata, &metadata); err != nil {
		return t, fmt.Errorf("license %s: metadata: %w", l.ID, err)
	}
	limit := min(len(t.list)+maxMetadata, maxTerms)
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		t.addText(metadata[name], limit)
	}
	return t, nil
}

// fingerprintTerms adds the words of the fingerprints of a license.
func fingerprintTerms(ctx context.Context, r store.Reader, id string, t termSet) ([]string, error) {
	activations, err := r.Activations(ctx, store.ActivationQuery{LicenseID: id})
	if err != nil {
		return nil, err
	}
	for _, a := range activations {
		t.addText(a.Fingerprint, maxTerms)
	}
	return t.list, nil
}

// A termSet is a list of different terms.
type termSet struct {
	list []string
	seen map[string]bool
}

func (t *termSet) add(term string) {
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	if !t.seen[term] {
		t.seen[term] = true
		t.list = append(t.list, term)
	}
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

// writeWords adds the entries that find licenses by terms to a batch. Key is a
// term, a space and the license's ID. Groups of keys are written in blocks.
func writeWords(ctx context.Context, r store.Reader, g *generation, changes []change, b *batch) error {
	first := len(b.put)
	var gone, added []string
	for _, c := range changes {
		for _, term := range c.added {
			if strings.HasPrefix(term, groupMark) {
				added = append(added, pairOf(term, c.id))
				continue
			}
			b.put = append(b.put, store.Entry{Kind: g.Kind, Key: pairOf(term, c.id), Move: store.Derived})
		}
		for _, term := range c.gone {
			if strings.HasPrefix(term, groupMark) {
				gone = append(gone, pairOf(term, c.id))
				continue
			}
			b.remove[g.Kind] = append(b.remove[g.Kind], pairOf(term, c.id))
		}
	}
	slices.SortFunc(b.put[first:], func(a, b store.Entry) int { return strings.Compare(a.Key, b.Key) })
	return writeGroups(ctx, r, g, gone, added, max(minMerge, mergePerPair*len(added)), b)
}

// tidyWords merges runs of groups.
func tidyWords(ctx context.Context, r store.Reader, g *generation, b *batch) (bool, error) {
	if g.merging() == nil {
		return false, nil
	}
	return true, writeGroups(ctx, r, g, nil, nil, idleMerge, b)
}
