package license_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// comparable returns what two services must say alike of a license and its purchases.
func (s *seller) comparable(t *testing.T, id string) string {
	t.Helper()
	l := s.mustGet(t, id)
	l.Revision, l.Generation, l.UpdatedAt = 0, 0, time.Time{}
	page, err := selling.New(s.Service).ListPurchases(t.Context(), api.ListPurchasesParams{LicenseID: id})
	is.New(t).NoErr(err)
	list := page.Data
	out := string(record.Encode(l))
	for _, f := range list {
		f.License, f.UpdatedAt = nil, time.Time{}
		out += "\n" + string(record.Encode(f))
	}
	waiting, _, err := inner.Of(s.Service).Purchases().WaitingPurchases(t.Context(), 0)
	is.New(t).NoErr(err)
	return fmt.Sprint(out, "\n", waiting, " wait")
}

// rows returns the licenses of a service as an export writes them.
func (s *seller) rows(t *testing.T) string {
	t.Helper()
	var rows bytes.Buffer
	is.New(t).NoErr(s.Export(t.Context(), &rows, api.ListLicensesParams{}))
	return rows.String()
}

// moved returns a service that has the licenses of another, from rows.
func (s *seller) moved(t *testing.T, rows string) *seller {
	t.Helper()
	to := newMeterShop(t, memory.New())
	to.now = s.now
	for _, r := range importAll(t, to.Service, rows) {
		if r.Result != api.ImportCreated {
			t.Fatalf("%+v\n%s", r, rows)
		}
	}
	return to
}

// suspendOrReinstate changes who suspends a license, by hand.
func (s *seller) suspendOrReinstate(t *testing.T, r *rand.Rand, id string) {
	t.Helper()
	do := []func(api.ChangeStateParams) error{
		func(p api.ChangeStateParams) error { _, err := s.Suspend(t.Context(), p); return err },
		func(p api.ChangeStateParams) error { _, err := s.Reinstate(t.Context(), p); return err },
	}
	if n := r.IntN(6); n < 2 {
		_ = do[n](api.ChangeStateParams{ID: id, Reason: []string{"", "fraud"}[r.IntN(2)]}) // it may be so already
	}
}

// TestMovedPurchases moves licenses with random purchases and edits by hand to another
// service, as rows, some time later. What follows is the same in both: immediately, as time
// passes, and after every further event.
func TestMovedPurchases(t *testing.T) {
	for seed := range uint64(max(70, *numHistories)) {
		r := rand.New(rand.NewPCG(seed, 21))
		from := newMeterShop(t, memory.New())
		from.now = onDay(float64(r.IntN(60)))
		id := ""
		if seed%3 == 0 {
			p := plain()
			p.ProductID, p.CustomerID, p.MaxActivations, p.ExpiresAt = "prod_editor", "cus_ada", ptr[int64](1), ptr(onDay(200))
			l, err := from.Create(t.Context(), p)
			is.New(t).NoErr(err)
			id = l.ID
		}
		sales := randomSales(r)
		tell := func(s *seller, e bought) {
			e.CustomerID, e.LicenseID = "cus_ada", id
			if e.reference == "a" && seed%3 != 0 {
				e.LicenseID = ""
			}
			if e.At.After(s.now.Add(24 * time.Hour)) {
				e.At = s.now
			}
			if f := s.tell(t, e.reference, e.event); id == "" {
				id = f.LicenseID
			}
		}
		half := 1 + r.IntN(len(sales))
		for _, e := range sales[:half] {
			tell(from, e)
			from.now = from.now.Add(time.Duration(r.IntN(20*24)) * time.Hour)
			from.editTerms(t, r, id)
			from.suspendOrReinstate(t, r, id)
			if f := from.tell(t, e.reference, event{At: onDay(0)}); f.License != nil && r.IntN(8) == 0 {
				from.tell(t, e.reference, event{At: from.now, PlanID: "price_unknown"})
			}
		}
		rows := from.rows(t)
		if r.IntN(2) == 0 {
			from.now = from.now.Add(time.Duration(r.IntN(60*24)) * time.Hour)
		}
		to := from.moved(t, rows)
		same := func(when string) {
			if a, b := from.comparable(t, id), to.comparable(t, id); a != b {
				t.Fatalf("seed %d, %s:\n%s\nmoved:\n%s\nby\n%s", seed, when, a, b, rows)
			}
			to.check(t, id)
		}
		same("moved")
		events, err := to.store.Events(t.Context(), store.EventQuery{Subject: id, Descending: true, Limit: 1})
		is.New(t).NoErr(err)
		l := to.mustGet(t, id)
		if l.Key = ""; string(record.Encode(eventData(t, events[0]).License)) != string(record.Encode(l)) {
			t.Fatalf("seed %d: the event has %s", seed, events[0].Data)
		}
		last := sales[0] // each purchase has one more event
		for i, e := range append(sales[half:], last, sold("z", "seats", 0)) {
			e.At = from.now.Add(-time.Duration(r.IntN(100)) * time.Hour)
			tell(from, e)
			tell(to, e)
			same(fmt.Sprint("after event ", i))
			from.now = from.now.Add(time.Duration(r.IntN(40*24)) * time.Hour)
			to.now = from.now
			same(fmt.Sprint("some time after event ", i))
		}
	}
}

