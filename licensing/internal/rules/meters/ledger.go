package meters

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Reports are reports about one license.
type Reports struct {
	License record.License
	Usage   []api.UsageReport
}

// A Refusal says why reports are not counted.
type Refusal struct {
	api.Reason
	Meter string
	Uses  []api.MeterUse // of the meter
}

// maxThresholds is how many usage.threshold_reached events one Update appends. With more,
// the next usage of the other meters brings theirs.
const maxThresholds = 1000

// A Ledger holds what the store has about some reports, and what they change. Counting
// writes nothing: see [Service.Put].
type Ledger struct {
	now     time.Time
	meters  map[string]map[string]api.Meter // by license ID
	totals  map[string]int64                // by countedKey
	rows    map[string]row                  // by rowKey
	before  map[string]row                  // the rows to write, as stored
	counted map[string]bool                 // the totals to write
	reached []reached
}

// reached is a threshold that was reached.
type reached struct {
	license store.License
	count   api.UsageCount
}

// Load reads what reports need, in two reads.
func Load(ctx context.Context, r store.Reader, now time.Time, all ...Reports) (*Ledger, error) {
	l := &Ledger{now: now, meters: map[string]map[string]api.Meter{}, before: map[string]row{}, counted: map[string]bool{}}
	var ids, keys []string
	for _, one := range all {
		meters, err := metersOf(one.License)
		if err != nil {
			return nil, err
		}
		l.meters[one.License.ID] = meters
		for _, report := range one.Usage {
			m, ok := meters[report.Meter]
			if !ok {
				continue
			}
			keys = append(keys, rowKey(one.License.ID, spanOf(m.Per, one.License, now).from, report.Meter))
			if report.At != nil {
				keys = append(keys, rowKey(one.License.ID, spanOf(m.Per, one.License, *report.At).from, report.Meter))
			}
			if report.ID != "" {
				ids = append(ids, countedKey(one.License.ID, report.Meter, report.ID))
			}
		}
	}
	var err error
	if l.totals, err = readAll(ctx, r, CountedKind, ids, readCounted(now)); err != nil {
		return nil, err
	}
	if l.rows, err = readAll(ctx, r, MeterKind, keys, readRow); err != nil {
		return nil, err
	}
	return l, nil
}

func metersOf(l record.License) (meters map[string]api.Meter, err error) {
	if err = call.Decode(l.Meters, &meters); err != nil {
		err = fmt.Errorf("license %s: stored document: %w", l.ID, err)
	}
	return meters, err
}

func usedAt(r api.UsageReport, now time.Time) time.Time {
	if r.At != nil {
		return *r.At
	}
	return now
}

// Count counts all reports about a license or, if it refuses one, none. Of a report
// without an ID, all units count. It returns how much each counted.
func (l *Ledger) Count(one Reports) (counted []int64, uses []api.MeterUse, refused *Refusal) {
	meters := l.meters[one.License.ID]
	d := draft{Ledger: l, totals: map[string]int64{}, rows: map[string]row{}}
	counted = make([]int64, len(one.Usage))
	for i, report := range one.Usage {
		m, ok := meters[report.Meter]
		if !ok {
			return nil, nil, &Refusal{Reason: api.Reason{Code: api.VerdictMeterMissing, Detail: fmt.Sprintf("The license has no meter %q.", report.Meter)}, Meter: report.Meter}
		}
		if counted[i], refused = d.add(one.License, report, m); refused != nil {
			return nil, nil, refused
		}
	}
	for id, total := range d.totals {
		l.totals[id], l.counted[id] = total, true
	}
	for key, r := range d.rows {
		if _, changed := l.before[key]; !changed {
			l.before[key] = l.rows[key]
		}
		l.rows[key] = r
	}
	l.reached = append(l.reached, d.reached...)
	return counted, l.uses(one, meters), nil
}

// A draft is what reports about one license change, before it is certain that none of them
// is refused.
type draft struct {
	*Ledger
	totals  map[string]int64
	rows    map[string]row
	reached []reached
}

