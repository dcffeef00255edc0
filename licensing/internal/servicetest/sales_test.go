package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	kept "github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/notices"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A hurtStore loses some Updates while hurt is set: some are not made, and of others the
// caller does not learn that they were.
type hurtStore struct {
	store.Store
	hurt atomic.Bool
	mu   sync.Mutex // of rand
	rand *rand.Rand
}

func (st *hurtStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	dice := 9
	if st.hurt.Load() {
		st.mu.Lock()
		dice = st.rand.IntN(4)
		st.mu.Unlock()
	}
	if dice == 0 {
		return store.ErrUnavailable
	}
	err := st.Store.Update(ctx, fn)
	if dice == 1 && err == nil {
		return store.ErrUnknownOutcome
	}
	return err
}

// A shop sells for a simulated time.
type shop struct {
	t    *testing.T
	st   *hurtStore
	h    *licensing.Handler
	rand *rand.Rand
	subs []*sub // that are active
	n    int    // of references
}

type sub struct {
	reference, license, customer, plan string
	until                              time.Time
}

func newShop(t *testing.T, st store.Store, opts licensing.Options) *shop {
	t.Helper()
	opts.Logger = discard
	s := &shop{t: t, st: &hurtStore{Store: st, rand: rand.New(rand.NewPCG(1, 2))}, rand: rand.New(rand.NewPCG(3, 4))}
	s.h = licensing.NewHandler(s.st, opts)
	for _, p := range []api.PutPlanParams{
		{ID: "month", Duration: api.Duration{Days: 30}, Terms: api.Terms{GraceSeconds: 3 * 86400, MaxActivations: new(int64(3))}},
		{ID: "team", Duration: api.Duration{Days: 60}, Terms: api.Terms{GraceSeconds: 86400, MaxActivations: new(int64(5))}},
		{ID: "forever", UntilEnds: api.UntilEndsUpdates, Duration: api.Duration{Days: 90}},
		{ID: "seats", Kind: api.PlanAddOn, Duration: api.Duration{Days: 20}, Terms: api.Terms{MaxActivations: new(int64(2))}},
		{ID: "free", Terms: api.Terms{MaxActivations: new(int64(1))}},
		{ID: "trial", Duration: api.Duration{Days: 14}, Terms: api.Terms{MaxActivations: new(int64(1))}},
	} {
		p.ProductID = "atlas"
		_, err := s.h.Selling().PutPlan(t.Context(), p)
		s.ok(err)
	}
	return s
}

func (s *shop) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) next(kind string) string {
	s.n++
	return fmt.Sprintf("%s_%d", kind, s.n)
}

// tell reports an event of now about a purchase.
func (s *shop) tell(p api.RecordPurchaseParams) api.Purchase {
	s.t.Helper()
	p.At = time.Now()
	f, err := s.h.Selling().RecordPurchase(s.t.Context(), p)
	s.ok(err)
	return f
}

// sell sells a plan, on a new license or on the given one.
func (s *shop) sell(plan, licenseID, customer string) *sub {
	s.t.Helper()
	b := &sub{reference: s.next("sub"), customer: customer, plan: plan}
	p := api.RecordPurchaseParams{Reference: b.reference, CustomerID: customer, PlanID: plan, LicenseID: licenseID, State: api.PurchaseActive}
	if plan == "month" || plan == "team" {
		b.until = time.Now().AddDate(0, 0, map[string]int{"month": 30, "team": 60}[plan])
		p.Until = api.To(b.until)
	}
	f := s.tell(p)
	b.license = f.LicenseID
	s.subs = append(s.subs, b)
	return b
}

