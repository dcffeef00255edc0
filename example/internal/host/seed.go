package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// The values of the sample licenses.
var (
	seedProducts  = []string{"atlas", "atlas-pro", "beacon"}
	seedCustomers = []string{"blue-harbour", "cedar-works", "delta-press", "lantern-labs", "north-quay", "open-meadow", "stone-bridge", "tall-ships"}
	seedCompanies = []string{"Blue Harbour Shipping", "Cedar Works Joinery", "Delta Press", "Lantern Labs", "North Quay Marine", "Open Meadow Farms", "Stone Bridge Architects", "Tall Ships Trust"}
	seedTeams     = []string{"design", "head office", "workshop", "warehouse", "field service"}
)

const (
	seedCount = 40 // licenses that were created by hand
	seedDays  = 88 // of history
	day       = 24 * time.Hour
)

// isFresh reports whether the store is empty.
func isFresh(ctx context.Context, h *licensing.Handler) (bool, error) {
	page, err := h.Service().List(ctx, api.ListLicensesParams{Limit: 1})
	if err != nil {
		return false, err
	}
	clients, err := h.Auth().ListClients(ctx, auth.ListClientsParams{Limit: 1})
	if err != nil {
		return false, err
	}
	return len(page.Data) == 0 && len(clients.Data) == 0, nil
}

// Seed fills a store with sample licenses, plans, purchases and trials, and three
// months of their history: activations, validations, refusals and what resolved them,
// renewals. It is the same on each day, up to the dates, and its events are in order
// of time. The history is made by the rules of the
// service, with a clock that begins in the past, in a store in memory, whose
// archive is then imported: that takes a tenth of the commits. st must be empty.
func Seed(ctx context.Context, st store.Store) error {
	history := memory.New()
	if err := play(ctx, history); err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := store.Export(ctx, history, &archive); err != nil {
		return err
	}
	return store.Import(ctx, st, &archive)
}

