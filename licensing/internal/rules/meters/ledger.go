package meters

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Reports are reports about one license.
type Reports struct {
	License *record.License // nil: there is none
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
	all     []loaded
	totals  map[string]*change[int64] // by countedKey
	rows    map[string]*change[row]   // by rowKey
	reached []reached
}

// loaded is what is known of the reports about one license.
type loaded struct {
	Reports
	meters map[string]api.Meter
	places []place // of the reports
}

// A place is where a report counts.
type place struct {
	span
	row, id string // the keys of the entries; id is empty if the report has none
}

// A change is a value as stored and as it will be stored.
type change[T any] struct{ stored, next T }

// reached is a threshold that was reached.
type reached struct {
	license store.License
	count   api.UsageCount
}

// Load reads what reports need, in two reads.
func Load(ctx context.Context, r store.Reader, now time.Time, all ...Reports) (*Ledger, error) {
	l := &Ledger{now: now, all: make([]loaded, len(all))}
	var ids, keys []string
	for i, one := range all {
		if one.License == nil {
			continue
		}
		meters, err := metersOf(*one.License)
		if err != nil {
			return nil, err
		}
		places := make([]place, len(one.Usage))
		for j, report := range one.Usage {
			m, ok := meters[report.Meter]
			if !ok {
				continue
			}
			p := &places[j]
			p.span = spanOf(m.Per, *one.License, now)
			p.row = rowKey(one.License.ID, p.from, report.Meter)
			keys = append(keys, p.row)
			if report.At != nil {
				p.span = spanOf(m.Per, *one.License, *report.At)
				p.row = rowKey(one.License.ID, p.from, report.Meter)
				keys = append(keys, p.row)
			}
			if report.ID != "" {
				p.id = countedKey(one.License.ID, report.Meter, report.ID)
				ids = append(ids, p.id)
			}
		}
		l.all[i] = loaded{one, meters, places}
	}
	var err error
	if l.totals, err = readAll(ctx, r, CountedKind, ids, unchanged(readCounted(now))); err != nil {
		return nil, err
	}
	if l.rows, err = readAll(ctx, r, MeterKind, keys, unchanged(readRow)); err != nil {
		return nil, err
	}
	return l, nil
}

func unchanged[T any](read func(store.Entry) (T, error)) func(store.Entry) (*change[T], error) {
	return func(e store.Entry) (*change[T], error) {
		v, err := read(e)
		return &change[T]{v, v}, err
	}
}

func metersOf(l record.License) (meters map[string]api.Meter, err error) {
	if err = call.Decode(l.Meters, &meters); err != nil {
		err = fmt.Errorf("license %s: stored document: %w", l.ID, err)
	}
	return meters, err
}

// Count counts all reports about the license at an index of those that were loaded or, if
// it refuses one, none. Of a report without an ID, all units count. It returns how much
// each counted.
func (l *Ledger) Count(index int) (counted []int64, uses []api.MeterUse, refused *Refusal) {
	one, before := l.all[index], len(l.reached)
	counted = make([]int64, len(one.Usage))
	for i, report := range one.Usage {
		if m, ok := one.meters[report.Meter]; !ok {
			refused = &Refusal{Reason: api.Reason{Code: api.VerdictMeterMissing, Detail: fmt.Sprintf("The license has no meter %q.", report.Meter)}, Meter: report.Meter}
		} else {
			counted[i], refused = l.add(*one.License, report, m, one.places[i])
		}
		if refused == nil {
			continue
		}
		for _, p := range one.places[:i] {
			total, r := l.find(p)
			total.next, r.next = total.stored, r.stored
		}
		l.reached = l.reached[:before]
		return nil, nil, refused
	}
	return counted, l.uses(one), nil
}

// find returns what a report changes.
func (l *Ledger) find(p place) (total *change[int64], r *change[row]) {
	if r = l.rows[p.row]; r == nil {
		r = &change[row]{}
		l.rows[p.row] = r
	}
	if total = l.totals[p.id]; total == nil {
		total = &change[int64]{}
		if p.id != "" {
			l.totals[p.id] = total
		}
	}
	return total, r
}

// add counts a report in its period, or refuses it. It returns how much it counted.
func (l *Ledger) add(rec record.License, report api.UsageReport, m api.Meter, p place) (more int64, refused *Refusal) {
	total, counter := l.find(p)
	if more = report.Total - total.next; more <= 0 {
		return 0, nil
	}
	r := &counter.next
	use := useOf(report.Meter, m, p.span, r.Used)
	switch {
	case more > maxUsed-r.Used:
		use.Limit = new(int64(maxUsed))
		return 0, &Refusal{Reason: limitReason(use, more), Meter: report.Meter, Uses: []api.MeterUse{use}}
	case report.At == nil && m.Limit != nil && !m.Soft && more > *m.Limit-r.Used:
		return 0, &Refusal{Reason: limitReason(use, more), Meter: report.Meter, Uses: []api.MeterUse{use}}
	}
	total.next, r.Used, r.To = report.Total, r.Used+more, p.to
	if percent := threshold(m.Limit, r.Used); percent > 0 && percent > r.Warned[*m.Limit] && len(l.reached) < maxThresholds {
		warned := map[int64]int64{*m.Limit: percent}
		for limit, percent := range r.Warned {
			warned[limit] = max(warned[limit], percent)
		}
		r.Warned = warned
		count := countOf(report.Meter, p.from, *r, m.Limit)
		count.Percent = percent
		l.reached = append(l.reached, reached{rec.License, count})
	}
	return more, nil
}

// countOf returns what an event says about a row.
func countOf(meter string, from time.Time, r row, limit *int64) api.UsageCount {
	return api.UsageCount{Meter: meter, From: record.OptionalTime(from), To: record.OptionalTime(r.To), Used: r.Used, Limit: limit}
}

// uses returns what was used of the meters of reports in their present periods, by name.
func (l *Ledger) uses(one loaded) []api.MeterUse {
	uses := []api.MeterUse{}
	for _, name := range call.Names(one.meters) {
		if slices.ContainsFunc(one.Usage, func(r api.UsageReport) bool { return r.Meter == name }) {
			in, used := spanOf(one.meters[name].Per, *one.License, l.now), int64(0)
			if r := l.rows[rowKey(one.License.ID, in.from, name)]; r != nil {
				used = r.next.Used
			}
			uses = append(uses, useOf(name, one.meters[name], in, used))
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
	changed := map[string]int64{}
	for key, r := range l.rows {
		if r.next.Used != r.stored.Used {
			changed[key] = r.next.Used - r.stored.Used
			put = append(put, r.next.entry(key, r.stored, l.now))
		}
	}
	for key, total := range l.totals {
		if total.next != total.stored {
			put = append(put, store.Entry{Kind: CountedKind, Key: key, Data: strconv.AppendInt(nil, total.next, 10), ExpiresAt: l.now.Add(knownFor), CreatedAt: l.now})
		}
	}
	slices.SortFunc(put, func(a, b store.Entry) int { return strings.Compare(a.Key, b.Key) })
	if err := tx.PutEntries(ctx, put...); err != nil {
		return err
	}
	if err := s.addTotals(ctx, tx, changed); err != nil {
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
	l, err := Load(ctx, r, now, Reports{new(rec), []api.UsageReport{{Meter: meter, Total: 1}}})
	if err != nil {
		return nil, nil, err
	}
	_, _, refused := l.Count(0)
	return l, refused, nil
}
