package license_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// An event is what a payment provider reports about a purchase.
type event = api.RecordPurchaseParams

// onDay returns an instant n days after start.
func onDay(n float64) time.Time { return start.Add(time.Duration(n * float64(24*time.Hour))) }

// A seller is a service with plans, some days after the first event.
type seller struct {
	*license.Service
	store store.Store
	now   time.Time
}

func newSeller(t *testing.T, st store.Store, opts ...func(*license.Options)) *seller {
	t.Helper()
	s := &seller{store: st, now: onDay(40)}
	o := license.Options{Now: func() time.Time { return s.now }, ClaimFrom: []string{"mail:", "batch:"}}
	for _, opt := range opts {
		opt(&o)
	}
	s.Service = license.New(st, o)
	for _, p := range []api.PutPlanParams{
		{ID: "basic", ProductID: "prod_editor", Duration: api.Duration{Months: 1}, Terms: api.Terms{GraceSeconds: 86400, MaxActivations: ptr[int64](2), Entitlements: map[string]any{"export": true}}},
		{ID: "pro", ProductID: "prod_editor", Duration: api.Duration{Years: 1}, Terms: api.Terms{GraceSeconds: 3600, MaxActivations: ptr[int64](5), LeaseSeconds: ptr[int64](600), OfflineSeconds: ptr[int64](60)}},
		{ID: "forever", ProductID: "prod_editor"},
		{ID: "maintained", ProductID: "prod_editor", Duration: api.Duration{Years: 1}, UntilEnds: api.UntilEndsUpdates, Terms: api.Terms{GraceSeconds: 7, MaxActivations: ptr[int64](3)}},
		{ID: "other", ProductID: "prod_other", Terms: api.Terms{MaxActivations: ptr[int64](1)}},
		{ID: "extra", ProductID: "prod_editor", Kind: api.PlanAddOn, Duration: api.Duration{Months: 1}, Terms: api.Terms{MaxActivations: ptr[int64](2)}},
		{ID: "trial", ProductID: "prod_editor", Duration: api.Duration{Days: 14}, Terms: api.Terms{MaxActivations: ptr[int64](1)}},
	} {
		if _, err := selling.New(s.Service).PutPlan(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// tell reports an event about a purchase.
func (s *seller) tell(t *testing.T, reference string, e event) api.Purchase {
	t.Helper()
	e.Reference = reference
	f, err := selling.New(s.Service).RecordPurchase(t.Context(), e)
	if err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
	return f
}

// outcome returns the stored purchase and its license, without what differs from
// one purchase to another or counts changes.
func (s *seller) outcome(t *testing.T, reference string) string {
	t.Helper()
	f, err := selling.New(s.Service).GetPurchase(t.Context(), reference)
	if err != nil {
		t.Fatal(err)
	}
	f.Reference, f.LicenseID, f.CreatedAt, f.UpdatedAt = "", "", time.Time{}, time.Time{}
	if l := f.License; l != nil {
		l.ID, l.Key, l.Reference = "", "", ""
		l.CreatedAt, l.UpdatedAt, l.Revision, l.Generation = time.Time{}, time.Time{}, 0, 0
	}
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// histories are what providers report. Some events say little, and some happen at
// the same instant.
var histories = map[string][]event{
	"renewed, upgraded and canceled": {
		{At: onDay(0), CustomerID: "cus_ada", PlanID: "basic", State: "active", Until: api.To(onDay(30))},
		{At: onDay(1), Quantity: ptr[int64](3), Name: "Ada"},
		{At: onDay(30), State: "active", Until: api.To(onDay(60))},
		{At: onDay(31), PlanID: "pro", Quantity: ptr[int64](2), Metadata: map[string]*string{"order": ptr("7"), "old": nil}},
		{At: onDay(32), State: "ended", Reason: "canceled"},
		{At: onDay(33), State: "active", Until: api.To(onDay(90))},
	},
	"paused and paid, with ties": {
		{At: onDay(0), CustomerID: "cus_ada", PlanID: "basic", State: "active"},
		{At: onDay(1), State: "paused", Reason: "card declined", Quantity: ptr[int64](4)},
		{At: onDay(1), State: "active", Quantity: ptr[int64](2), PlanID: "pro"},
		{At: onDay(1), PlanID: "basic", Until: api.To(onDay(50)), Name: "Ada"},
		{At: onDay(1), Until: api.ToNull[time.Time](), Name: "Bob", Metadata: map[string]*string{"a": ptr("1")}},
		{At: onDay(2), State: "paused", Reason: "fraud", Metadata: map[string]*string{"a": nil}},
	},
	"said piece by piece": {
		{At: onDay(3), CustomerID: "cus_ada"},
		{At: onDay(2), PlanID: "pro"},
		{At: onDay(1), State: "active"},
		{At: onDay(4), Metadata: map[string]*string{"order": ptr("8")}},
		{At: onDay(0), State: "paused"},
	},
	"of an unknown plan, between others": {
		{At: onDay(0), CustomerID: "cus_ada", PlanID: "basic"},
		{At: onDay(2), PlanID: "price_unknown", State: "active"},
		{At: onDay(1), PlanID: "pro", Quantity: ptr[int64](300_000)},
		{At: onDay(3), State: "ended"},
		{At: onDay(2), State: "ended"},
	},
	"never paid": {
		{At: onDay(0), CustomerID: "cus_ada", PlanID: "basic", State: "paused"},
		{At: onDay(1), State: "ended"},
		{At: onDay(2), Until: api.To(onDay(9))},
	},
	"without end": {
		{At: onDay(0), CustomerID: "cus_ada", PlanID: "forever", State: "active"},
		{At: onDay(5), State: "ended"},
		{At: onDay(6), PlanID: "basic", State: "active"},
		{At: onDay(4), Until: api.To(onDay(5))},
	},
	"maintained, or not": {
		{At: onDay(0), CustomerID: "cus_ada", PlanID: "maintained", State: "active", Until: api.To(onDay(30))},
		{At: onDay(10), PlanID: "basic", Quantity: ptr[int64](2)},
		{At: onDay(10), PlanID: "maintained", Until: api.ToNull[time.Time]()},
		{At: onDay(20), PlanID: "pro", Until: api.To(onDay(60))},
		{At: onDay(25), State: "ended"},
		{At: onDay(26), PlanID: "maintained", State: "active"},
	},
	"maintained to the end": {
		{At: onDay(0), CustomerID: "cus_ada", PlanID: "basic"},
		{At: onDay(1), State: "active"},
		{At: onDay(2), PlanID: "maintained"},
		{At: onDay(3), State: "ended"},
	},
}

// orders calls try with each permutation of n numbers, with some of them repeated.
func orders(n int, try func([]int)) {
	random := rand.New(rand.NewPCG(1, 2))
	var permute func(head, rest []int)
	permute = func(head, rest []int) {
		if len(rest) == 0 {
			order := slices.Clone(head)
			for range 2 {
				i := random.IntN(len(order) + 1)
				order = slices.Insert(order, i, random.IntN(n))
			}
			try(order)
		}
		for i := range rest {
			permute(append(slices.Clone(head), rest[i]), slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	permute(nil, all)
}

// TestEveryOrderEndsTheSame: rules 1 to 7 of the conformance of purchases. Of six events, it
// tries every seventh order without -histories.
func TestEveryOrderEndsTheSame(t *testing.T) {
	s := newSeller(t, memory.New())
	tried, all := 0, 0
	for name, history := range histories {
		t.Run(name, func(t *testing.T) {
			want := ""
			orders(len(history), func(order []int) {
				if all++; *numHistories < 100 && len(history) == 6 && all%7 != 0 {
					return
				}
				tried++
				reference := fmt.Sprint("shop:", tried)
				for _, i := range order {
					s.tell(t, reference, history[i])
				}
				got := s.outcome(t, reference)
				if want == "" {
					want = got
				}
				if got != want {
					t.Fatalf("order %v:\n%s\nand another:\n%s", order, got, want)
				}
				if tried%8 != 0 {
					return
				}
				before := s.events(t)
				for _, e := range history { // again
					s.tell(t, reference, e)
				}
				if got = s.outcome(t, reference); got != want || s.events(t) != before {
					t.Fatalf("order %v, and again:\n%s\n%s", order, got, want)
				}
			})
		})
	}
	is.New(t).Equal(all, 3*720+2*120+2*24+6)
}

// events returns the position of the newest event.
func (s *seller) events(t *testing.T) int64 {
	t.Helper()
	events, err := s.store.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return events[0].Seq
}

// randomEvent returns an event of a small world, so that many are ties.
func randomEvent(random *rand.Rand) event {
	maybe := func(n int) bool { return random.IntN(n) == 0 }
	e := event{At: onDay(float64(random.IntN(6)))}
	if maybe(2) {
		e.CustomerID = "cus_ada"
	}
	if maybe(2) {
		e.PlanID = []string{"basic", "pro", "forever", "maintained", "price_unknown"}[random.IntN(5)]
	}
	if maybe(3) {
		e.Quantity = ptr(1 + random.Int64N(3))
	}
	switch random.IntN(5) {
	case 0:
		e.Until = api.ToNull[time.Time]()
	case 1, 2:
		e.Until = api.To(onDay(float64(30 + random.IntN(3))))
	}
	if maybe(3) {
		e.Renews = ptr(maybe(2))
	}
	e.State = []api.PurchaseState{"", "active", "active", "paused", "ended"}[random.IntN(5)]
	if e.State == "ended" && maybe(2) {
		e.State = ""
	}
	if maybe(3) {
		e.Name, e.Reason = fmt.Sprint("name ", random.IntN(3)), fmt.Sprint("reason ", random.IntN(3))
	}
	if maybe(3) {
		e.Metadata = map[string]*string{fmt.Sprint("m", random.IntN(2)): []*string{nil, ptr("a"), ptr("b")}[random.IntN(3)]}
	}
	return e
}

// random replays random histories of two references of one license, or of one
// without, in random orders with duplicates, and compares what is left.
func (s *seller) random(t *testing.T, histories, orders int) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	for h := range histories {
		var history []event
		for range 3 + random.IntN(6) {
			history = append(history, randomEvent(random))
		}
		shared := h%3 == 0 // two purchases of one license
		want := ""
		for o := range orders {
			base := fmt.Sprintf("r%d.%d", h, o)
			references := []string{base + ":a", base + ":a"}
			licenseID := ""
			if shared {
				references[1] = base + ":b"
				p := plain()
				p.Metadata = map[string]string{"mine": "1"}
				p.UpdatesUntil = ptr(onDay(9))
				l, err := s.Create(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				licenseID = l.ID
			}
			order := random.Perm(len(history))
			order = append(order, random.IntN(len(history)), random.IntN(len(history)))
			for _, i := range order {
				e := history[i]
				e.LicenseID = licenseID
				s.tell(t, references[i%2], e)
			}
			got := s.outcome(t, references[0])
			if shared && len(history) > 1 {
				got += s.outcome(t, references[1])
			}
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("history %d, order %v:\n%s\nand another:\n%s\n%+v", h, order, got, want, history)
			}
		}
	}
}

var numHistories = flag.Int("histories", 10, "how many histories tests of random purchases try; 100 or more: also every order of the others")

func TestRandomHistoriesEndTheSame(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		newSeller(t, memory.New()).random(t, *numHistories, 24)
	})
	t.Run("memory, each Update twice", func(t *testing.T) {
		newSeller(t, storetest.Twice(memory.New())).random(t, min(*numHistories, 30), 6)
	})
	t.Run("sqlite", func(t *testing.T) {
		st, err := sqlite.Open(t.TempDir() + "/licenses.db")
		is.New(t).NoErr(err)
		defer st.Close()
		newSeller(t, st).random(t, 9, 4)
	})
}

// TestHandEditsBetween: whatever an operator changes between events, the stored
// purchase ends the same, and events that come again change nothing.
func TestHandEditsBetween(t *testing.T) {
	s := newSeller(t, memory.New())
	random := rand.New(rand.NewPCG(7, 8))
	for name, history := range histories {
		want := ""
		for n := range 24 {
			reference := fmt.Sprint("hand:", len(name), ":", n)
			for _, i := range random.Perm(len(history)) {
				if f := s.tell(t, reference, history[i]); f.License != nil {
					s.edit(t, random, f.License.ID)
				}
			}
			f, err := selling.New(s.Service).GetPurchase(t.Context(), reference)
			if err != nil {
				t.Fatal(err)
			}
			before := s.events(t)
			for _, e := range history {
				s.tell(t, reference, e)
			}
			if s.events(t) != before {
				t.Fatalf("%s: events that came again have changed the license", name)
			}
			f.License = nil
			f.Reference, f.LicenseID, f.CreatedAt, f.UpdatedAt = "", "", time.Time{}, time.Time{}
			got, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = string(got)
			}
			if string(got) != want {
				t.Fatalf("%s:\n%s\nand another:\n%s", name, got, want)
			}
		}
	}
}

// edit changes a license as an operator may.
func (s *seller) edit(t *testing.T, random *rand.Rand, id string) {
	t.Helper()
	var err error
	switch random.IntN(6) {
	case 0:
		_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: id, MaxActivations: api.To(random.Int64N(9)), Name: ptr("Hand")})
	case 1:
		_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: id, ExpiresAt: api.To(onDay(100)), Metadata: api.To(map[string]*string{"hand": ptr("1")})})
	case 2:
		if _, err = s.Suspend(t.Context(), api.ChangeStateParams{ID: id}); err != nil {
			_, err = s.Reinstate(t.Context(), api.ChangeStateParams{ID: id})
		}
	case 3:
		_, err = selling.New(s.Service).ApplyPlan(t.Context(), api.ApplyPlanParams{ID: id, PlanID: "forever"})
	case 4:
		_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: id, UpdatesUntil: api.To(onDay(100))})
	}
	if err != nil {
		t.Fatal(err)
	}
}