// day does what happens on a day.
func (s *shop) day() {
	s.t.Helper()
	ctx := s.t.Context()
	for _, b := range slices.Clone(s.subs) {
		if b.until.IsZero() || time.Until(b.until) > 24*time.Hour {
			continue
		}
		if s.rand.IntN(10) < 8 {
			b.until = b.until.AddDate(0, 0, 30)
			s.tell(api.RecordPurchaseParams{Reference: b.reference, State: api.PurchaseActive, Until: api.To(b.until)})
		} else {
			s.drop(b)
		}
	}
	pick := func() *sub {
		if len(s.subs) == 0 {
			return s.sell("month", "", s.next("cus"))
		}
		return s.subs[s.rand.IntN(len(s.subs))]
	}
	for range 1 + s.rand.IntN(3) {
		time.Sleep(time.Duration(1+s.rand.IntN(100)) * time.Minute)
		switch s.rand.IntN(18) {
		case 0, 1, 2:
			s.sell("month", "", s.next("cus"))
		case 3:
			s.sell("team", "", s.next("cus"))
		case 4:
			s.sell("forever", "", s.next("cus"))
		case 5:
			b := pick()
			s.sell("seats", b.license, b.customer)
		case 6, 7:
			customer := s.next("cus")
			trial, err := s.h.Selling().StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: customer})
			s.ok(err)
			if s.rand.IntN(2) == 0 {
				time.Sleep(time.Hour)
				s.sell("month", trial.License.ID, customer)
			}
		case 8:
			ends := time.Now().AddDate(0, 0, 10+s.rand.IntN(30))
			l, err := s.h.Service().Create(ctx, api.CreateLicenseParams{Name: "By hand", ProductID: "atlas", CustomerID: s.next("cus"), ExpiresAt: &ends})
			s.ok(err)
			time.Sleep(time.Minute)
			switch s.rand.IntN(3) {
			case 0:
				s.sell("team", l.ID, l.CustomerID) // which is no renewal, although it ends later
			case 1:
				_, err = s.h.Service().Renew(ctx, api.RenewLicenseParams{ID: l.ID, Duration: api.Duration{Days: 20}})
				s.ok(err)
			}
		case 9:
			key, reference := s.next("a-key-of-the-old-system"), s.next("old")
			row := fmt.Sprintf(`{"name":"Old","product_id":"atlas","customer_id":"cus_old","key":%q,"plan_id":"month","reference":%q,"expires_at":%q}`, key, reference, time.Now().AddDate(0, 0, 15).Format(time.RFC3339))
			s.ok(s.h.Service().Import(ctx, strings.NewReader(row), func(r api.RowResult) error {
				if r.Result != api.ImportCreated {
					s.t.Errorf("%+v", r)
				}
				return nil
			}))
		case 10:
			b := pick()
			s.tell(api.RecordPurchaseParams{Reference: b.reference, State: api.PurchaseRefunded})
			s.subs = slices.DeleteFunc(s.subs, func(o *sub) bool { return o == b })
		case 11:
			b := pick()
			s.tell(api.RecordPurchaseParams{Reference: b.reference, PlanID: map[string]string{"month": "team", "team": "month"}[b.plan]})
		case 12:
			s.without(pick(), func(id string) error {
				_, err := s.h.Service().Revoke(ctx, api.ChangeStateParams{ID: id})
				return err
			})
		case 13:
			s.without(pick(), func(id string) error { return s.h.Service().Delete(ctx, api.DeleteLicenseParams{ID: id}) })
		case 14:
			b := pick()
			l, err := s.h.Service().Get(ctx, b.license)
			if err == nil && l.UpdatesUntil != nil {
				_, err = s.h.Service().Renew(ctx, api.RenewLicenseParams{ID: l.ID, Extend: api.RenewExtendUpdates, Duration: api.Duration{Days: 90}})
				s.ok(err)
			}
		case 15:
			b := pick()
			s.tell(api.RecordPurchaseParams{Reference: b.reference, State: api.PurchasePaused})
			time.Sleep(time.Hour)
			s.tell(api.RecordPurchaseParams{Reference: b.reference, State: api.PurchaseActive})
		case 17:
			free := s.sell("free", "", s.next("cus"))
			time.Sleep(time.Hour)
			s.sell("month", free.license, free.customer)
		case 16:
			l, err := s.h.Service().Get(ctx, pick().license)
			if err == nil && l.Status == api.LicenseActive {
				_, err = s.h.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: s.next("pc")})
				if err != nil && !errors.Is(err, api.ErrDenied) {
					s.ok(err)
				}
			}
		}
	}
}

