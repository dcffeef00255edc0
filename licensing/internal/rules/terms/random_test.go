package terms_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// sec returns an instant in seconds after the epoch; negative: none.
func sec(n int) time.Time {
	if n < 0 {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func counts(n int64) *int64 { return &n }

func text(s string) *string { return &s }

// horizon is after everything that happens in a random set, in seconds.
const horizon = 45

// randomPurchase returns a purchase with times between 1 and 12 seconds.
func randomPurchase(r *rand.Rand, reference string) terms.Purchase {
	p := terms.Purchase{Reference: reference, Quantity: int64(r.IntN(4)), FirstActive: sec(1 + r.IntN(8))}
	p.Plan = api.Plan{
		ID: pick(r, "pro", "pro", "plus", "pro-2"), ProductID: "app", UntilEnds: api.UntilEndsLicense,
		Line: pick(r, "", "", "", "pro"), Duration: api.Duration{Seconds: pick(r, 0, 2, 3, 3, 5)},
	}
	p.Plan.GraceSeconds = pick[int64](r, 0, 0, 1, 2)
	p.Plan.MaxActivations = pick(r, nil, counts(0), counts(1), counts(5), counts(5))
	p.Plan.Entitlements = map[string]any{}
	for _, name := range []string{"export", "sso", "projects"} {
		if v := pick[any](r, nil, nil, true, 3.0, 4.0, -2.0, "basic"); v != nil {
			p.Plan.Entitlements[name] = v
		}
	}
	for _, name := range []string{"calls", "pack"} {
		if r.IntN(2) == 0 {
			if p.Plan.Meters == nil {
				p.Plan.Meters = map[string]api.Meter{}
			}
			p.Plan.Meters[name] = api.Meter{Limit: pick(r, nil, counts(0), counts(10), counts(10), counts(30)), Soft: r.IntN(3) == 0, Per: pick(r, "", "", api.PerMonth)}
		}
	}
	switch r.IntN(8) {
	case 0, 1, 2:
		p.Plan.Kind, p.Plan.ID = api.PlanAddOn, pick(r, "seats", "addon")
		p.Plan.Line = pick(r, "", "", "pro", "seats")
	case 3:
		p.Plan.UntilEnds = api.UntilEndsUpdates
		fallthrough
	default:
		p.Plan.LeaseSeconds, p.Plan.OfflineSeconds = pick(r, nil, counts(60)), pick(r, nil, counts(0), counts(90))
	}
	if r.IntN(3) == 0 {
		p.UntilSaid, p.Until = true, pick(r, sec(-1), sec(1+r.IntN(12)), sec(1+r.IntN(12)))
	}
	randomStart(r, &p)
	if r.IntN(5) == 0 {
		p.EndedAt = sec(1 + r.IntN(12))
	}
	if r.IntN(6) == 0 {
		p.RefundedAt = sec(1 + r.IntN(12))
	}
	if r.IntN(5) == 0 {
		p.PausedAt = sec(1 + r.IntN(12))
	}
	if r.IntN(12) == 0 {
		p.Reference = "trial:" + reference
	}
	if r.IntN(15) == 0 {
		p.Plan.ProductID = "other"
	}
	if r.IntN(3) == 0 {
		p.Name = "name of " + reference
	}
	if r.IntN(3) == 0 {
		p.Metadata = map[string]*string{pick(r, "a", "b"): pick(r, nil, text("x"), text(reference))}
	}
	return p
}

// randomStart makes the duration of some purchases begin with the first activation.
func randomStart(r *rand.Rand, p *terms.Purchase) {
	if r.IntN(4) > 0 {
		return
	}
	if p.Plan.Starts = api.StartsActivation; r.IntN(2) == 0 {
		p.Activated = sec(1 + r.IntN(12))
	}
}

func randomOwn(r *rand.Rand) terms.Purchase {
	is := terms.Terms{
		ProductID: "app", Name: "own", PlanID: pick(r, "", "pro"), ExpiresAt: pick(r, sec(-1), sec(2+r.IntN(8))), UpdatesUntil: pick(r, sec(-1), sec(-1), sec(4)),
		GraceSeconds: pick[int64](r, 0, 2), MaxActivations: pick[int64](r, -1, 2, 6), LeaseSeconds: -1, OfflineSeconds: 7,
		Entitlements: map[string]any{"export": true}, Meters: pick(r, nil, map[string]api.Meter{"calls": {Limit: counts(4), Per: api.PerMonth}}),
	}
	created := sec(pick(r, 1, 4))
	if r.IntN(4) == 0 {
		is.ExpiresAt, is.UpdatesUntil = time.Time{}, time.Time{}
		p := terms.OwnAwaiting("lic_1", api.Plan{ID: "pro", Duration: api.Duration{Seconds: 3}, UntilEnds: pick(r, api.UntilEndsLicense, api.UntilEndsUpdates), Starts: api.StartsActivation}, created, is)
		p.Activated = pick(r, sec(-1), sec(1+r.IntN(12)))
		return p
	}
	return terms.Own("lic_1", pick(r, "", "pro"), created, is)
}

// randomSet returns n purchases of a license and the product set by hand.
func randomSet(r *rand.Rand, n int) ([]terms.Purchase, string) {
	set := make([]terms.Purchase, 0, n)
	own := r.IntN(4) == 0
	for i := range n {
		if own && i == 0 {
			set = append(set, randomOwn(r))
			continue
		}
		set = append(set, randomPurchase(r, string(rune('a'+i))))
	}
	if !own && r.IntN(4) > 0 {
		set[0].Made = true
	}
	r.Shuffle(n, func(i, j int) { set[i], set[j] = set[j], set[i] })
	return set, pick(r, "app", "app", "app", "other")
}

// compare compares the terms of a set with the model at each instant of a second, and
// a millisecond before it.
func compare(set []terms.Purchase, product string) error {
	g, m := terms.GrantOf(set, product), modelOf(set, product)
	for n := range 2 * horizon {
		t := sec(n / 2).Add(time.Duration(n%2-1) * time.Millisecond)
		is, ok := g.At(t)
		want := m.at(t.UnixMilli())
		if ok != (want != nil) {
			return fmt.Errorf("at %v: known: %v, want %v", t, ok, want != nil)
		}
		if !ok {
			continue
		}
		if wrong := differ(sheetOf(is), want); wrong != "" {
			return fmt.Errorf("at %v: %s", t.Format("05.000"), wrong)
		}
		c := m.castAt(t.UnixMilli())
		if err := compareStandings(g, m, c, want, t); err != nil {
			return err
		}
		end := is.ExpiresAt.Add(time.Duration(is.GraceSeconds) * time.Second)
		if valid := is.ExpiresAt.IsZero() || t.Before(end); valid != m.valid(c, t.UnixMilli()) && m.ever(c) {
			return fmt.Errorf("at %v: valid: %v", t.Format("05.000"), valid)
		}
		if s := (terms.Suspension{}).Follow(g, t); s.Suspended() != c.suspended || s.By != c.by {
			return fmt.Errorf("at %v: suspended by %q, want %q", t, s.By, c.by)
		}
	}
	return nil
}

func compareStandings(g *terms.Grant, m *model, c cast, want sheet, t time.Time) error {
	at := t.UnixMilli()
	paid := false
	for _, b := range c.bases {
		paid = paid || !b.trial && m.countsByTime(b, at)
	}
	for _, b := range m.all {
		is, s := terms.Standing{}, g.Standing(b.p.Reference, t)
		switch {
		case b.misfit:
			is.Waiting = api.WaitingOtherProduct
		case b.full || c.full[b]:
			is.Waiting = api.WaitingLicenseFull
		default:
			for _, x := range c.bases {
				is.Counts = is.Counts || x == b && m.countsByTime(b, at) && (!b.trial || !paid)
			}
			for _, x := range c.addons {
				is.Counts = is.Counts || x == b && m.countsByTime(b, at)
			}
			if start, end := m.times(b); true {
				is.StartsAt, is.EndsAt = sec(-1), sec(-1)
				if start > 0 {
					is.StartsAt = time.UnixMilli(start).UTC()
				}
				if b.standsIn && b.paused >= 0 {
					end = min(end, b.paused)
				}
				if end != forever {
					is.EndsAt = time.UnixMilli(end).UTC()
				}
			}
			is.Governs = b.p.Reference == want["reference"] || b.own && want["reference"] == ""
		}
		if s != is {
			return fmt.Errorf("at %v: %s stands %+v, want %+v", t.Format("05.000"), b.p.Reference, s, is)
		}
	}
	return nil
}

func show(set []terms.Purchase) string {
	var b strings.Builder
	for _, p := range set {
		line, _ := json.Marshal(p)
		fmt.Fprintf(&b, "\n%s", line)
	}
	return b.String()
}

var all = flag.Bool("all", false, "try all orders and seeds; otherwise a part of them")

// numSeeds returns how many of the given number of seeds to try.
func numSeeds(n int) int {
	if *all {
		return n
	}
	return n / 3
}

func TestRandomSetsAreAsTheModelSays(t *testing.T) {
	n := numSeeds(600)
	for seed := range n {
		r := rand.New(rand.NewPCG(1, uint64(seed)))
		set, product := randomSet(r, 1+r.IntN(6))
		if err := compare(set, product); err != nil {
			t.Fatalf("seed %d, product %q: %v%s", seed, product, err, show(set))
		}
	}
}