var simulations = flag.Int("simulations", 100, "how many subscriptions TestSimulatedProvider has")

// A subscription is a purchase as a payment provider has it, since an instant.
type subscription struct {
	since    time.Time
	plan     string
	quantity int64
	until    time.Time
	state    api.PurchaseState
}

// A delivery is a call of a handler, which takes the instant at and then, maybe
// after other changes, reads the subscription. It is done when its purchase has been recorded.
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
				At: d.at, CustomerID: "cus_ada", PlanID: sub.plan, Quantity: &sub.quantity, Until: api.To(sub.until), State: sub.state,
			})
		}
		last := changes[len(changes)-1]
		f, err := selling.New(s.Service).GetPurchase(t.Context(), reference)
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
		if last.state == api.PurchaseEnded {
			ends = never == nil && f.EndedAt != nil && end != nil && !end.After(*f.EndedAt) && !f.EndedAt.Before(last.since.Add(-3*time.Second)) // taken before the read
		}
		paused := l.Status == api.LicenseSuspended
		if l.PlanID != last.plan || *l.MaxActivations != seats || !ends || last.state != api.PurchaseEnded && paused != (last.state == api.PurchasePaused) {
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
	sub := subscription{now, "basic", 1, onDay(30), api.PurchaseActive}
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
			sub.state = []api.PurchaseState{api.PurchaseActive, api.PurchasePaused}[random.IntN(2)]
		case 5:
			if random.IntN(3) == 0 {
				sub.state = api.PurchaseEnded
			}
		}
		changes = append(changes, sub)
		if sub.state == api.PurchaseEnded {
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