// TestRowsThatAreOld: a number of seats set by hand gives way to a change that came between
// the export and the import.
func TestRowsThatAreOld(t *testing.T) {
	is := is.New(t)
	from := newMeterShop(t, memory.New())
	id := from.sell(t, []bought{sold("a", "free", 0), sold("b", "month", 0)}, []int{0, 1})
	_, err := from.Update(t.Context(), api.UpdateLicenseParams{ID: id, MaxActivations: api.To[int64](50)})
	is.NoErr(err)
	rows := from.rows(t)
	from.now = onDay(40)
	to := from.moved(t, rows)
	is.Equal(to.comparable(t, id), from.comparable(t, id))
	is.Equal(*to.mustGet(t, id).MaxActivations, int64(1))
}

// TestRowsOfPurchases: rows that no export writes are refused with the member at fault,
// and nothing of them is stored.
func TestRowsOfPurchases(t *testing.T) {
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0)}, []int{0})
	row := s.rows(t)
	for name, test := range map[string]struct{ from, to, field string }{
		"unknown member":      {`"reference":"a","state"`, `"reference":"a","price":1,"state"`, "purchases/0"},
		"bad reference":       {`"reference":"a","state"`, `"reference":" ","state"`, "purchases/0/reference"},
		"state":               {`"value":"active"`, `"value":"ended"`, "purchases/0/state"},
		"no product":          {`"product_id":"prod_editor","revision"`, `"product_id":"","revision"`, "purchases/0/terms/value/product_id"},
		"seats":               {`"max_activations":5,"name":"year"`, `"max_activations":-5,"name":"year"`, "purchases/0/terms/value/max_activations"},
		"the future":          {`"first_active":"2026`, `"first_active":"2036`, "purchases/0/at"},
		"the past":            {`"first_active":"2026`, `"first_active":"1936`, "purchases/0/at"},
		"a subject":           {`"reference":"a","state"`, `"reference":"a","subjects":["x"],"state"`, "purchases/0/subjects"},
		"a list":              {`"exported_at"`, `"by_hand":{"entitlements":{"a":[]}},"exported_at"`, "by_hand/entitlements/a"},
		"an unknown field":    {`"exported_at"`, `"by_hand":{"price":1},"exported_at"`, "by_hand"},
		"an unknown owner":    {`"exported_at"`, `"suspension":{"owner":1},"exported_at"`, "suspension"},
		"an end of no length": {`"exported_at"`, `"by_hand":{"grace":-1},"exported_at"`, "by_hand/grace"},
		"a name set by hand":  {`"exported_at"`, `"by_hand":{"name":"\u0000"},"exported_at"`, "by_hand/name"},
		"metadata by hand":    {`"exported_at"`, `"by_hand":{"metadata":{"a":"` + strings.Repeat("x", 501) + `"}},"exported_at"`, "by_hand/metadata/a"},
		"a name removed":      {`"exported_at"`, `"by_hand":{"entitlements":{"\u0000":null}},"exported_at"`, "by_hand/entitlements"},
		"seats by hand":       {`"exported_at"`, `"by_hand":{"seats":-1000001},"exported_at"`, "by_hand/seats"},
		"a reason with NUL":   {`"exported_at"`, `"suspension":{"held":true,"held_reason":"\u0000"},"exported_at"`, "suspension/held_reason"},
		"a long reason":       {`"exported_at"`, `"suspension":{"by":"a","by_reason":"` + strings.Repeat("x", 300_000) + `"},"exported_at"`, "suspension/by_reason"},
		"a customer's reason": {`"exported_at"`, `"suspension":{"held_by_customer":true,"customer_reason":" x"},"exported_at"`, "suspension/customer_reason"},
		"by nobody":           {`"exported_at"`, `"suspension":{"by":"\u0000"},"exported_at"`, "suspension/by"},
		"lifted":              {`"exported_at"`, `"suspension":{"lifted":["a",""]},"exported_at"`, "suspension/lifted"},
		"an own reference":    {`"reference":"a","state"`, `"reference":"license:x","state"`, "purchases/0/reference"},
		"a row's reference":   {`"reference":"a","purchases":[`, `"reference":"license:x","purchases":[`, "reference"},
		"former customers":    {`"reference":"a","state"`, `"reference":"a","former":{"\u0000":true},"state"`, "purchases/0/former"},
		"another license":     {`"reference":"a","state"`, `"reference":"a","not_for":"\u0000","state"`, "purchases/0/not_for"},
		"twice":               {`"purchases":[`, `"purchases":[{"reference":"a"},`, "purchases/1/reference"},
		"too long":            {`"purchases":[`, `"purchases":[` + strings.Repeat(`{},`, 1<<20/3), ""},
		"none":                {`"purchases":[`, `"purchases":[],"by_hand":{"grace":1}}` + "\n" + `{"purchases":[`, "purchases"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.True(strings.Contains(row, test.from))
			to := newShop(t, memory.New())
			before := archiveOf(t, to.store)
			results := importAll(t, to.Service, strings.Replace(row, test.from, test.to, 1))
			is.Equal(results[0].Result, api.ImportRefused)
			is.Equal(results[0].Errors[0].Field, test.field)
			is.Equal(archiveOf(t, to.store), before)
		})
	}
	is := is.New(t)
	s.tell(t, "a", event{At: onDay(0.2), State: "paused"})
	paused := s.rows(t)
	is.True(strings.Contains(paused, `"suspension":{"by":"a"}`))
	held := s.moved(t, strings.Replace(paused, `,"suspension":{"by":"a"}`, "", 1)) // the state is that of an operator
	held.tell(t, "a", event{At: onDay(0.3), State: "active"})
	is.Equal(held.mustGet(t, id).Status, api.LicenseSuspended)
	for _, row := range []string{paused, strings.Replace(paused, `{"by":"a"}`, `{}`, 1)} { // a pause suspends
		to := s.moved(t, row)
		is.Equal(to.mustGet(t, id).Status, api.LicenseSuspended)
		to.tell(t, "a", event{At: onDay(0.3), State: "active"})
		is.Equal(to.mustGet(t, id).Status, api.LicenseActive)
	}

	to := newShop(t, memory.New())
	limited := to.As(license.Caller{Products: []string{"prod_editor"}})
	byKey := strings.Replace(row, `"id":"`+id+`",`, "", 1)
	other := importAll(t, limited, strings.Replace(byKey, `"product_id":"prod_editor","revision"`, `"product_id":"prod_other","revision"`, 1))
	is.Equal([]string{other[0].Result, other[0].Errors[0].Field}, []string{api.ImportRefused, "purchases/0/terms/value/product_id"})
	is.Equal(importAll(t, limited, byKey)[0].Result, api.ImportCreated)
}