func (s *shop) drop(b *sub) {
	if s.rand.IntN(2) == 0 {
		s.tell(api.RecordPurchaseParams{Reference: b.reference, State: api.PurchaseEnded})
	}
	s.subs = slices.DeleteFunc(s.subs, func(o *sub) bool { return o == b })
}

// without forgets all of a license, and does something to it, unless that was done.
func (s *shop) without(b *sub, do func(id string) error) {
	s.t.Helper()
	s.subs = slices.DeleteFunc(s.subs, func(o *sub) bool { return o.license == b.license })
	if _, moved := errors.AsType[*api.StateError](do(b.license)); moved {
		return
	}
}

// night runs the background work for some minutes, on a store that loses Updates.
func (s *shop) night(hurt bool) {
	s.t.Helper()
	s.st.hurt.Store(hurt)
	stop := begin(s.t, s.h)
	time.Sleep(10 * time.Minute)
	stop()
	s.st.hurt.Store(false)
}

// all returns all events.
func (s *shop) all() (list []store.Event) {
	s.t.Helper()
	for q := (store.EventQuery{}); ; {
		events, err := s.st.Events(s.t.Context(), q)
		s.ok(err)
		if len(events) == 0 {
			return list
		}
		list, q.After = append(list, events...), events[len(events)-1].Seq
	}
}

// An oldLicense is what a recount knows of a license.
type oldLicense struct {
	plan, reference string
	ends, grace     time.Time
	valid           bool
	perpetual       bool        // ends is the end of updates
	purchases       []time.Time // ends of purchases that the license outlives
}

// moved returns the first end that a license has no longer.
func (l oldLicense) moved(is oldLicense) time.Time {
	was := slices.SortedFunc(slices.Values(append(slices.Clone(l.purchases), l.ends)), time.Time.Compare)
	for _, end := range was {
		if !end.IsZero() && !end.Equal(is.ends) && !slices.ContainsFunc(is.purchases, end.Equal) {
			return end
		}
	}
	return time.Time{}
}

func (l oldLicense) trial() bool { return strings.HasPrefix(l.reference, "trial:") }
func (l oldLicense) paid() bool  { return l.reference != "" && !l.trial() }

