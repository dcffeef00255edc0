package refusals

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// maxPending is how many licenses a Pending holds. It is also what limits
// its memory: a license has at most recentRefusals.
const maxPending = 500

// A Pending holds usage and refusals in memory until they are stored, so
// that a validation that renews nothing does not have to write. It is safe for
// concurrent use.
type Pending struct {
	flushing sync.Mutex // held while a batch is stored

	mu       sync.Mutex // guards the fields below
	licenses map[string]pendingRefusals
	days     map[int]*usageRecord
	flushed  time.Time // when it was last stored, or the first refusal
	failed   bool      // storing failed after flushed
	runs     int       // how many calls of Run store it
	ring     func()    // wakes the task of the latest Run

	held map[string]time.Time // licenses and dates that could not be stored: when to try again
}

func NewPending() *Pending {
	return &Pending{licenses: map[string]pendingRefusals{}, days: map[int]*usageRecord{}}
}

// pendingRefusals are the refusals of a license, by its generation. Those of a
// generation before CustomerSince are of a former customer, and are not stored or shown.
type pendingRefusals map[int64]*refusalRecord

// of returns the refusals that are those of the present customer.
func (p pendingRefusals) of(l record.License) (all refusalRecord) {
	for at, r := range p {
		if at >= l.CustomerSince {
			all.merge(*r)
		}
	}
	return all
}

// add adds other refusals.
func (p pendingRefusals) add(other pendingRefusals) {
	for at, r := range other {
		if p[at] == nil {
			p[at] = &refusalRecord{}
		}
		p[at].merge(*r)
	}
}

// CountVerdict counts a validation and, if the verdict on a call is negative, the
// refusal.
func (s Service) CountVerdict(ctx context.Context, v api.Verdict, c api.RefusedCall) {
	s.Pending.mu.Lock()
	if c.Action == seats.ActionValidate {
		s.Pending.day(c.At).Validations++
	}
	if v.Valid {
		s.Pending.mu.Unlock()
		return
	}
	s.Pending.refuse(v, c)
	s.flushIfDue(ctx, c.At)
}

// day returns the pending usage of the day of an instant.
func (p *Pending) day(at time.Time) *usageRecord {
	day := dayOf(at)
	u := p.days[day]
	if u == nil {
		u = &usageRecord{}
		p.days[day] = u
	}
	return u
}

// refuse counts a refusal. An unknown key has no license, so it is only in the
// usage of the day; so is a refusal of one license more than maxPending.
func (p *Pending) refuse(v api.Verdict, c api.RefusedCall) {
	u := p.day(c.At)
	if u.Refused == nil {
		u.Refused = map[api.VerdictCode]int64{}
	}
	u.Refused[v.Code]++
	if v.License == nil {
		return
	}
	id, generation := v.License.ID, v.License.Generation
	r := p.licenses[id]
	if r == nil {
		if len(p.licenses) >= maxPending {
			return
		}
		r = pendingRefusals{}
		p.licenses[id] = r
	}
	if r[generation] == nil {
		r[generation] = &refusalRecord{}
	}
	r[generation].add(refusedCall{v.Code, c})
}

// present returns the pending refusals of licenses by their present customers, by
// license ID.
func (p *Pending) present(ctx context.Context, r store.Reader, ids ...string) (map[string]refusalRecord, error) {
	some := map[string]pendingRefusals{}
	p.mu.Lock()
	for _, id := range ids {
		if pending := p.licenses[id]; pending != nil {
			some[id] = pendingRefusals{}
			some[id].add(pending)
		}
	}
	p.mu.Unlock()
	return presentRefusals(ctx, r, some)
}

// presentRefusals returns those of some refusals that are by the present customers of
// the licenses, except for licenses that have been deleted.
func presentRefusals(ctx context.Context, r store.Reader, some map[string]pendingRefusals) (map[string]refusalRecord, error) {
	present := make(map[string]refusalRecord, len(some))
	if len(some) == 0 {
		return present, nil
	}
	rows, err := r.Licenses(ctx, store.LicenseQuery{IDs: slices.Sorted(maps.Keys(some))})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		l, err := record.ReadLicense(row)
		if err != nil {
			return nil, err
		}
		present[l.ID] = some[l.ID].of(l)
	}
	return present, nil
}

// ids returns up to n licenses with pending refusals.
func (p *Pending) ids(n int) (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.licenses {
		if len(list) == n {
			break
		}
		list = append(list, id)
	}
	return list
}

// usage returns a copy of the pending usage by day.
func (p *Pending) usage() map[int]usageRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	days := make(map[int]usageRecord, len(p.days))
	for day, u := range p.days {
		var c usageRecord
		c.merge(*u)
		days[day] = c
	}
	return days
}

// A usageBatch is the part of a Pending that one Update stores.
type usageBatch struct {
	licenses map[string]pendingRefusals
	days     map[int]*usageRecord
}

func (b usageBatch) empty() bool { return len(b.licenses) == 0 && len(b.days) == 0 }

// take removes a batch of at most n licenses.
func (p *Pending) take(now time.Time, n int) usageBatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := usageBatch{days: map[int]*usageRecord{}, licenses: make(map[string]pendingRefusals, min(n, len(p.licenses)))}
	p.flushed, p.failed = now, false
	maps.DeleteFunc(p.held, func(_ string, until time.Time) bool { return !now.Before(until) })
	for day, u := range p.days {
		if !p.held[dayText(day)].IsZero() {
			continue
		}
		b.days[day] = u
		delete(p.days, day)
	}
	for id, r := range p.licenses {
		if len(b.licenses) == n {
			break
		}
		if !p.held[id].IsZero() {
			continue
		}
		b.licenses[id] = r
		delete(p.licenses, id)
	}
	return b
}

// hold keeps a license or a day back until an instant.
func (p *Pending) hold(name string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[string]time.Time{}
	}
	p.held[name] = until
}

// restore adds a batch that was not stored.
func (p *Pending) restore(b usageBatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
	for day, u := range b.days {
		if now := p.days[day]; now != nil {
			u.merge(*now)
		}
		p.days[day] = u
	}
	for id, r := range b.licenses {
		if now := p.licenses[id]; now != nil {
			r.add(now)
		} else if len(p.licenses) >= maxPending {
			continue
		}
		p.licenses[id] = r
	}
}
