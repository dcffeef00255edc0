package storetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

func eventCases() []testCase {
	return slices.Concat(events.cases(), []testCase{
		{"Events", "Order", 10, eventOrder},
		{"Events", "Filters", 11, eventFilters},
		limit("Events", manyEvents, countEvents),
		{"Events", "Paging", 12, eventPaging},
		{"Events", "PagingMeanwhile", 12, eventPagingMeanwhile},
		{"Events", "ReplaceKeepsTheRest", 9, eventReplace},
		{"Events", "SeqsRise", 20, eventSeqsRise},
		{"Events", "SeqsAreNotGivenTwice", 20, eventSeqsOnce},
		{"Events", "SeqsAfterFailedUpdates", 20, eventSeqsAfterFailure},
		{"Events", "Removal", 21, eventRemoval},
	})
}

var events = kind[store.Event]{
	area:     "Events",
	plain:    event,
	fixed:    []string{"Seq"},
	identity: []string{"ID"},
	kept:     []string{"ID", "Type", "Time", "Actor", "RequestID", "Subject", "ProductID"},
	same:     func(a, b store.Event) bool { return a.ID == b.ID },
	replace: func(ctx context.Context, tx store.Tx, old, row store.Event) error {
		rows, err := tx.Events(ctx, store.EventQuery{Limit: many})
		for _, e := range rows {
			if e.ID == old.ID {
				row.Seq = e.Seq
				return tx.ReplaceEvent(ctx, row)
			}
		}
		return fmt.Errorf("event %s is not in the feed (error: %w)", old.ID, err)
	},
	reads: []read[store.Event]{
		{"Events", func(ctx context.Context, r store.Reader, want store.Event) ([]store.Event, error) {
			return r.Events(ctx, store.EventQuery{Limit: many})
		}, false},
		{"Events by Subject", func(ctx context.Context, r store.Reader, want store.Event) ([]store.Event, error) {
			return r.Events(ctx, store.EventQuery{Subject: want.Subject, Limit: many})
		}, true},
		{"Events by CustomerID", func(ctx context.Context, r store.Reader, want store.Event) ([]store.Event, error) {
			return r.Events(ctx, store.EventQuery{CustomerID: want.CustomerID, Limit: many})
		}, true},
	},
}

// feed lists events and stops the case if that fails.
func (b *bench) feed(q store.EventQuery) []store.Event {
	if q.Limit == 0 {
		q.Limit = many
	}
	rows, err := b.Events(b.ctx, q)
	b.ok(err, "Events")
	return rows
}

func eventIDs(rows []store.Event) []string {
	var ids []string
	for _, e := range rows {
		ids = append(ids, e.ID)
	}
	return ids
}

// append appends events, each in an Update of its own.
func (b *bench) append(rows ...store.Event) {
	for _, e := range rows {
		b.appendTogether(e)
	}
}

// appendTogether appends events in one Update, and returns the Seqs that it
// was given.
func (b *bench) appendTogether(rows ...store.Event) (seqs []int64) {
	b.update(func(tx store.Tx) error {
		seqs = nil
		for _, e := range rows {
			seq, err := tx.AppendEvent(b.ctx, e)
			if err != nil {
				return err
			}
			seqs = append(seqs, seq)
		}
		return nil
	})
	return seqs
}