// recount counts a period from the events, by plan, as one reads the rules of sales: it
// follows each license from event to event, and looks at nothing else that is stored but
// the plans of purchases.
func (s *shop) recount(events []store.Event, from, to time.Time) (plans map[string]*sales.Numbers, force map[string]int64, paying int64) {
	s.t.Helper()
	plans, force = map[string]*sales.Numbers{}, map[string]int64{}
	of := func(plan string) *sales.Numbers {
		if plans[plan] == nil {
			plans[plan] = &sales.Numbers{}
		}
		return plans[plan]
	}
	in := func(t time.Time) bool { return !t.Before(from) && t.Before(to) }
	count := func(t time.Time, n *int64) {
		if in(t) {
			*n++
		}
	}
	state, sold := map[string]oldLicense{}, map[string]string{}
	for _, e := range events {
		if !strings.HasPrefix(e.Type, "license.") {
			continue
		}
		var data struct {
			License struct {
				PlanID    string     `json:"plan_id"`
				Reference string     `json:"reference"`
				Status    string     `json:"status"`
				ExpiresAt *time.Time `json:"expires_at"`
				Updates   *time.Time `json:"updates_until"`
				Grace     int64      `json:"grace_seconds"`
				Upcoming  []struct {
					EndsAt *time.Time `json:"ends_at"`
				} `json:"upcoming"`
			} `json:"license"`
			Granted   string   `json:"granted"`
			Reference string   `json:"reference"`
			Imported  bool     `json:"imported"`
			Ended     []string `json:"ended"`
		}
		s.ok(json.Unmarshal(e.Data, &data))
		was := state[e.Subject]
		is := oldLicense{plan: data.License.PlanID, reference: data.License.Reference, valid: data.License.Status != "revoked"}
		if end := data.License.ExpiresAt; end != nil {
			is.ends, is.grace = *end, end.Add(time.Duration(data.License.Grace)*time.Second)
			is.valid = is.valid && e.Time.Before(is.grace)
		} else if data.License.Updates != nil {
			is.ends, is.perpetual = *data.License.Updates, true
		}
		for _, c := range data.License.Upcoming {
			if c.EndsAt != nil {
				is.purchases = append(is.purchases, *c.EndsAt)
			}
		}
		if data.Granted != "" && strings.HasPrefix(data.Reference, "trial:") {
			count(e.Time, &of(data.Granted).Trials)
		} else if data.Granted != "" {
			sold[data.Reference] = data.Granted
			count(e.Time, &of(data.Granted).New)
		} else if e.Type == "license.created" && !data.Imported {
			count(e.Time, &of(is.plan).ByHand)
		}
		if was.trial() && is.paid() {
			count(e.Time, &of(was.plan).Converted)
		}
		longer := !was.ends.IsZero() && (is.ends.IsZero() || is.perpetual && !was.perpetual || is.ends.After(was.ends) && is.perpetual == was.perpetual)
		longer = longer || e.Type == "license.renewed" && is.ends.Equal(was.ends)
		if longer && !was.trial() && !is.trial() && e.Actor != "clock" && (data.Granted == "" || was.paid()) {
			count(e.Time, &of(is.plan).Renewed)
			if end := was.moved(is); !end.IsZero() && end.Before(time.Now().Truncate(24*time.Hour).AddDate(0, 0, 1)) {
				count(end, &of(is.plan).DueRenewed)
			}
		}
		switch e.Type {
		case "license.lapsed":
			is.valid = false
			if !is.trial() {
				count(e.Time, &of(is.plan).Ended)
				count(is.ends, &of(is.plan).DueEnded)
			}
		case "license.revoked", "license.deleted":
			if is.valid = false; was.valid && !is.trial() && (was.grace.IsZero() || e.Time.Before(was.grace)) {
				count(e.Time, &of(is.plan).Ended)
			}
		}
		for _, reference := range data.Ended {
			if e.Type == "license.updated" && strings.HasPrefix(reference, "sub_") && data.License.Status != "revoked" {
				p, err := s.h.Selling().GetPurchase(s.t.Context(), reference)
				s.ok(err)
				plan := p.Fields["plan_id"].Value.(string)
				count(e.Time, &of(plan).Ended)
				end := was.moved(is)
				if end.IsZero() || plan == "seats" {
					end = e.Time
				}
				count(end, &of(plan).DueEnded)
			}
		}
		if in(e.Time) {
			if was.valid {
				of(was.plan).Active--
				if was.paid() {
					of(was.plan).Paying--
				}
			}
			if is.valid {
				of(is.plan).Active++
				if is.paid() {
					of(is.plan).Paying++
				}
			}
		}
		if e.Time.Before(to) {
			if was.valid {
				force[was.plan]--
				if was.paid() {
					paying--
				}
			}
			if is.valid {
				force[is.plan]++
				if is.paid() {
					paying++
				}
			}
		}
		state[e.Subject] = is
	}
	return plans, force, paying
}

// compare fails unless a report has the numbers of a recount.
func (s *shop) compare(events []store.Event, from, to time.Time) sales.Report {
	s.t.Helper()
	rep, err := inner.Of(s.h.Service()).Sales().Report(s.t.Context(), sales.Period{From: from, To: to}, sales.Period{From: from.AddDate(0, 0, -7), To: from})
	s.ok(err)
	plans, force, paying := s.recount(events, from, to)
	want, got := map[string]string{}, map[string]string{}
	var total sales.Numbers
	for _, id := range slices.Sorted(maps.Keys(plans)) {
		if *plans[id] != (sales.Numbers{}) {
			want[id] = fmt.Sprintf("%+v", *plans[id])
		}
	}
	for _, p := range rep.Plans {
		if p.InForce != force[p.Plan] {
			s.t.Errorf("%s to %s: %d licenses of %q in force, and %d by the events", from, to, p.InForce, p.Plan, force[p.Plan])
		}
		p.Erased = 0
		if p.Numbers != (sales.Numbers{}) {
			got[p.Plan] = fmt.Sprintf("%+v", p.Numbers)
		}
		total.New += p.New
	}
	if !maps.Equal(want, got) {
		s.t.Errorf("%s to %s:\n%v, and by the events\n%v", from, to, got, want)
	}
	if rep.Paying != paying || rep.Total.New != total.New || !rep.Whole || rep.CountedTo != nil {
		s.t.Errorf("%s to %s: %d paying, and %d by the events; %+v", from, to, rep.Paying, paying, rep)
	}
	return rep
}