// TestRowsDoNotBringWhatTheServiceSets: a row cannot say for whom or for what a purchase waits.
func TestRowsDoNotBringWhatTheServiceSets(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0)}, []int{0})
	row := s.rows(t)
	to := s.moved(t, strings.Replace(row, `"reference":"a","state"`, `"reference":"a","customer_id":"\u0000","waits":"\u0000","state"`, 1))
	is.Equal(to.rows(t), row)
	is.Equal(to.shown(t, id), s.shown(t, id))
}

// TestALicenseWithManyPurchasesMoves: what an export writes, an import reads.
func TestALicenseWithManyPurchasesMoves(t *testing.T) {
	const most = 1100
	stores := map[string]func(*testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memory.New() },
		"sqlite": func(t *testing.T) store.Store {
			st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
			is.New(t).NoErr(err)
			t.Cleanup(func() { _ = st.Close() })
			return st
		},
	}
	from := newShop(t, memory.New())
	from.sell(t, []bought{sold("a", "year", 0), sold("b:0", "sso", 0)}, []int{0, 1})
	var document map[string]any
	is.New(t).NoErr(json.Unmarshal([]byte(from.rows(t)), &document))
	purchases := document["purchases"].([]any)
	for i := 1; len(purchases) < most; i++ {
		other := maps.Clone(purchases[1].(map[string]any))
		other["reference"] = fmt.Sprint("b:", i)
		purchases = append(purchases, other)
	}
	document["purchases"] = purchases
	row := string(record.Encode(document))
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			first, second := newShop(t, open(t)), newShop(t, open(t))
			first.now, second.now = from.now, from.now
			is.Equal(importAll(t, first.Service, row)[0].Result, api.ImportCreated)
			out := first.rows(t)
			is.Equal(strings.Count(out, `"reference":"b:`), most-1) // beside "a"
			is.Equal(importAll(t, second.Service, out)[0].Result, api.ImportCreated)
			is.Equal(second.rows(t), out)
		})
	}
}

