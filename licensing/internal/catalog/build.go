package catalog

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// rebuild begins a new build. The first one leaves the entries of earlier
// releases in place until it is complete.
func (ix *Index) rebuild(ctx context.Context, r store.Reader, b *batch) error {
	seq, err := newest(ctx, r)
	if err != nil {
		return err
	}
	if b.before == nil {
		entries, err := r.Entries(ctx, store.EntryQuery{Kind: ix.before, Limit: 1})
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			b.after.Live = &generation{Kind: ix.before}
		}
	}
	ix.begin(&b.after, seq)
	return ix.scan(ctx, r, b.after.Next, b)
}

// scan adds the next licenses to a build. Licenses that are created or changed
// meanwhile have events after the build's Seq.
func (ix *Index) scan(ctx context.Context, r store.Reader, g *generation, b *batch) error {
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
		found, err := ix.terms(ctx, r, rec, nil)
		if err != nil {
			return err
		}
		added := found.all()
		if writes += 1 + len(added)/ix.together; writes > b.writes && len(changes) > 0 {
			b.fit = len(changes)
			return ix.writeAll(ctx, r, g, changes, b)
		}
		changes = append(changes, change{id: l.ID, exists: true, terms: found, added: added})
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
	return ix.writeAll(ctx, r, g, changes, b)
}

// drop deletes some entries of the first of the old kinds.
func drop(ctx context.Context, r store.Reader, b *batch) error {
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
