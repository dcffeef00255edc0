package license_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

var simulations = flag.Int("simulations", 100, "how many subscriptions TestSimulatedProvider has")

// A subscription is a purchase as a payment provider has it, since an instant.
type subscription struct {
	since    time.Time
	plan     string
	quantity int64
	until    time.Time
	state    license.PurchaseState
}

// A delivery is a call of a handler, which takes the instant at and then, maybe
// after other changes, reads the subscription. It is done when it has been fulfilled.
type delivery struct{ at, read, done time.Time }

// TestSimulatedProvider: subscriptions change in bursts, and webhooks, each of which
// reads the subscription, come late, twice, in any order and overlapping. At the end,
// each license is that of the subscription.
func TestSimulatedProvider(t *testing.T) {
	s := newSeller(t, memory.New())
	random := rand.New(rand.NewPCG(5, 6))
	for n := range *simulations {
		reference := fmt.Sprint("sim:", n)
		changes, deliveries := simulate(random)
		for _, d := range deliveries {
			sub := changes[0]
			for _, c := range changes {
				if !c.since.After(d.read) {
					sub = c
				}
			}
			s.tell(t, reference, event{
				At: d.at, CustomerID: "cus_ada", PlanID: sub.plan, Quantity: &sub.quantity, Until: license.To(sub.until), State: sub.state,
			})
		}
		last := changes[len(changes)-1]
		f, err := s.GetFulfillment(t.Context(), reference)
		if err != nil {
			t.Fatal(err)
		}
		if f.License == nil {
			t.Fatalf("%s has no license: %+v", reference, changes)
		}
		l := *f.License
		seats := map[string]int64{"basic": 2, "maintained": 3}[last.plan] * last.quantity
		end, never := l.ExpiresAt, l.UpdatesUntil
		if last.plan == "maintained" {
			end, never = never, end
		}
		ends := never == nil && end != nil && end.Equal(last.until)
		if last.state == license.PurchaseEnded {
			ends = never == nil && f.EndedAt != nil && end != nil && !end.After(*f.EndedAt) && !f.EndedAt.Before(last.since.Add(-3*time.Second)) // taken before the read
		}
		paused := l.Status == license.StatusSuspended
		if l.PlanID != last.plan || *l.MaxActivations != seats || !ends || last.state != license.PurchaseEnded && paused != (last.state == license.PurchasePaused) {
			t.Fatalf("%s is %+v\nand has the license %+v", reference, last, l)
		}
	}
}

// simulate returns what happens to a subscription, and the calls of its handler in
// the order in which they end.
func simulate(random *rand.Rand) (changes []subscription, deliveries []delivery) {
	between := func(most time.Duration) time.Duration {
		return time.Duration(random.Int64N(int64(most))).Truncate(time.Millisecond)
	}
	now := onDay(0)
	sub := subscription{now, "basic", 1, onDay(30), license.PurchaseActive}
	changes = append(changes, sub)
	for range 2 + random.IntN(8) {
		if now = now.Add(between(5 * time.Second)); random.IntN(3) == 0 { // the end of a burst
			now = now.Add(between(72 * time.Hour))
		}
		sub.since = now
		switch random.IntN(6) {
		case 0:
			sub.plan = []string{"basic", "maintained"}[random.IntN(2)]
		case 1:
			sub.quantity = 1 + random.Int64N(4)
		case 2, 3:
			sub.until = sub.until.Add(between(60 * 24 * time.Hour))
		case 4:
			sub.state = []license.PurchaseState{license.PurchaseActive, license.PurchasePaused}[random.IntN(2)]
		case 5:
			if random.IntN(3) == 0 {
				sub.state = license.PurchaseEnded
			}
		}
		changes = append(changes, sub)
		if sub.state == license.PurchaseEnded {
			break
		}
	}
	for i, c := range changes {
		for range 1 + random.IntN(3) {
			at := c.since.Add(1 + between(30*time.Second))
			if random.IntN(4) == 0 {
				at = at.Add(between(48 * time.Hour))
			}
			read := at.Add(between(3 * time.Second))
			deliveries = append(deliveries, delivery{at, read, read.Add(between(10 * time.Second))})
		}
		if i == 0 { // the page after the payment
			at := c.since.Add(time.Millisecond)
			deliveries = append(deliveries, delivery{at, at, at})
		}
	}
	random.Shuffle(len(deliveries), func(i, j int) { deliveries[i], deliveries[j] = deliveries[j], deliveries[i] })
	if random.IntN(2) == 0 { // as they end, otherwise in any order
		slices.SortFunc(deliveries, func(a, b delivery) int { return cmp.Compare(a.done.UnixNano(), b.done.UnixNano()) })
	}
	return changes, deliveries
}