var saleDays = flag.Int("days", 150, "how many days TestSales sells for, at least 150")

// TestSales: the numbers of each period are those of a recount, although the count loses
// Updates and is behind. A count that begins after the last day has the same; they move
// with an archive, and stay without the events.
func TestSales(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newShop(t, memory.New(), licensing.Options{})
		s.night(false)
		began := time.Now().Truncate(24 * time.Hour)
		for day := range *saleDays {
			time.Sleep(time.Until(began.AddDate(0, 0, day).Add(8 * time.Hour)))
			s.day()
			if s.night(true); day%30 == 29 {
				s.truth()
			}
		}
		s.day()                   // not counted yet
		for more := true; more; { // a license is in force until its lapse is written
			var err error
			more, err = notices.Of(inner.Of(s.h.Service()).Call()).GiveNotices(t.Context())
			is.NoErr(err)
		}
		events := s.all()
		var sum sales.Numbers
		for from := began.AddDate(0, 0, -1); from.Before(time.Now()); from = from.AddDate(0, 0, 7) {
			rep := s.compare(events, from, from.AddDate(0, 0, 7))
			sum.New, sum.ByHand, sum.Trials, sum.Converted = sum.New+rep.Total.New, sum.ByHand+rep.Total.ByHand, sum.Trials+rep.Total.Trials, sum.Converted+rep.Total.Converted
			sum.Renewed, sum.Ended, sum.DueRenewed, sum.DueEnded = sum.Renewed+rep.Total.Renewed, sum.Ended+rep.Total.Ended, sum.DueRenewed+rep.Total.DueRenewed, sum.DueEnded+rep.Total.DueEnded
		}
		for _, name := range sales.PeriodNames {
			p, _ := sales.PeriodOf(name, time.Now())
			s.compare(events, p.From, p.To)
		}
		t.Logf("%+v", sum)
		for _, n := range []int64{sum.New, sum.ByHand, sum.Trials, sum.Converted, sum.Renewed, sum.Ended, sum.DueRenewed, sum.DueEnded} {
			is.True(n > 10)
		}
		is.True(!t.Failed())
		s.truth()

		report := func(h *licensing.Handler) string { return s.reports(h, began) }
		want := report(s.h)
		s.forget()
		s.st.hurt.Store(true)
		for more := true; more; {
			var err error
			_, more, err = inner.Of(s.h.Service()).Sales().Count(t.Context())
			more = more || err != nil
		}
		s.st.hurt.Store(false)
		is.Equal(firstDifference(report(s.h), want), "") // a count that begins with the oldest event has the whole past
		s.truth()

		var archive bytes.Buffer
		is.NoErr(s.st.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &archive) }))
		moved := memory.New()
		is.NoErr(store.Import(t.Context(), moved, &archive))
		s.st.Store = moved
		s.h = licensing.NewHandler(s.st, licensing.Options{Logger: discard, Events: license.EventOptions{Retention: 30 * 24 * time.Hour}})
		is.Equal(firstDifference(report(s.h), want), "") // numbers move
		for range 2 {
			s.night(false)
		}
		is.True(len(s.all()) < len(events)/2)
		is.Equal(firstDifference(report(s.h), want), "") // and stay when retention removes events
		s.truth()
	})
}

