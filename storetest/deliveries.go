package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

func deliveryCases() []testCase {
	return slices.Concat(deliveries.cases(), deliveriesNewest.cases(), deliveriesDue.cases(), []testCase{
		{"Deliveries", "Filters", 11, deliveryFilters},
		limit("Deliveries", manyDeliveries, countDeliveries),
	})
}

var deliveries = kind[store.Delivery]{
	area:     "Deliveries",
	plain:    delivery,
	identity: []string{"ID"},
	same:     func(a, b store.Delivery) bool { return a.ID == b.ID },
	replace: func(ctx context.Context, tx store.Tx, _, row store.Delivery) error {
		return tx.PutDelivery(ctx, row)
	},
	reads: []read[store.Delivery]{
		{"Delivery", func(ctx context.Context, r store.Reader, want store.Delivery) ([]store.Delivery, error) {
			return get(r.Delivery(ctx, want.ID))
		}, true},
		{"Deliveries", func(ctx context.Context, r store.Reader, want store.Delivery) ([]store.Delivery, error) {
			return r.Deliveries(ctx, store.DeliveryQuery{Limit: many})
		}, false},
		{"Deliveries by EndpointID", func(ctx context.Context, r store.Reader, want store.Delivery) ([]store.Delivery, error) {
			return r.Deliveries(ctx, store.DeliveryQuery{EndpointID: want.EndpointID, Limit: many})
		}, true},
		{"Deliveries by State", func(ctx context.Context, r store.Reader, want store.Delivery) ([]store.Delivery, error) {
			return r.Deliveries(ctx, store.DeliveryQuery{State: want.State, Limit: many})
		}, true},
	},
	sortedBy: "ID",
	ids: func(ctx context.Context, r store.Reader) ([]string, error) {
		rows, err := r.Deliveries(ctx, store.DeliveryQuery{Limit: many})
		ids := deliveryIDs(rows)
		slices.Reverse(ids) // they come newest first
		return ids, err
	},
}

func deliveryIDs(rows []store.Delivery) []string {
	var ids []string
	for _, d := range rows {
		ids = append(ids, d.ID)
	}
	return ids
}

// deliveriesNewest lists one endpoint's deliveries, newest first.
var deliveriesNewest = func() listing {
	row := func(rank int) store.Delivery {
		d := delivery(ranks - 1 - rank)
		d.EndpointID, d.State = "endpoint", "state"
		d.DueAt, d.CreatedAt = day(rank*17%ranks), day(rank*7%ranks)
		return d
	}
	other := row(20)
	other.ID, other.EndpointID = other.ID+"_noise", "other"
	rank := rankOf(func(rank int) string { return row(rank).ID })
	return listing{
		area: "Deliveries", name: "Newest",
		noise: []any{other},
		row:   func(rank int) any { return row(rank) },
		list: func(ctx context.Context, r store.Reader, after, limit int) ([]int, error) {
			q := store.DeliveryQuery{EndpointID: "endpoint", Limit: limit}
			if after >= 0 {
				q.After = store.Position{Time: day(after), ID: row(after).ID} // only the ID counts
			}
			return deliveryRanks(ctx, r, q, rank)
		},
	}
}()

// deliveriesDue lists the deliveries in a state that are due, the longest
// due first.
var deliveriesDue = func() listing {
	row := func(rank int) store.Delivery {
		pair := rank / 2
		d := delivery(rank)
		d.ID = fmt.Sprintf("dlv_%02d_%02d", pair*7%ranks, rank)
		d.EndpointID, d.State, d.DueAt = "endpoint", "state", day(pair)
		return d
	}
	other, never, later := row(20), row(30), row(40)
	other.ID, other.State = other.ID+"_noise", "other"
	never.ID, never.DueAt = never.ID+"_never", time.Time{}
	later.ID, later.DueAt = later.ID+"_later", day(ranks)
	rank := rankOf(func(rank int) string { return row(rank).ID })
	return listing{
		area: "Deliveries", name: "Due",
		noise: []any{other, never, later},
		row:   func(rank int) any { return row(rank) },
		list: func(ctx context.Context, r store.Reader, after, limit int) ([]int, error) {
			q := store.DeliveryQuery{State: "state", DueBefore: day(ranks), Limit: limit}
			if after >= 0 {
				q.After = store.Position{Time: row(after).DueAt.In(elsewhere), ID: row(after).ID}
			}
			return deliveryRanks(ctx, r, q, rank)
		},
	}
}()

func deliveryRanks(ctx context.Context, r store.Reader, q store.DeliveryQuery, rank func(string) int) ([]int, error) {
	rows, err := r.Deliveries(ctx, q)
	var got []int
	for _, d := range rows {
		got = append(got, rank(d.ID))
	}
	return got, err
}

// deliveryFilters lists deliveries with values from small sets, some of which
// were replaced and some removed.
func deliveryFilters(b *bench) {
	rnd := rand.New(rand.NewPCG(11, 4))
	draw := func(n int) store.Delivery {
		d := delivery(n)
		d.EndpointID, d.State = word("endpoint", rnd.IntN(3)), word("state", rnd.IntN(3))
		d.DueAt = day(rnd.IntN(4))
		if rnd.IntN(4) == 0 {
			d.DueAt = time.Time{}
		}
		return d
	}
	var rows []store.Delivery
	for n := range 50 {
		rows = append(rows, draw(n))
	}
	b.add(anys(rows)...)
	for n := range 20 {
		rows[n] = draw(n)
	}
	b.add(anys(rows[:20])...)
	for range 6 {
		b.update(func(tx store.Tx) error { return remove(b.ctx, tx, rows[0]) })
		rows = rows[1:]
	}

	type query = store.DeliveryQuery
	sweep(b, slices.Concat(
		by("EndpointID", func(q *query, v string) { q.EndpointID = v }, "endpoint_0000", "endpoint_0001", "nothing"),
		by("State", func(q *query, v string) { q.State = v }, "state_0000", "state_0001", "nothing"),
		by("DueBefore", func(q *query, v time.Time) { q.DueBefore = v }, day(0), day(1), day(2), day(9), day(1).In(elsewhere)),
	), rows, func(d store.Delivery) string { return d.ID }, func(q query, d store.Delivery) bool {
		return (q.EndpointID == "" || d.EndpointID == q.EndpointID) && (q.State == "" || d.State == q.State) &&
			(q.DueBefore.IsZero() || !d.DueAt.IsZero() && d.DueAt.Before(q.DueBefore))
	}, func(r store.Reader, q query) ([]string, error) {
		q.Limit = many
		rows, err := r.Deliveries(b.ctx, q)
		return deliveryIDs(rows), err
	})
}

func manyDeliveries(n int) []any {
	rows := make([]any, n)
	for i := range rows {
		rows[i] = delivery(i)
	}
	return rows
}

// countDeliveries counts in both orders, which should come to the same.
func countDeliveries(ctx context.Context, r store.Reader, limit int) (int, error) {
	newest, err := r.Deliveries(ctx, store.DeliveryQuery{Limit: limit})
	if err != nil {
		return 0, err
	}
	due, err := r.Deliveries(ctx, store.DeliveryQuery{DueBefore: day(1 << 20), Limit: limit})
	if err == nil && len(due) != len(newest) {
		err = fmt.Errorf("%d deliveries newest first, %d by the time when they are due", len(newest), len(due))
	}
	return len(newest), err
}