// add counts a report in its period, or refuses it. It returns how much it counted.
func (d *draft) add(rec record.License, report api.UsageReport, m api.Meter) (more int64, refused *Refusal) {
	id := countedKey(rec.ID, report.Meter, report.ID)
	known, ok := d.totals[id]
	if !ok {
		known = d.Ledger.totals[id]
	}
	if more = report.Total - known; more <= 0 {
		return 0, nil
	}
	in := spanOf(m.Per, rec, usedAt(report, d.now))
	key := rowKey(rec.ID, in.from, report.Meter)
	r, ok := d.rows[key]
	if !ok {
		r = d.Ledger.rows[key]
	}
	use := useOf(report.Meter, m, in, r.Used)
	switch {
	case more > maxUsed-r.Used:
		use.Limit = new(int64(maxUsed))
		return 0, &Refusal{Reason: limitReason(use, more), Meter: report.Meter, Uses: []api.MeterUse{use}}
	case report.At == nil && m.Limit != nil && !m.Soft && more > *m.Limit-r.Used:
		return 0, &Refusal{Reason: limitReason(use, more), Meter: report.Meter, Uses: []api.MeterUse{use}}
	}
	r.Used, r.To = r.Used+more, in.to
	if percent := threshold(m.Limit, r.Used); percent > 0 && percent > r.Warned[*m.Limit] && len(d.Ledger.reached)+len(d.reached) < maxThresholds {
		warned := map[int64]int64{*m.Limit: percent}
		for limit, percent := range r.Warned {
			warned[limit] = max(warned[limit], percent)
		}
		r.Warned = warned
		count := countOf(report.Meter, in.from, r, m.Limit)
		count.Percent = percent
		d.reached = append(d.reached, reached{rec.License, count})
	}
	d.rows[key] = r
	if report.ID != "" {
		d.totals[id] = report.Total
	}
	return more, nil
}

// countOf returns what an event says about a row.
func countOf(meter string, from time.Time, r row, limit *int64) api.UsageCount {
	return api.UsageCount{Meter: meter, From: record.OptionalTime(from), To: record.OptionalTime(r.To), Used: r.Used, Limit: limit}
}

// uses returns what was used of the meters of reports in their present periods, by name.
func (l *Ledger) uses(one Reports, meters map[string]api.Meter) []api.MeterUse {
	uses := []api.MeterUse{}
	for _, name := range call.Names(meters) {
		if slices.ContainsFunc(one.Usage, func(r api.UsageReport) bool { return r.Meter == name }) {
			in := spanOf(meters[name].Per, one.License, l.now)
			uses = append(uses, useOf(name, meters[name], in, l.rows[rowKey(one.License.ID, in.from, name)].Used))
		}
	}
	return uses
}

// Put writes what a ledger has counted, and appends the events of thresholds. A nil ledger
// has counted nothing.
func (s Service) Put(ctx context.Context, tx *call.Tx, l *Ledger) error {
	if l == nil {
		return nil
	}
	var put []store.Entry
	for _, key := range call.Names(l.before) {
		put = append(put, l.rows[key].entry(key, l.before[key], l.now))
	}
	for _, key := range call.Names(l.counted) {
		put = append(put, store.Entry{Kind: CountedKind, Key: key, Data: strconv.AppendInt(nil, l.totals[key], 10), ExpiresAt: l.now.Add(knownFor), CreatedAt: l.now})
	}
	if err := tx.PutEntries(ctx, put...); err != nil {
		return err
	}
	for _, r := range l.reached {
		if err := s.AppendAbout(ctx, tx, api.EventUsageThreshold, r.license, api.EventData{Usage: &r.count}); err != nil {
			return err
		}
	}
	return nil
}

// Reserve counts one unit of a reserved meter of a license, or says why not. If the license
// does not have the meter, it returns no ledger, and reads nothing.
func Reserve(ctx context.Context, r store.Reader, rec record.License, now time.Time, meter string) (*Ledger, *Refusal, error) {
	if !bytes.Contains(rec.Meters, []byte(`"`+meter+`"`)) {
		return nil, nil, nil
	}
	one := Reports{rec, []api.UsageReport{{Meter: meter, Total: 1}}}
	l, err := Load(ctx, r, now, one)
	if err != nil {
		return nil, nil, err
	}
	_, _, refused := l.Count(one)
	return l, refused, nil
}
