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
		{"Events", "Paging", 12, eventPaging},
		{"Events", "PagingMeanwhile", 12, eventPagingMeanwhile},
		{"Events", "ReplaceKeepsTheRest", 9, eventReplace},
		{"Events", "SeqsRise", 20, eventSeqsRise},
		{"Events", "SeqsAreNotGivenTwice", 20, eventSeqsOnce},
		{"Events", "SeqsThatEventsBring", 20, eventSeqsGiven},
		{"Events", "SeqsWithManyBits", 20, eventSeqsLarge},
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
		{"Events by ProductID", func(ctx context.Context, r store.Reader, want store.Event) ([]store.Event, error) {
			return r.Events(ctx, store.EventQuery{ProductID: want.ProductID, Limit: many})
		}, true},
	},
}

func eventIDs(rows []store.Event) []string {
	var ids []string
	for _, e := range rows {
		ids = append(ids, e.ID)
	}
	return ids
}

// plainEvents returns n events with ids that do not sort as they are appended.
func plainEvents(n int) []store.Event {
	rows := make([]store.Event, n)
	for i := range rows {
		rows[i] = event(i * 7 % n)
		rows[i].Subject, rows[i].CustomerID, rows[i].ProductID = "subject", "customer", "product"
	}
	return rows
}

// eventOrder compares with the Seqs that the store assigned.
func eventOrder(b *bench) {
	b.append(plainEvents(20)...)
	b.appendTogether(event(100), event(99), event(101))
	for _, q := range []store.EventQuery{
		{}, {Subject: "subject"}, {CustomerID: "customer"}, {ProductID: "product"}, {Subject: "subject", CustomerID: "customer"},
		{CustomerID: "customer", ProductID: "product"},
	} {
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
		e.Subject, e.CustomerID, e.ProductID = word("subject", rnd.IntN(3)), word("customer", rnd.IntN(3)), word("product", rnd.IntN(3))
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
	s := sweep[query, store.Event]{
		slices.Concat(
			by("Subject", func(q *query, v string) { q.Subject = v }, "subject_0000", "subject_0001", "nothing"),
			by("CustomerID", func(q *query, v string) { q.CustomerID = v }, "customer_0000", "customer_0001", "nothing"),
			by("ProductID", func(q *query, v string) { q.ProductID = v }, "product_0000", "product_0001", "nothing"),
			by("Descending", func(q *query, v bool) { q.Descending = v }, true),
			by("After", func(q *query, v int64) { q.After = v }, rows[20].Seq),
		), rows, func(e store.Event) string { return e.ID },
		func(q query, e store.Event) bool {
			return (q.Subject == "" || e.Subject == q.Subject) && (q.CustomerID == "" || e.CustomerID == q.CustomerID) &&
				(q.ProductID == "" || e.ProductID == q.ProductID) && (q.After == 0 || e.Seq != q.After && e.Seq < q.After == q.Descending)
		},
		func(r store.Reader, q query) ([]string, error) {
			q.Limit = many
			rows, err := r.Events(b.ctx, q)
			return eventIDs(rows), err
		},
	}
	s.pairs(b)
	s.threes(b)
}

// eventPaging reads the events of one subject, and of one product, in pages of
// many sizes and from every position, in both directions.
func eventPaging(b *bench) {
	all := plainEvents(20)
	for i := range all {
		if i%5 == 4 {
			all[i].Subject, all[i].ProductID = "other", "other"
		}
	}
	b.append(all...)
	for _, q := range []store.EventQuery{
		{Subject: "subject"}, {Subject: "subject", Descending: true}, {ProductID: "product"}, {ProductID: "product", Descending: true},
	} {
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
	b.equal(eventIDs(rest), append(eventIDs(plainEvents(9)[3:]), event(100).ID), "events after a removed event")

	page = b.feed(store.EventQuery{Limit: 2, Descending: true})
	b.equal(eventIDs(page), []string{event(100).ID, plainEvents(9)[8].ID}, "first page, newest first")
	b.append(event(101))
	rest = b.feed(store.EventQuery{After: seqs[8], Descending: true})
	want := eventIDs(plainEvents(9)[3:8])
	slices.Reverse(want)
	b.equal(eventIDs(rest), want, "events, newest first, after another was appended")
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
