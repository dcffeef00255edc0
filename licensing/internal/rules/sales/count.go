package sales

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// stateKind is the kind of the one entry that says what has been counted.
const stateKind = "sales_counted"

// A state says what has been counted.
type state struct {
	Place   string    `json:"place"`             // in the feed
	Since   time.Time `json:"since"`             // of the first event: licenses may be older
	Scanned string    `json:"scanned,omitempty"` // the last license that was looked at
	Whole   bool      `json:"whole,omitempty"`   // all licenses were, so the totals are those of the store
	Totals  byPlan    `json:"totals"`            // Active and Paying

	// Uncounted is how many events, and licenses older than all events, could not be counted.
	Uncounted      int64  `json:"uncounted,omitzero"`
	FirstUncounted string `json:"first_uncounted,omitzero"` // its ID
}

// A count adds events to what has been counted. It writes nothing but with put.
type count struct {
	state
	now       time.Time
	at        feed.Place
	lost      bool  // the store has lost events, and at is its newest
	days      byDay // what is to be added to the entries
	standings map[string]standing
	changed   map[string]bool      // licenses whose standings are to be written
	left      map[string]bool      // the keys of the ends that licenses had
	touched   map[string]bool      // licenses of the events; true: they may have limits
	reached   map[string]time.Time // when the limit of their seats was, for those of which an event says it
}