// firstDifference returns the first line of a text that another does not have.
func firstDifference(text, other string) string {
	want := strings.Split(other, "\n")
	for i, line := range strings.Split(text, "\n") {
		if i >= len(want) || want[i] != line {
			return line + " in place of " + strings.Join(want[min(i, len(want)):min(i+1, len(want))], "")
		}
	}
	return ""
}

// reports returns the numbers of each week from an instant on.
func (s *shop) reports(h *licensing.Handler, from time.Time) string {
	s.t.Helper()
	var b strings.Builder
	for to := from.AddDate(0, 0, 7); to.Before(time.Now()); from, to = to, to.AddDate(0, 0, 7) {
		rep, err := inner.Of(h.Service()).Sales().Report(s.t.Context(), sales.Period{From: from, To: to}, sales.Period{From: from, To: from})
		s.ok(err)
		fmt.Fprintf(&b, "%s %+v %d %d %+v\n", from, rep.Total, rep.Active, rep.Paying, rep.Plans)
	}
	return b.String()
}

// forget removes all that was counted.
func (s *shop) forget() {
	s.t.Helper()
	s.ok(s.st.Store.Update(s.t.Context(), func(tx store.Tx) error {
		for _, kind := range []string{"sales", "sales_counted", "sales_end", "sales_license", "near"} {
			for e, err := range kept.All(s.t.Context(), tx, store.EntryQuery{Kind: kind}) {
				if err == nil {
					err = tx.DeleteEntries(s.t.Context(), kind, e.Key)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// truth fails unless the totals and the list of what is due are those of the licenses.
func (s *shop) truth() {
	s.t.Helper()
	p, before := sales.PeriodOf("week", time.Now())
	rep, err := inner.Of(s.h.Service()).Sales().Report(s.t.Context(), p, before)
	s.ok(err)
	force, ends := map[string]int64{}, map[string]int64{}
	var listed []string
	paying, cursor := int64(0), ""
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for {
		page, err := s.h.Service().List(s.t.Context(), api.ListLicensesParams{Cursor: cursor, Limit: 200})
		s.ok(err)
		for _, l := range page.Data {
			trial := strings.HasPrefix(l.Reference, "trial:")
			if l.Status == api.LicenseRevoked || l.ExpiresAt != nil && !time.Now().Before(l.ExpiresAt.Add(time.Duration(l.GraceSeconds)*time.Second)) {
				continue
			}
			force[l.PlanID]++
			if l.Reference != "" && !trial {
				paying++
			}
			end := l.ExpiresAt
			if end == nil {
				end = l.UpdatesUntil
			}
			all := []*time.Time{end}
			for _, c := range l.Upcoming {
				all = append(all, c.EndsAt)
			}
			for _, end := range all {
				if end != nil && !trial && !end.Before(today) && end.Before(today.AddDate(0, 0, 31)) {
					ends[l.PlanID]++
					listed = append(listed, end.UTC().Format(time.RFC3339)+" "+l.ID)
				}
			}
		}
		if cursor = page.NextCursor; !page.HasMore {
			break
		}
	}
	got, due := map[string]int64{}, map[string]int64{}
	for _, p := range rep.Plans {
		if p.InForce != 0 {
			got[p.Plan] = p.InForce
		}
		if p.DueSoon != 0 {
			due[p.Plan] = p.DueSoon
		}
	}
	if !maps.Equal(got, force) || rep.Paying != paying || !maps.Equal(due, ends) {
		s.t.Errorf("%v in force, %d paying, due %v; and by the licenses %v, %d, %v", got, rep.Paying, due, force, paying, ends)
	}
	soon, err := inner.Of(s.h.Service()).Sales().Soon(s.t.Context())
	s.ok(err)
	var shown []string
	for _, d := range soon.Due {
		shown = append(shown, d.At.UTC().Format(time.RFC3339)+" "+d.License.ID)
	}
	if slices.Sort(listed); !slices.Equal(shown, listed[:min(len(listed), 20)]) {
		s.t.Errorf("due are %q, and by the licenses %q", shown, listed)
	}
}