// play makes the history in st.
func play(ctx context.Context, st store.Store) error {
	today := time.Now().UTC().Truncate(day)
	now := today.Add(-seedDays * day)
	h := licensing.NewHandler(st, licensing.Options{Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
	s := &seeding{ctx: ctx, rules: h.Service(), random: rand.New(rand.NewPCG(7, 11)), now: &now, today: today}
	if err := s.plans(); err != nil {
		return fmt.Errorf("seed the plans: %w", err)
	}
	for offset := -seedDays; offset < 0; offset++ {
		steps := append(s.day(offset), s.sales(offset)...)
		slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
		for _, step := range steps {
			now = step.at
			if err := step.do(); err != nil {
				return fmt.Errorf("seed %s: %w", now.Format(time.DateTime), err)
			}
		}
	}
	now = time.Now()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return h.Run(ended) // stores what is counted in memory
}

// seeding is the state of Seed.
type seeding struct {
	ctx      context.Context
	rules    *license.Service
	random   *rand.Rand
	now      *time.Time
	today    time.Time
	licenses [seedCount]api.License // by number
	trials   [seedTrials]api.License
}

// A step is what happens at an instant.
type step struct {
	at time.Time
	do func() error
}

// seedLicense is the i-th license. Most run now; some have ended, some have
// yet to begin, and every fifth has no end.
func seedLicense(i int, today time.Time) api.CreateLicenseParams {
	at := i % len(seedCustomers)
	starts := today.Add(time.Duration(i*53%400-340) * day)
	p := api.CreateLicenseParams{
		Name:       seedCompanies[at],
		ProductID:  seedProducts[i/2%len(seedProducts)],
		CustomerID: seedCustomers[at],
		StartsAt:   &starts,
		Terms:      api.Terms{Entitlements: map[string]any{"export": true, "projects": 5 * (1 + i%4)}},
		Metadata:   map[string]string{"order": fmt.Sprintf("A-%04d", 1000+i), "email": "it@" + seedCustomers[at] + ".example"},
	}
	if i >= len(seedCustomers) {
		p.Name += ", " + seedTeams[i/len(seedCustomers)]
	}
	if i%3 != 1 {
		seats := int64(2 + i%4)
		p.MaxActivations = &seats
	}
	if i%5 != 0 {
		expires := starts.Add(365 * day)
		p.ExpiresAt = &expires
	}
	if e, ok := seedEpisodes[i]; ok {
		starts, seats := today.Add(-300*day), int64(2)
		p.StartsAt, p.ExpiresAt, p.MaxActivations = &starts, nil, &seats
		if e.code == api.VerdictExpired {
			expires := today.Add(time.Duration(e.from) * day)
			p.ExpiresAt = &expires
		}
	}
	return p
}

// seedBorn returns the day, relative to today, on which the i-th license is created.
func seedBorn(i int) int { return i*2 - seedDays + i*7%5 }

// An episode is a time, in days relative to today, in which a license is refused.
// After it, unless it reaches today, someone resolves it.
type episode struct {
	code      api.VerdictCode
	from, end int
}

// seedEpisodes are the episodes of licenses, by their number.
var seedEpisodes = map[int]episode{
	1: {api.VerdictActivationLimit, -61, -58}, 3: {api.VerdictActivationLimit, -40, -36}, 6: {api.VerdictActivationLimit, -5, 1},
	13: {api.VerdictActivationLimit, -3, 1}, 22: {api.VerdictActivationLimit, -2, 1},
	8: {api.VerdictExpired, -25, -22}, 11: {api.VerdictExpired, -48, -47}, 2: {api.VerdictExpired, -4, 1}, 17: {api.VerdictExpired, -1, 1},
	12: {api.VerdictSuspended, -20, -16}, 19: {api.VerdictSuspended, -6, 1},
	5: {api.VerdictProductMismatch, -30, -28}, 15: {api.VerdictProductMismatch, -2, 1},
}

// day returns what happens to the licenses that were created by hand on a day,
// relative to today.
func (s *seeding) day(offset int) (steps []step) {
	date := s.today.Add(time.Duration(offset) * day)
	for i := range seedCount {
		if seedBorn(i) == offset {
			steps = append(steps, step{date, func() (err error) {
				s.licenses[i], err = s.rules.Create(s.ctx, seedLicense(i, s.today))
				return err
			}})
		}
		if seedBorn(i) <= offset {
			at := date.Add(time.Duration(7*60+s.random.IntN(600)) * time.Minute)
			steps = append(steps, step{at, func() error { return s.use(i, offset) }})
		}
	}
	return steps
}

// use plays the use of the i-th license on a day.
func (s *seeding) use(i, offset int) error {
	l, e, age := s.licenses[i], seedEpisodes[i], offset-seedBorn(i)
	starts := l.StartsAt == nil || !s.now.Before(*l.StartsAt)
	if !starts || l.ExpiresAt != nil && !s.now.Before(*l.ExpiresAt) && e.code == "" {
		return nil // not in use
	}
	if few := l.MaxActivations != nil && *l.MaxActivations == 2; age == 0 || age == 2 || age == 5 && !few {
		if err := s.activate(l, fmt.Sprintf("pc-%02d-%d", i, age)); err != nil {
			return err
		}
	}
	if offset >= e.from && offset <= e.end && e.code != "" {
		return s.episode(l, e, offset)
	}
	for range s.random.IntN(5) + 1 {
		if _, err := s.rules.Validate(s.ctx, api.ValidateKeyParams{Key: l.Key, ProductID: l.ProductID, Fingerprint: fmt.Sprintf("pc-%02d-0", i)}); err != nil {
			return err
		}
	}
	return nil
}

// activate activates a machine. A license without a free seat refuses it.
func (s *seeding) activate(l api.License, machine string) error {
	from := s.rules.As(license.Caller{Address: fmt.Sprintf("203.0.113.%d", 7*len(l.CustomerID))})
	_, err := from.Activate(s.ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: machine, Name: "Workstation " + machine})
	if errors.Is(err, api.ErrDenied) {
		return nil
	}
	return err
}

// episode refuses a license, and resolves that on the last day.
func (s *seeding) episode(l api.License, e episode, offset int) error {
	if offset == e.end {
		var err error
		switch e.code {
		case api.VerdictActivationLimit:
			_, err = s.rules.Update(s.ctx, api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(5))})
		case api.VerdictExpired:
			_, err = s.rules.Renew(s.ctx, api.RenewLicenseParams{ID: l.ID, Duration: api.Duration{Years: 1}, Reason: "The invoice is paid"})
		case api.VerdictSuspended:
			_, err = s.rules.Reinstate(s.ctx, api.ChangeStateParams{ID: l.ID, Reason: "The card was replaced"})
		}
		return err
	}
	if e.code == api.VerdictSuspended && offset == e.from {
		if _, err := s.rules.Suspend(s.ctx, api.ChangeStateParams{ID: l.ID, Reason: "The payment failed"}); err != nil {
			return err
		}
	}
	from := s.rules.As(license.Caller{Address: fmt.Sprintf("198.51.100.%d", 20+len(e.code))})
	for range s.random.IntN(4) + 1 {
		if e.code == api.VerdictActivationLimit {
			for _, machine := range []string{"studio-mac", "spare-laptop", "new-laptop"} {
				if err := s.activate(l, machine); err != nil {
					return err
				}
			}
			continue
		}
		p := api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc-" + l.CustomerID}
		if e.code == api.VerdictProductMismatch {
			p.ProductID = "lumen"
		}
		if _, err := from.Validate(s.ctx, p); err != nil {
			return err
		}
	}
	return nil
}
