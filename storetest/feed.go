package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/seed-d8a106b4/licensekit/store"
)

// feed lists events and stops the case if that fails.
func (b *bench) feed(q store.EventQuery) []store.Event {
	if q.Limit == 0 {
		q.Limit = many
	}
	rows, err := b.Events(b.ctx, q)
	b.ok(err, "Events")
	return rows
}

// append appends events, each in its own Update.
func (b *bench) append(rows ...store.Event) {
	for _, e := range rows {
		b.appendTogether(e)
	}
}

// appendTogether appends events in one Update, half of them in one call.
func (b *bench) appendTogether(rows ...store.Event) {
	b.update(func(tx store.Tx) error {
		half := len(rows) / 2
		err := tx.AppendEvents(b.ctx, rows[:half]...)
		for _, e := range rows[half:] {
			err = errors.Join(err, tx.AppendEvents(b.ctx, e))
		}
		return err
	})
}

// appended appends events and returns the Seqs that lists of the Update show.
func appended(ctx context.Context, tx store.Tx, rows ...store.Event) (seqs []int64, err error) {
	if err := tx.AppendEvents(ctx, rows...); err != nil {
		return nil, err
	}
	newest, err := tx.Events(ctx, store.EventQuery{Descending: true, Limit: len(rows)})
	for _, e := range slices.Backward(newest) {
		seqs = append(seqs, e.Seq)
	}
	return seqs, err
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

// eventSeqsRise appends in many Updates and compares the feed with the Seqs that
// it had after each.
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
		b.appendTogether(rows...)
		for _, e := range b.feed(store.EventQuery{})[len(given):] {
			given = append(given, e.Seq)
		}
	}
	for i := 1; i < len(given); i++ {
		if given[i] <= given[i-1] {
			b.fail(given, "rising numbers", "Seqs of the events that each Update appended")
			break
		}
	}
	feed := b.feed(store.EventQuery{})
	b.equal(len(feed), len(ids), "events in the feed")
	for i, e := range feed[:min(len(feed), len(ids), len(given))] {
		if !b.equal(e.ID, ids[i], "event %d of the feed", i) || !b.equal(e.Seq, given[i], "Seq of event %d of the feed", i) {
			break
		}
	}
}

// eventSeqsOnce empties the feed, and checks that later Seqs are higher.
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
			e := event(3)
			e.Seq = highest + 5
			if err := tx.AppendEvents(b.ctx, e); err != nil {
				return err
			}
			_, err := tx.DeleteEvents(b.ctx, e.Seq, many)
			return err
		})
		highest += 5
		if !b.under(21).equal(len(b.seqs()), 0, "events after the only one was removed") {
			return
		}
	}
}

// eventSeqsGiven appends events that bring their Seqs, as an import does, also in an
// Update that is undone and runs again.
func eventSeqsGiven(b *bench) {
	var want []int64
	for i, calls := range [][]struct{ brought, want []int64 }{
		{{[]int64{10, 10, 5, 20}, []int64{10, 11, 12, 20}}},
		{{[]int64{40}, []int64{40}}, {[]int64{0, 35, 50, -3}, []int64{0, 0, 50, 51}}}, // 0: any that rises
		{{[]int64{0}, []int64{0}}, {[]int64{70}, []int64{70}}},
	} {
		appends := func(tx store.Tx) error {
			for _, c := range calls {
				var rows []store.Event
				for _, seq := range c.brought {
					e := event(i) // with an ID that others have
					e.Seq = seq
					rows = append(rows, e)
				}
				if err := tx.AppendEvents(b.ctx, rows...); err != nil {
					return err
				}
			}
			return nil
		}
		_ = b.undo(appends)
		b.update(appends)
		got := b.seqs()
		for _, c := range calls {
			for _, seq := range c.want {
				if seq == 0 && len(want) < len(got) {
					seq = max(got[len(want)], slices.Max(append(want, 0))+1)
				}
				want = append(want, seq)
			}
		}
		b.equal(got, want, "Seqs in the feed after AppendEvents of events with their own Seqs")
	}
	b.drain(math.MaxInt64)
	late := event(9)
	late.Seq = 60
	b.appendTogether(late)
	if seq := b.seqs(); len(seq) != 1 || seq[0] <= want[len(want)-1] {
		b.fail(seq, fmt.Sprintf("above %d", want[len(want)-1]), "Seq of an event that brought a lower one than removed events had")
	}
}

