package catalog

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// rebuild begins a new build. The first one leaves the entries of the first release
// in place until it is complete.
func (b *batch) rebuild(ctx context.Context, r store.Reader) error {
	seq, err := newest(ctx, r)
	if err != nil {
		return err
	}
	if b.before == nil {
		kinds, err := firstKinds(ctx, r)
		if err != nil {
			return err
		}
		if len(kinds) > 0 {
			b.after.Live = new(generation)
		}
	}
	b.after.begin(seq)
	return b.scan(ctx, r, b.after.Next)
}

// firstKinds returns the kinds of the first release that have entries.
func firstKinds(ctx context.Context, r store.Reader) (kinds []string, err error) {
	for _, kind := range new(generation).kinds() {
		entries, err := r.Entries(ctx, store.EntryQuery{Kind: kind, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// scan adds the next licenses to a build. Licenses that are created or changed
// meanwhile have events after the build's Seq.
func (b *batch) scan(ctx context.Context, r store.Reader, g *generation) error {
	licenses, err := r.Licenses(ctx, store.LicenseQuery{After: store.Position{ID: g.Scanned}, Limit: b.read})
	if err != nil {
		return err
	}
	var changes []change
	writes := 0
	for _, l := range licenses {
		rec, err := record.ReadLicense(l)
		if err != nil {
			return err
		}
		fingerprints, err := fingerprintTerms(ctx, r, l.ID)
		if err != nil {
			return err
		}
		c := change{id: l.ID, exists: true}
		if c.is, err = termsOf(rec, fingerprints); err != nil {
			return err
		}
		c.added = c.is.words()
		if writes += c.writes(); writes > b.writes && len(changes) > 0 {
			b.fit = len(changes)
			return b.putAll(ctx, r, g, changes)
		}
		changes = append(changes, c)
		g.Scanned = l.ID
	}
	if g.Scanning = len(licenses) == b.read; !g.Scanning {
		seq, err := newest(ctx, r)
		if err != nil {
			return err
		}
		if seq == g.Seq {
			b.after.finish()
		}
	}
	return b.putAll(ctx, r, g, changes)
}

// drop deletes some entries of the first of the old kinds.
func (b *batch) drop(ctx context.Context, r store.Reader) error {
	kind := b.after.Old[0]
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: kind, Limit: maxRead})
	if err != nil {
		return err
	}
	for _, e := range entries {
		b.remove[kind] = append(b.remove[kind], e.Key)
	}
	if len(entries) < maxRead {
		b.after.Old = b.after.Old[1:]
	}
	return nil
}