// readCount returns what has been counted by now.
func readCount(ctx context.Context, r store.Reader, now time.Time) (*count, error) {
	c := &count{state: state{Totals: byPlan{}}, now: now, days: byDay{}, standings: map[string]standing{}, changed: map[string]bool{}, left: map[string]bool{}, touched: map[string]bool{}, reached: map[string]time.Time{}}
	stored, err := entries.Of(ctx, r, stateKind, []string{stateKind}, call.ReadJSON[state])
	if err != nil {
		return nil, err
	}
	purged, err := feed.ReadPurged(ctx, r)
	if err != nil {
		return nil, err
	}
	var found bool
	if c.state, found = stored[stateKind]; !found {
		c.at = purged
	} else {
		c.at, _ = feed.ParsePlace(c.Place)
		if err = c.at.Check(ctx, r, purged); errors.Is(err, api.ErrCursorGone) {
			c.lost = true
			c.at, err = feed.Newest(ctx, r)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.Totals == nil {
		c.Totals = byPlan{}
	}
	return c, nil
}

// reportEvents is how many events a page counts beside what the consumer has counted.
const reportEvents = 1000

// readLatest returns what has been counted by now, with the next events unless one of them
// cannot be counted.
func (s Service) readLatest(ctx context.Context, r store.Reader, now time.Time) (*count, error) {
	c, err := readCount(ctx, r, now)
	if err != nil {
		return nil, err
	}
	err = feed.Contain(ctx, s.Opts.Logger, "sales", func() error {
		next, err := c.readEvents(ctx, r, reportEvents, reportEvents)
		if err != nil {
			return err
		}
		return c.addEvents(ctx, r, next)
	})
	if feed.IsOwn(ctx, err) {
		return readCount(ctx, r, now)
	}
	return c, err
}

// events are the next ones of the feed, as sales read them.
type events struct {
	after, at feed.Place // before the first, and of the last
	since     time.Time  // of the first
	n         int
	more      bool   // there may be more
	counted   []said // the events that may change a number or a limit
}

// readEvents reads the next events, at most limit of them, of which at most counted may
// change a number or a limit. It reads pages of half of the latter, so that one that is
// begun has room.
func (c *count) readEvents(ctx context.Context, r store.Reader, limit, counted int) (e events, err error) {
	e = events{after: c.at, at: c.at, more: true}
	page := max(1, counted/2)
	for e.n < limit && len(e.counted)+page <= counted && e.more {
		size := min(limit-e.n, page)
		list, err := r.Events(ctx, store.EventQuery{After: e.at.Seq(), Limit: size})
		if err != nil {
			return events{}, err
		}
		for i := range list {
			var next said
			if err := next.read(&list[i]); err != nil {
				return events{}, err
			}
			if !c.Whole || !next.changesNoNumber() {
				e.counted = append(e.counted, next)
			}
			e.at = feed.PlaceOf(list[i])
		}
		if e.n == 0 && len(list) > 0 {
			e.since = list[0].Time
		}
		e.n, e.more = e.n+len(list), len(list) == size
	}
	return e, nil
}

// addEvents adds events, which are the next ones.
func (c *count) addEvents(ctx context.Context, r store.Reader, next events) error {
	var ids []string
	for i := range next.counted {
		e := &next.counted[i]
		if record.IsID("lic", e.Subject) {
			ids = append(ids, e.Subject)
			c.touched[e.Subject] = c.touched[e.Subject] || e.mayHaveLimits()
			if e.Type == api.EventActivationLimit {
				c.reached[e.Subject], c.touched[e.Subject] = e.Time, true
			}
		}
	}
	if err := c.load(ctx, r, ids); err != nil {
		return err
	}
	if c.Since.IsZero() {
		c.Since = next.since
	}
	for i := range next.counted {
		if err := c.add(ctx, r, &next.counted[i]); err != nil {
			return err
		}
	}
	c.at = next.at
	return nil
}

// load reads what the totals have of licenses.
func (c *count) load(ctx context.Context, r store.Reader, ids []string) error {
	slices.Sort(ids)
	found, err := entries.Of(ctx, r, standingKind, slices.Compact(ids), readStanding)
	maps.Copy(c.standings, found)
	return err
}

// add adds an event.
func (c *count) add(ctx context.Context, r store.Reader, e *said) error {
	if e.Type == api.EventCustomerErased {
		var erased api.Erased
		err := call.Decode(e.Data, &erased)
		c.days.add(e.Time, "", Numbers{Erased: int64(erased.Events)})
		return err
	}
	id := e.Subject
	was, known := c.standings[id]
	switch {
	case e.License != nil:
	case e.Blanked && e.Type == api.EventLicenseDeleted && known: // only the totals know of it
		if c.replace(id, nil, e.Time); was.Kind != trial {
			c.days.add(e.Time, was.Plan, Numbers{Ended: 1})
		}
		return nil
	default:
		return nil
	}
	list, err := e.sales(ctx, r, c.now)
	if err != nil {
		return err
	}
	for _, sale := range list {
		of, due := sale.numbers()
		if c.days.add(e.Time, sale.Plan, of); !sale.due.IsZero() {
			c.days.add(sale.due, sale.Plan, due)
		}
	}
	if !known && !c.Whole && e.License.CreatedAt.Before(c.Since) && e.wasInForce() {
		known = true
		c.know(id, e.before())
	}
	c.replace(id, e.after(known), e.Time)
	return nil
}

// know adds a license to the totals that has been in force since before the first day.
func (c *count) know(id string, is standing) {
	c.standings[id], c.changed[id] = is, true
	c.Totals.add(is.Plan, is.totals())
	c.addEnd(is, 1)
}

func (c *count) addEnd(s standing, n int64) {
	for _, end := range s.Ends {
		c.days.add(end, s.Plan, Numbers{Ends: n})
	}
}

// replace sets how a license stands from an instant on; nil: it is not in force.
func (c *count) replace(id string, is *standing, at time.Time) {
	was, known := c.standings[id]
	if is == nil && !known || is != nil && known && was.equal(*is) {
		return
	}
	c.changed[id] = true
	add := func(plan string, n Numbers) {
		c.Totals.add(plan, n)
		c.days.add(at, plan, n)
	}
	if known {
		add(was.Plan, was.totals().negative())
		c.addEnd(was, -1)
		for _, e := range was.endEntries(id, c.now) {
			c.left[e.Key] = true
		}
		delete(c.standings, id)
	}
	if is != nil {
		add(is.Plan, is.totals())
		c.addEnd(*is, 1)
		c.standings[id] = *is
	}
}

// put writes what was added.
func (c *count) put(ctx context.Context, tx store.Tx) error {
	days, err := entries.Of(ctx, tx, dayKind, slices.Sorted(maps.Keys(c.days)), readDay)
	if err != nil {
		return err
	}
	var put []store.Entry
	var gone []string
	for _, day := range slices.Sorted(maps.Keys(c.days)) {
		if days[day] == nil {
			days[day] = byPlan{}
		}
		days[day].addAll(c.days[day])
		put = append(put, dayEntry(day, days[day], c.now))
	}
	for _, id := range slices.Sorted(maps.Keys(c.changed)) {
		if is, in := c.standings[id]; in {
			put = append(append(put, is.entry(id, c.now)), is.endEntries(id, c.now)...)
		} else {
			gone = append(gone, id)
		}
	}
	if len(c.left) > 0 {
		if err := tx.DeleteEntries(ctx, endKind, slices.Sorted(maps.Keys(c.left))...); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		if err := tx.DeleteEntries(ctx, standingKind, gone...); err != nil {
			return err
		}
	}
	c.Place = c.at.String()
	put = append(put, store.Entry{Kind: stateKind, Key: stateKind, Data: record.Encode(c.state), CreatedAt: c.now})
	return tx.PutEntries(ctx, put...)
}