// eventSeqsLarge appends events whose Seqs need up to 61 bits, and lists from there
// in both directions.
func eventSeqsLarge(b *bench) {
	var all []int64
	for _, seq := range []int64{1<<31 + 1, 1<<32 + 1, 1<<53 + 1, 1<<60 + 1} {
		one := event(1)
		one.Seq = seq
		b.update(func(tx store.Tx) error { return tx.AppendEvents(b.ctx, one, event(1)) })
		all = append(all, seq, seq+1)
		if !b.equal(b.seqs(), all, "Seqs in the feed after AppendEvents of an event with the Seq %d and one without", seq) {
			return
		}
	}
	for _, q := range []store.EventQuery{{}, {Subject: event(1).Subject}, {CustomerID: event(1).CustomerID}, {ProductID: event(1).ProductID}} {
		for _, seq := range all {
			for _, q.After = range []int64{seq - 1, seq} {
				for _, q.Descending = range []bool{false, true} {
					var got, want []int64
					for _, seq := range all {
						if seq != q.After && seq > q.After != q.Descending {
							want = append(want, seq)
						}
					}
					if q.Descending {
						slices.Reverse(want)
					}
					for _, e := range b.feed(q) {
						got = append(got, e.Seq)
					}
					b.under(12).equal(got, want, "Seqs for %+v", q)
				}
			}
		}
	}
}

// eventSeqsAfterFailure appends in Updates, some of which fail.
func eventSeqsAfterFailure(b *bench) {
	var after int64
	for n := range 5 {
		_ = b.try(func(tx store.Tx) error {
			for i := range n {
				if err := tx.AppendEvents(b.ctx, event(10+i)); err != nil {
					return err
				}
			}
			return errOnPurpose
		})
		b.append(event(n))
		news := b.feed(store.EventQuery{After: after})
		b.equal(eventIDs(news), []string{event(n).ID}, "new events after Update %d", n)
		for _, e := range news {
			after = e.Seq
		}
	}
}

// eventRemoval removes events in steps with different limits.
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
		{-1, many, 0},
		{math.MinInt64, many, 0},
		{0, many, 0},
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

// A follower reads the feed from the point where it stopped.
type follower struct {
	b     *bench
	after int64
	ids   []string
}

// read reads to the end in pages, and fails on a Seq at or below the last.
func (f *follower) read() {
	for {
		page := f.b.feed(store.EventQuery{After: f.after, Limit: 3})
		if len(page) == 0 {
			return
		}
		for _, e := range page {
			if e.Seq <= f.after {
				f.b.stop(e.Seq, fmt.Sprintf("above %d", f.after), "Seq in a list that continues after that Seq")
			}
			f.after = e.Seq
			f.ids = append(f.ids, e.ID)
		}
	}
}

// feedBehindALateCommit lets an Update append an event, and commit only after
// another Update has appended and committed, and a reader has read. In a store
// that serializes writing Updates the other one has to wait, and the window
// passes.
func feedBehindALateCommit(b *bench) {
	var want []string
	f := &follower{b: b}
	for n := range 2 {
		early, late := event(2*n), event(2*n+1)
		want = append(want, early.ID, late.ID)
		appended := make(chan struct{})
		var once sync.Once
		meet := newMeeting(1) // the late Update waits for the reader
		b.together(2, func(i int) {
			if i == 0 {
				proceed := func() { once.Do(func() { close(appended) }) }
				defer proceed() // also if it fails
				b.update(func(tx store.Tx) error {
					err := tx.AppendEvents(b.ctx, early)
					proceed()
					meet.hold()
					return err
				})
				return
			}
			<-appended
			b.append(late)
			f.read()
			meet.arrive()
		})
		f.read()
	}
	got := slices.Sorted(slices.Values(f.ids))
	slices.Sort(want)
	b.equal(got, want, "events seen by a reader that continues after its last Seq")
}

// feedFollowed has many Updates append while a reader follows.
func feedFollowed(b *bench) {
	const updates, each = 12, 3
	var writers sync.WaitGroup
	writers.Add(crowd)
	f := &follower{b: b}
	b.together(crowd+1, func(i int) {
		if i == crowd {
			done := make(chan struct{})
			go func() {
				writers.Wait()
				close(done)
			}()
			for {
				f.read()
				select {
				case <-done:
					f.read()
					return
				default:
					runtime.Gosched()
				}
			}
		}
		defer writers.Done()
		for u := range updates {
			b.update(func(tx store.Tx) error {
				for n := range each {
					if err := tx.AppendEvents(b.ctx, event((i*updates+u)*each+n)); err != nil {
						return err
					}
					for range (i + u + n) % 4 * 5 { // some return sooner than others
						runtime.Gosched()
					}
				}
				return nil
			})
		}
	})
	seen := map[string]int{}
	for place, id := range f.ids {
		if first, again := seen[id]; again {
			b.stop(fmt.Sprintf("%s at %d and at %d", id, first, place), "each event once", "events seen by a follower")
		}
		seen[id] = place
	}
	b.equal(len(f.ids), crowd*updates*each, "events seen by a follower")
	for n := range crowd * updates {
		for i := range each - 1 {
			one, two := event(n*each+i).ID, event(n*each+i+1).ID
			if seen[one] > seen[two] {
				b.fail(two+" before "+one, "the order in which the Update appended them", "events seen by a follower")
			}
		}
	}
}
