package meters

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// OfficeKind is the kind of the entries that say how much an office has counted of the
// meters of a license since it has its key: in its own store all of it, and in that of the
// vendor what has arrived there. Key is that of [officeKey]; Data has the totals by the name
// of the meter. They never expire, so a request that arrives twice, or late, counts once.
const OfficeKind = "office_usage"

// officeKey returns the key of the entry of an office with a key.
func officeKey(licenseID, keyID string) string { return licenseID + "/" + keyID }

// totalsOf returns what an office has counted, as stored.
func totalsOf(ctx context.Context, r store.Reader, licenseID, keyID string) (map[string]int64, error) {
	e, err := r.Entry(ctx, OfficeKind, officeKey(licenseID, keyID))
	if errors.Is(err, store.ErrNotFound) {
		return map[string]int64{}, nil
	}
	if err != nil {
		return nil, err
	}
	return call.ReadJSON[map[string]int64](e)
}

func putTotals(ctx context.Context, tx *call.Tx, licenseID, keyID string, totals map[string]int64) error {
	return tx.PutEntries(ctx, store.Entry{Kind: OfficeKind, Key: officeKey(licenseID, keyID), Data: record.Encode(totals), CreatedAt: tx.Now})
}

// addTotals adds what an Update changes in rows, by their keys, to the totals of this
// office. If the service is not an office, it does nothing.
func (s Service) addTotals(ctx context.Context, tx *call.Tx, changed map[string]int64) error {
	office := s.Opts.Office
	if office == nil {
		return nil
	}
	more := map[string]int64{}
	for key, n := range changed {
		if id, _, meter := parseRowKey(key); id == office.LicenseID {
			more[meter] += n
		}
	}
	if len(more) == 0 {
		return nil
	}
	totals, err := totalsOf(ctx, tx, office.LicenseID, office.KeyID)
	if err != nil {
		return err
	}
	for meter, n := range more {
		totals[meter] = min(max(0, totals[meter]+n), maxUsed)
	}
	return putTotals(ctx, tx, office.LicenseID, office.KeyID, totals)
}

// OfficeTotals returns what this office has counted so far of the meters that its license
// has.
func (s Service) OfficeTotals(ctx context.Context) (totals map[string]int64, err error) {
	office := s.Opts.Office
	err = s.Read(ctx, func(r store.Reader) error {
		rec, err := licenses.Of(s.Call).Find(ctx, r, office.LicenseID)
		if err != nil {
			return err
		}
		meters, err := metersOf(rec)
		if err != nil {
			return err
		}
		all, err := totalsOf(ctx, r, office.LicenseID, office.KeyID)
		totals = map[string]int64{}
		for name := range meters {
			if n, counted := all[name]; counted {
				totals[name] = n
			}
		}
		return err
	})
	return totals, err
}

// CountOffice counts, as usage that has happened, by how much the totals of an office with a
// key are greater than those that arrived before. It leaves out meters that the license does
// not have, which count when it has them.
func (s Service) CountOffice(ctx context.Context, tx *call.Tx, rec record.License, keyID string, totals map[string]int64) error {
	meters, err := metersOf(rec)
	if err != nil {
		return err
	}
	arrived, err := totalsOf(ctx, tx, rec.ID, keyID)
	if err != nil {
		return err
	}
	var all []Reports // each by itself: one may be more than a meter can hold
	for _, name := range call.Names(totals) {
		if _, has := meters[name]; has && !call.IsReserved(name) && totals[name] > arrived[name] {
			all = append(all, Reports{&rec, []api.UsageReport{{Meter: name, Total: totals[name] - arrived[name], At: &tx.Now}}})
		}
	}
	if len(all) == 0 {
		return nil
	}
	l, err := Load(ctx, tx, tx.Now, all...)
	if err != nil {
		return err
	}
	for i, one := range all {
		if _, _, refused := l.Count(i); refused == nil {
			name := one.Usage[0].Meter
			arrived[name] = totals[name]
		}
	}
	if err := putTotals(ctx, tx, rec.ID, keyID, arrived); err != nil {
		return err
	}
	return s.Put(ctx, tx, l)
}

// RemoveOffices deletes what is known of the offices of a license.
func RemoveOffices(ctx context.Context, tx *call.Tx, licenseID string) error {
	prefix := officeKey(licenseID, "")
	return entries.Remove(ctx, tx, store.EntryQuery{Kind: OfficeKind, From: prefix, Before: store.PrefixEnd(prefix)})
}