// TestRowsOfTrialsBindSubjectsOfTheirProducts: a caller that is limited to products can move
// its trials, and can neither use up nor take over those of another product.
func TestRowsOfTrialsBindSubjectsOfTheirProducts(t *testing.T) {
	is := is.New(t)
	from, to := newShop(t, memory.New()), newShop(t, memory.New())
	start := func(s *seller, product string) string {
		plan := api.PutPlanParams{ID: product, ProductID: product, Duration: api.Duration{Months: 1}}
		_, err := selling.New(s.Service).PutPlan(t.Context(), plan)
		is.NoErr(err)
		trial, err := selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: product, CustomerID: "cus_ada"})
		is.NoErr(err)
		return trial.License.ID
	}
	start(from, "mine")
	start(from, "other")
	rows := map[string]string{} // by product; a caller that is limited cannot choose an ID
	for row := range strings.Lines(from.rows(t)) {
		product := regexp.MustCompile(`"product_id":"(\w+)"`).FindStringSubmatch(row)[1]
		rows[product] = regexp.MustCompile(`"id":"lic_\w+",`).ReplaceAllLiteralString(row, "")
	}
	subjects := regexp.MustCompile(`"subjects":\[[^]]*\]`)
	theirs := subjects.FindString(rows["other"])
	is.True(theirs != "")

	ofOther := start(to, "other")
	limited := to.As(license.Caller{Products: []string{"mine"}})
	refused := importAll(t, limited, subjects.ReplaceAllLiteralString(rows["mine"], theirs))[0]
	is.Equal(refused.Result, api.ImportRefused)
	is.Equal(refused.Errors[0].Field, "purchases/0/subjects")
	is.Equal(start(to, "other"), ofOther)
	moved := importAll(t, limited, rows["mine"])[0]
	is.Equal(moved.Result, api.ImportCreated)
	is.Equal(start(to, "mine"), moved.ID)
}

// TestMovedArchive: a license whose terms will change is the same at each later instant in
// the store to which an archive moved it, with the events of the clock.
func TestMovedArchive(t *testing.T) {
	is := is.New(t)
	from := newMeterShop(t, memory.New())
	id := from.sell(t, []bought{sold("a", "year", 0), sold("b", "seats", 0), sold("c", "more", 0), sold("d", "year2", 0.5), sold("e", "plus", 0.7)}, []int{0, 1, 2, 3, 4})
	_, err := from.Update(t.Context(), api.UpdateLicenseParams{ID: id, MaxActivations: api.To[int64](20), Entitlements: api.To(map[string]any{"projects": 9})})
	is.NoErr(err)
	is.True(len(from.mustGet(t, id).Upcoming) > 2)
	moved := memory.New()
	is.NoErr(store.Import(t.Context(), moved, strings.NewReader(archiveOf(t, from.store))))
	to := &seller{store: moved, now: from.now}
	to.Service = license.New(moved, license.Options{Now: func() time.Time { return to.now }})
	for day := range 800 {
		from.now = onDay(float64(day) + 0.5)
		to.now = from.now
		is.Equal(to.mustGet(t, id), from.mustGet(t, id))
		if day%50 == 0 {
			from.applyDue(t)
			to.applyDue(t)
		}
	}
	told := func(s *seller) (all []string) {
		events, err := s.store.Events(t.Context(), store.EventQuery{Subject: id})
		is.NoErr(err)
		for _, e := range events {
			all = append(all, fmt.Sprint(e.Seq, e.Type, e.Actor, string(e.Data)))
		}
		return all
	}
	is.Equal(told(to), told(from))
	is.Equal(len(told(to)), 5+1+2) // of sales, the edit and the clock
}

// applyDue stores the changes that have come.
func (s *seller) applyDue(t *testing.T) {
	t.Helper()
	_, err := inner.Of(s.Service).Licenses().ApplyDue(t.Context())
	is.New(t).NoErr(err)
}