// seqs returns the Seqs that are in the feed.
func (b *bench) seqs() []int64 {
	var seqs []int64
	for _, e := range b.feed(store.EventQuery{}) {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// drain removes the events with a Seq of at most through.
func (b *bench) drain(through int64) {
	b.update(func(tx store.Tx) error {
		_, err := tx.DeleteEvents(b.ctx, through, many)
		return err
	})
	for _, seq := range b.seqs() {
		if seq <= through {
			b.under(21).stop(seq, "none", "Seq in the feed after DeleteEvents(%d, %d)", through, many)
		}
	}
}

// plainEvents returns n events with ids that do not sort as they are appended.
func plainEvents(n int) []store.Event {
	rows := make([]store.Event, n)
	for i := range rows {
		rows[i] = event(i * 7 % n)
		rows[i].Subject, rows[i].CustomerID = "subject", "customer"
	}
	return rows
}

// eventOrder compares with the Seqs that the store gave, whatever those are.
func eventOrder(b *bench) {
	b.append(plainEvents(20)...)
	b.appendTogether(event(100), event(99), event(101))
	for _, q := range []store.EventQuery{{}, {Subject: "subject"}, {CustomerID: "customer"}, {Subject: "subject", CustomerID: "customer"}} {
		q.Limit = many
		b.readers(func(how string, r store.Reader) {
			for _, q.Descending = range []bool{false, true} {
				rows, err := r.Events(b.ctx, q)
				b.equal(err, nil, "Events")
				var seqs []int64
				for _, e := range rows {
					seqs = append(seqs, e.Seq)
				}
				want := slices.Sorted(slices.Values(seqs))
				if q.Descending {
					slices.Reverse(want)
				}
				b.equal(seqs, want, "Seqs %s, for %+v", how, q)
			}
		})
	}
}

func eventFilters(b *bench) {
	rnd := rand.New(rand.NewPCG(11, 6))
	var rows []store.Event
	for n := range 50 {
		e := event(n)
		e.Subject, e.CustomerID = word("subject", rnd.IntN(3)), word("customer", rnd.IntN(3))
		if n%7 == 0 {
			e.CustomerID = ""
		}
		rows = append(rows, e)
	}
	b.append(rows...)
	rows = b.feed(store.EventQuery{})
	for i := range 10 {
		e := rows[i*3]
		e.CustomerID = word("customer", i%2)
		b.update(func(tx store.Tx) error { return tx.ReplaceEvent(b.ctx, e) })
		rows[i*3] = e
	}
	type query = store.EventQuery
	sweep(b, slices.Concat(
		by("Subject", func(q *query, v string) { q.Subject = v }, "subject_0000", "subject_0001", "nothing"),
		by("CustomerID", func(q *query, v string) { q.CustomerID = v }, "customer_0000", "customer_0001", "nobody"),
		by("Descending", func(q *query, v bool) { q.Descending = v }, true),
	), rows, func(e store.Event) string { return e.ID }, func(q query, e store.Event) bool {
		return (q.Subject == "" || e.Subject == q.Subject) && (q.CustomerID == "" || e.CustomerID == q.CustomerID)
	}, func(r store.Reader, q query) ([]string, error) {
		q.Limit = many
		rows, err := r.Events(b.ctx, q)
		return eventIDs(rows), err
	})
}

// eventPaging reads one subject's events in pages of many sizes and from every
// position, in both directions.
func eventPaging(b *bench) {
	all := plainEvents(20)
	for i := range all {
		if i%5 == 4 {
			all[i].Subject = "other"
		}
	}
	b.append(all...)
	q := store.EventQuery{Subject: "subject"}
	for _, q.Descending = range []bool{false, true} {
		want := b.feed(q)
		b.readers(func(how string, r store.Reader) {
			q := q
			for _, q.Limit = range []int{1, 2, 3, len(want), len(want) + 1} {
				var got []store.Event
				for q.After = 0; len(got) <= len(want); {
					page, err := r.Events(b.ctx, q)
					if !b.equal(err, nil, "Events") || len(page) == 0 {
						break
					}
					got = append(got, page...)
					q.After = page[len(page)-1].Seq
				}
				b.equal(eventIDs(got), eventIDs(want), "events in pages of %d %s, for %+v", q.Limit, how, q)
			}
			q.Limit = many
			for i, e := range want {
				q.After = e.Seq
				got, err := r.Events(b.ctx, q)
				b.equal(err, nil, "Events")
				b.equal(eventIDs(got), eventIDs(want[i+1:]), "events %s, for %+v", how, q)
			}
		})
	}
}

// eventPagingMeanwhile appends and removes events between the pages.
func eventPagingMeanwhile(b *bench) {
	b.append(plainEvents(9)...)
	seqs := b.seqs()
	page := b.feed(store.EventQuery{Limit: 3})
	b.equal(eventIDs(page), eventIDs(plainEvents(9)[:3]), "first page")
	b.drain(seqs[2]) // the whole page
	b.append(event(100))
	rest := b.feed(store.EventQuery{After: seqs[2]})
	b.equal(eventIDs(rest), append(eventIDs(plainEvents(9)[3:]), event(100).ID), "behind an event that was removed")

	page = b.feed(store.EventQuery{Limit: 2, Descending: true})
	b.equal(eventIDs(page), []string{event(100).ID, plainEvents(9)[8].ID}, "first page, newest first")
	b.append(event(101))
	rest = b.feed(store.EventQuery{After: seqs[8], Descending: true})
	want := eventIDs(plainEvents(9)[3:8])
	slices.Reverse(want)
	b.equal(eventIDs(rest), want, "newest first, after another was appended")
	b.drain(math.MaxInt64)
	b.equal(len(b.feed(store.EventQuery{After: seqs[8], Descending: true})), 0, "events, newest first, after all were removed")
}

// eventReplace overwrites an event with one that differs in every field.
func eventReplace(b *bench) {
	b.append(event(1), event(2), event(3))
	seqs := b.seqs()
	e := event(7)
	e.Seq = seqs[1]
	b.update(func(tx store.Tx) error { return tx.ReplaceEvent(b.ctx, e) })
	want := event(2)
	want.CustomerID, want.Data = e.CustomerID, e.Data
	b.readers(func(how string, r store.Reader) {
		rows, err := r.Events(b.ctx, store.EventQuery{Limit: many})
		b.equal(err, nil, "Events")
		if !b.equal(len(rows), 3, "events after one was replaced, %s", how) {
			return
		}
		i := slices.IndexFunc(rows, func(e store.Event) bool { return e.Seq == seqs[1] })
		if i < 0 {
			b.fail(eventIDs(rows), "one with the same Seq", "events after one was replaced, %s", how)
			return
		}
		for _, f := range differences(rows[i], want, []string{"Seq"}) {
			b.fail(f.got, f.want, "%s of an event that was replaced, %s", f.name, how)
		}
	})
}

// eventSeqsRise appends to many Updates and compares with what was given.
func eventSeqsRise(b *bench) {
	var given []int64
	var ids []string
	for n := range 10 {
		var rows []store.Event
		for i := range n {
			e := event(100*i + n) // the ids do not sort as they are appended
			e.Seq = int64(1000 - n)
			rows = append(rows, e)
			ids = append(ids, e.ID)
		}
		given = append(given, b.appendTogether(rows...)...)
	}
	for i := 1; i < len(given); i++ {
		if given[i] <= given[i-1] {
			b.fail(given, "rising numbers", "Seqs that AppendEvent returned")
			break
		}
	}
	feed := b.feed(store.EventQuery{})
	b.equal(len(feed), len(ids), "events in the feed")
	for i, e := range feed[:min(len(feed), len(ids))] {
		if !b.equal(e.ID, ids[i], "event %d of the feed", i) || !b.equal(e.Seq, given[i], "Seq of event %d of the feed", i) {
			break
		}
	}
}

// eventSeqsOnce empties the feed, and looks that it goes on above.
func eventSeqsOnce(b *bench) {
	highest := int64(math.MinInt64)
	for range 3 {
		b.append(event(1), event(2))
		for _, seq := range b.seqs() {
			if seq <= highest {
				b.fail(seq, fmt.Sprintf("above %d", highest), "Seq after older events were removed")
			}
			highest = seq
		}
		b.drain(math.MaxInt64)
		b.update(func(tx store.Tx) error { // in one Update, too
			seq, err := tx.AppendEvent(b.ctx, event(3))
			if err != nil {
				return err
			}
			_, err = tx.DeleteEvents(b.ctx, seq, many)
			highest = max(highest, seq)
			return err
		})
		if !b.under(21).equal(len(b.seqs()), 0, "events after the only one was removed") {
			return
		}
	}
}

// eventSeqsAfterFailure appends in Updates that fail, in between.
func eventSeqsAfterFailure(b *bench) {
	var after int64
	for n := range 5 {
		_ = b.try(func(tx store.Tx) error {
			for i := range n {
				if _, err := tx.AppendEvent(b.ctx, event(10+i)); err != nil {
					return err
				}
			}
			return errOnPurpose
		})
		b.append(event(n))
		news := b.feed(store.EventQuery{After: after})
		b.equal(eventIDs(news), []string{event(n).ID}, "news after Update %d", n)
		for _, e := range news {
			after = e.Seq
		}
	}
}

// eventRemoval removes events by steps, each with another limit.
func eventRemoval(b *bench) {
	rows := plainEvents(12)
	b.append(rows...)
	seqs := b.seqs()
	left := eventIDs(rows)
	for _, step := range []struct {
		through int64
		limit   int
		want    int
	}{
		{seqs[0] - 1, many, 0},
		{seqs[3], 2, 2},
		{seqs[1], many, 0}, // they are gone
		{seqs[4], many, 3},
		{seqs[11], 0, 0},
		{seqs[11], -1, 0},
		{math.MaxInt64, 1, 1},
		{seqs[7], 3, 2},
		{seqs[11], 4, 4},
		{math.MaxInt64, many, 0},
	} {
		n := -1
		b.update(func(tx store.Tx) (err error) {
			n, err = tx.DeleteEvents(b.ctx, step.through, step.limit)
			return err
		})
		b.equal(n, step.want, "DeleteEvents(%d, %d) of events %v", step.through, step.limit, seqs)
		left = left[step.want:]
		var got []string
		for _, e := range b.feed(store.EventQuery{}) {
			got = append(got, e.ID)
		}
		b.equal(slices.Concat(got), slices.Concat(left), "events after DeleteEvents(%d, %d)", step.through, step.limit)
	}
}

func manyEvents(n int) []any {
	rows := make([]any, n)
	for i := range rows {
		rows[i] = event(i)
	}
	return rows
}

func countEvents(ctx context.Context, r store.Reader, limit int) (int, error) {
	rows, err := r.Events(ctx, store.EventQuery{Limit: limit})
	return len(rows), err
}
