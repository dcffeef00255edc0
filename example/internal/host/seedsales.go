package host

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const (
	seedPurchases = 30
	seedTrials    = 6
	seedUnsold    = 4                                           // purchases without a license: two are not paid, two name a plan that does not exist
	seedBuyers    = seedPurchases - seedUnsold - 2 + seedTrials // with a license; two of them bought their trial

	seedLicenses = seedCount + seedBuyers
)

// The plans of the samples.
const (
	monthlyPlan = "price_atlas_month"
	yearlyPlan  = "price_atlas_pro_year"
	trialPlan   = "atlas_trial"
	missingPlan = "price_beacon_month" // does not exist
)

// seedBought are the trials that were bought ten days later, by the number of the
// purchase.
var seedBought = map[int]int{7: 1, 16: 3}

// seedBuyer returns the customer of a purchase or, after these, of a trial.
func seedBuyer(i int) (id, name string) {
	words := []string{"Amber", "Birch", "Coral", "Dune", "Elm", "Fjord"}
	kinds := []string{"Studio", "Clinic", "School", "Bakery", "Garage", "Theatre"}
	name = words[i%6] + " " + kinds[i/6]
	return strings.ReplaceAll(strings.ToLower(name), " ", "-"), name
}

// plans creates the plans.
func (s *seeding) plans() error {
	for _, p := range []api.PutPlanParams{
		{ID: monthlyPlan, ProductID: "atlas", Name: "Atlas monthly", Duration: api.Duration{Months: 1}, Terms: api.Terms{GraceSeconds: 3 * 86400, MaxActivations: new(int64(2))}},
		{ID: yearlyPlan, ProductID: "atlas-pro", Name: "Atlas Pro yearly", Duration: api.Duration{Years: 1}, Terms: api.Terms{GraceSeconds: 14 * 86400, MaxActivations: new(int64(5)), Entitlements: map[string]any{"export": true}}},
		{ID: trialPlan, ProductID: "atlas", Name: "Atlas trial", Duration: api.Duration{Days: 14}, Terms: api.Terms{MaxActivations: new(int64(1))}},
	} {
		if _, err := selling.New(s.rules).PutPlan(s.ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// sales returns what happens to purchases and trials on a day, relative to today.
func (s *seeding) sales(offset int) (steps []step) {
	date := s.today.Add(time.Duration(offset) * day)
	add := func(i int, do func() error) {
		steps = append(steps, step{date.Add(time.Duration(8*60+i*97%600) * time.Minute), do})
	}
	for j := range seedTrials {
		if seedTried(j) == offset {
			add(j, func() error { return s.try(j) })
		}
	}
	for i := range seedPurchases {
		if age := offset - seedSold(i); age >= 0 {
			if e, ok := s.sale(i, age); ok {
				add(i, func() error { return s.report(i, age, e) })
			}
		}
	}
	return steps
}

// seedTried and seedSold return the days, relative to today, on which a trial and a
// purchase begin.
func seedTried(j int) int { return j*13 - 80 }

func seedSold(i int) int {
	if j, ok := seedBought[i]; ok {
		return seedTried(j) + 10
	}
	return i*29/10 - 87
}

// sale returns what the shop reports about a purchase at an age in days, if anything.
func (s *seeding) sale(i, age int) (e api.RecordPurchaseParams, ok bool) {
	monthly := i%3 != 2
	switch {
	case age == 0:
		e.CustomerID, e.Name = seedBuyer(i)
		mail := "shop@" + e.CustomerID + ".example"
		e.Metadata = map[string]*string{"email": &mail}
		if e.PlanID = yearlyPlan; monthly {
			e.PlanID = monthlyPlan
		}
		if unsold := i - (seedPurchases - seedUnsold); unsold >= 0 && unsold%2 == 0 {
			e.PlanID = missingPlan
		} else if unsold >= 0 {
			return e, true // not paid
		}
		e.State = api.PurchaseActive
	case i == 4 && age == 20, i == 13 && age == 20:
		e.State, e.Reason = api.PurchaseEnded, "The customer canceled"
	case i == 10 && age == 45:
		e.State, e.Reason = api.PurchasePaused, "The payment failed"
	case monthly && age%30 == 0 && i < seedPurchases-seedUnsold && i != 4 && i != 13 && i != 10: // renewed
		e.State = api.PurchaseActive
	default:
		return e, false
	}
	if monthly && e.State == api.PurchaseActive {
		e.Until = api.To(s.today.Add(time.Duration(seedSold(i)+age/30*30+31) * day))
	}
	return e, true
}

// report reports an event of a purchase, and activates a new license.
func (s *seeding) report(i, age int, e api.RecordPurchaseParams) error {
	e.Reference = fmt.Sprintf("shop:%d", 2001+i)
	if j, ok := seedBought[i]; ok {
		e.LicenseID, e.PlanID = s.trials[j].ID, monthlyPlan
		e.CustomerID = s.trials[j].CustomerID
		e.Name = ""
	}
	f, err := selling.New(s.rules).RecordPurchase(s.ctx, e)
	if err != nil || f.License == nil || age > 0 {
		return err
	}
	return s.activate(*f.License, fmt.Sprintf("shop-%02d", i))
}

// try starts a trial.
func (s *seeding) try(j int) error {
	id, name := seedBuyer(seedPurchases + j)
	t, err := selling.New(s.rules).StartTrial(s.ctx, api.StartTrialParams{PlanID: trialPlan, CustomerID: id, Name: name, Subjects: []string{"device:" + id}})
	if err != nil {
		return err
	}
	s.trials[j] = t.License
	return s.activate(t.License, fmt.Sprintf("trial-%02d", j))
}
