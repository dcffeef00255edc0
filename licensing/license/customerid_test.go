package license_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/leave"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func (s *seller) createFor(t *testing.T, customer string) api.License {
	t.Helper()
	l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: customer, ProductID: "prod_editor", CustomerID: customer})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestChangeCustomerIDStopped: a change of the ID of a customer may stop after any of its
// Updates. Until it is finished each license is one of the two IDs, and all keys and
// activations work; a repeated call finishes it, and says what it did. The ID is that of
// another customer, so the two become one.
func TestChangeCustomerIDStopped(t *testing.T) {
	const own = 2*50 + 1
	change := api.ChangeCustomerIDParams{CustomerID: "cus_old", To: "cus_new", Reason: "bought"}
	for n := 0; ; n++ {
		is := is.New(t)
		ctx := t.Context()
		st := &haltingStore{Store: storetest.Twice(memory.New()), left: unhalted}
		s := newSeller(t, st)
		var keys []string
		for i := range own {
			l := s.createFor(t, "cus_old")
			keys = append(keys, l.Key)
			_, err := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
			is.NoErr(err)
		}
		other := s.createFor(t, "cus_new")
		bought := s.tell(t, "shop:1", event{At: onDay(0), CustomerID: "cus_old", PlanID: "pro", State: "active"}).License
		s.tell(t, "shop:2", event{At: onDay(0), CustomerID: "cus_old", PlanID: "nothing", State: "active"})
		s.tell(t, "shop:3", event{At: onDay(0), CustomerID: "cus_other", PlanID: "nothing", State: "active"})

		st.left = n
		done, err := s.ChangeCustomerID(ctx, change)
		st.left = unhalted
		under := func(id string) int {
			counts, err := s.Count(ctx, api.ListLicensesParams{CustomerID: id})
			is.NoErr(err)
			return int(counts.Total)
		}
		is.Equal(under("cus_old")+under("cus_new"), own+2)
		is.Equal(under("cus_old"), max(0, own+1-n*50))
		for i, key := range keys {
			v, err := s.Validate(ctx, api.ValidateKeyParams{Key: key, Fingerprint: fmt.Sprint("pc-", i)})
			is.NoErr(err)
			is.True(v.Valid)
		}
		finished := err == nil
		if finished {
			is.Equal(done, api.ChangedCustomerID{Licenses: own + 1, Purchases: 1})
		} else {
			is.True(errors.Is(err, errHalted))
			merges, err := inner.Of(s.Service).Leave().Merges(ctx, change)
			is.NoErr(err)
			is.Equal(merges, n == 0) // an interrupted change merged them already
			again, err := s.ChangeCustomerID(ctx, change)
			is.NoErr(err)
			is.Equal(done.Licenses+again.Licenses, own+1)
			is.Equal(done.Purchases+again.Purchases, 1)
		}
		is.Equal([]int{under("cus_old"), under("cus_new")}, []int{0, own + 2})
		is.Equal(s.mustGet(t, other.ID).Revision, int64(1))
		has, err := inner.Of(s.Service).Purchases().HasPurchases(ctx, "cus_old")
		is.NoErr(err)
		is.True(!has)

		// The shop may go on with the ID before.
		f := s.tell(t, "shop:1", event{At: onDay(1), CustomerID: "cus_old", State: "ended"})
		is.Equal(f.License.CustomerID, "cus_new")
		is.Equal(f.License.ID, bought.ID)
		f = s.tell(t, "shop:2", event{At: onDay(1), CustomerID: "cus_old", PlanID: "pro"})
		is.Equal(f.License.CustomerID, "cus_new")
		f = s.tell(t, "shop:3", event{At: onDay(1), PlanID: "pro"})
		is.Equal(f.License.CustomerID, "cus_other")

		events, err := s.Events(ctx, api.ListEventsParams{Subject: bought.ID, Types: []string{api.EventLicenseUpdated}, Limit: 1})
		is.NoErr(err)
		data, err := events.Data[0].Decode()
		is.NoErr(err)
		is.Equal(data.Reason, "bought")
		is.Equal(data.Changes["customer_id"], api.FieldChange{From: "cus_old", To: "cus_new"})
		if finished {
			is.Equal(n, 5) // three of licenses, one of purchases, and one that finds nothing
			return
		}
	}
}

// TestChangeCustomerIDOfASuspendedCustomer: after any number of Updates the licenses of a
// suspended customer are suspended, also under the new ID.
func TestChangeCustomerIDOfASuspendedCustomer(t *testing.T) {
	change := api.ChangeCustomerIDParams{CustomerID: "cus_old", To: "cus_new"}
	for n := 0; ; n++ {
		is := is.New(t)
		ctx := t.Context()
		st := &haltingStore{Store: memory.New(), left: unhalted}
		s := newSeller(t, st)
		for range 60 {
			s.createFor(t, "cus_old")
		}
		s.holdCustomer(t, "cus_old", true)
		st.left = n
		_, err := s.ChangeCustomerID(ctx, change)
		st.left = unhalted
		counts, countErr := s.Count(ctx, api.ListLicensesParams{})
		is.NoErr(countErr)
		is.Equal(int(counts.ByStatus[api.LicenseSuspended]), 60)
		finished := err == nil
		if !finished {
			_, err := s.ChangeCustomerID(ctx, change)
			is.NoErr(err)
		}
		is.Equal(s.createFor(t, "cus_new").Status, api.LicenseSuspended)
		is.Equal(s.createFor(t, "cus_old").Status, api.LicenseActive) // a new customer
		is.Equal(s.holdCustomer(t, "cus_new", false), 61)

		s.holdCustomer(t, "cus_old", true)
		_, err = s.ChangeCustomerID(ctx, change)
		is.Equal(refusedField(err), "to")
		s.holdCustomer(t, "cus_new", true)
		_, err = s.ChangeCustomerID(ctx, change)
		is.NoErr(err)
		if finished {
			return
		}
	}
}

// TestChangeCustomerIDOfALife: what is Zaphod's is Ford's then, also the trial that he
// cannot have again, and an erasure of Ford erases it.
func TestChangeCustomerIDOfALife(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := memory.New()
	s := newSeller(t, st)
	live(t, st, s)
	_, err := s.ChangeCustomerID(ctx, api.ChangeCustomerIDParams{CustomerID: "zaphod", To: "ford"})
	is.NoErr(err)
	list, err := s.List(ctx, api.ListLicensesParams{CustomerID: "ford"})
	is.NoErr(err)
	is.True(len(list.Data) > 3)
	for id, taken := range map[string]bool{"ford": true, "arthur": false} {
		trial, err := selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: id})
		is.NoErr(err)
		is.Equal(trial.Started, !taken)
	}
	deleted, err := selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "eddie"})
	is.NoErr(err)
	is.NoErr(s.Delete(ctx, api.DeleteLicenseParams{ID: deleted.License.ID}))
	_, err = s.ChangeCustomerID(ctx, api.ChangeCustomerIDParams{CustomerID: "eddie", To: "marvin"})
	is.NoErr(err)
	_, err = selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "marvin"})
	require.ErrorIs(t, err, api.ErrTrialTaken)
	for _, id := range []string{"ford", "zaphod"} { // the ID before has events of what was deleted
		_, err = s.EraseCustomer(ctx, id)
		is.NoErr(err)
	}
	is.Equal(mentions(t, st, append(ofPerson, "ford")...), nil)
}

func TestChangeCustomerIDRefusals(t *testing.T) {
	is := is.New(t)
	s := newSeller(t, memory.New())
	ctx := t.Context()
	for _, p := range []api.ChangeCustomerIDParams{{CustomerID: "", To: "cus_1"}, {CustomerID: "cus_1"}, {CustomerID: "cus_1", To: "cus_1"}, {CustomerID: "cus_1", To: "lic_1"}, {CustomerID: "cus_1", To: "cus_2 "}} {
		_, err := s.ChangeCustomerID(ctx, p)
		is.True(refusedField(err) != "") // p
	}
	limited := s.As(license.Caller{Products: []string{"prod_editor"}})
	_, err := limited.ChangeCustomerID(ctx, api.ChangeCustomerIDParams{CustomerID: "cus_1", To: "cus_2"})
	require.ErrorIs(t, err, api.ErrProductForbidden)
	require.ErrorIs(t, limited.ExportCustomer(ctx, new(bytes.Buffer), "cus_1"), api.ErrProductForbidden)
	is.Equal(refusedField(s.ExportCustomer(ctx, new(bytes.Buffer), "")), "customer_id")
	done, err := s.ChangeCustomerID(ctx, api.ChangeCustomerIDParams{CustomerID: "cus_unknown", To: "cus_2"})
	is.NoErr(err)
	is.Equal(done, api.ChangedCustomerID{})
}

// TestExportCustomer: an export of what is stored about a customer has each record that an
// erasure removes or blanks, unless the list of traces says that it is hidden. What the
// list has, a life has; a kind that is new in it is in the export, or the test fails.
func TestExportCustomer(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := memory.New()
	s := newSeller(t, st)
	gone, got := live(t, st, s)
	key := s.mustGet(t, got.ID).Key
	to := s.tell(t, "shop:7", event{At: onDay(400), CustomerID: "zaphod", PlanID: "basic", State: "active", Until: api.To(onDay(700))}).License
	s.tell(t, "shop:7:extra", event{At: onDay(400), CustomerID: "zaphod", PlanID: "extra", State: "active", Until: api.To(onDay(500)), LicenseID: to.ID})
	stored := func() map[string]string {
		all := map[string]string{}
		for q := (store.EntryQuery{}); ; {
			entries, err := st.Entries(ctx, q)
			is.NoErr(err)
			if len(entries) == 0 {
				return all
			}
			for _, e := range entries {
				all[e.Kind+" "+e.Key] = string(e.Data)
				q.AfterKind, q.After.ID = e.Kind, e.Key
			}
		}
	}
	last, err := st.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	is.NoErr(err)
	types := map[string]string{}
	blanked := func() (ids []string) { // of those before the erasure
		for after, more := int64(0), true; more; {
			events, err := st.Events(ctx, store.EventQuery{After: after})
			is.NoErr(err)
			for _, e := range events {
				types[e.ID] = e.Type
				if after = e.Seq; e.Seq <= last[0].Seq && bytes.Contains(e.Data, []byte(`"erased":true`)) && !bytes.Contains(e.Data, []byte(`"license"`)) {
					ids = append(ids, e.ID)
				}
			}
			more = len(events) > 0
		}
		return ids
	}

	var out bytes.Buffer
	is.NoErr(s.ExportCustomer(ctx, &out, "zaphod"))
	require.Contains(t, out.String(), key, "203.0.113.42", "zaphod-pc-8", "zaphod@example.com", "zaphod did not pay")
	require.NotContains(t, out.String(), gone.Key, "trillian@example.com", "trillian-job")
	var lists map[string]json.RawMessage
	is.NoErr(json.Unmarshal(out.Bytes(), &lists))
	has, kinds := map[string]bool{}, map[string]bool{}
	for _, text := range lists {
		var list []struct{ Kind, Key, ID string }
		if json.Unmarshal(text, &list) != nil {
			continue // not a list
		}
		for _, x := range list {
			has[strings.TrimSpace(x.Kind+" "+x.Key+x.ID)], kinds[x.Kind] = true, true
		}
		is.True(len(list) > 0)
	}
	hidden := leave.Hidden()
	traced, _ := leave.Traced()
	for _, kind := range traced {
		if kinds[kind] == slices.Contains(hidden, kind) {
			t.Errorf("kind %q: in the export: %t", kind, kinds[kind])
		}
	}

	// Those before a claim are erased too, and not shown: they can be about another person.
	guests, err := st.Events(ctx, store.EventQuery{CustomerID: "mail:zaphod@example.com"})
	is.NoErr(err)
	is.True(len(guests) > 0)
	for _, e := range guests {
		is.True(!has[e.ID])
		has[e.ID] = true
	}

	before := stored()
	_, err = s.EraseCustomer(ctx, "zaphod")
	is.NoErr(err)
	after := stored()
	for name, data := range before {
		if kind, _, _ := strings.Cut(name, " "); after[name] != data && !has[name] && slices.Contains(traced, kind) && !slices.Contains(hidden, kind) {
			t.Errorf("not in the export: %s %s", name, data)
		}
	}
	for _, id := range blanked() {
		if !has[id] {
			t.Errorf("not in the export: event %s", types[id])
		}
	}
	events, err := s.Events(ctx, api.ListEventsParams{Types: []string{api.EventLicensesExported}})
	is.NoErr(err)
	is.Equal(len(events.Data), 2) // with that of the life

	out.Reset()
	l := s.createFor(t, "cus_next")
	is.NoErr(s.As(license.Caller{MaskKeys: true}).ExportCustomer(ctx, &out, "cus_next"))
	require.NotContains(t, out.String(), l.Key)
	require.Contains(t, out.String(), l.ID)
	events, err = s.Events(ctx, api.ListEventsParams{Types: []string{api.EventLicensesExported}})
	is.NoErr(err)
	is.Equal(len(events.Data), 2) // only an export with keys is one
}

// TestExportOfManyRecords: an export has all records of a customer who has more than a page
// of each, and each of them once, also after corrections of the ID there and back.
func TestExportOfManyRecords(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := memory.New()
	s := newSeller(t, st)
	l := s.createFor(t, "cus_a")
	for _, id := range []string{"cus_b", "cus_a", "cus_b"} {
		_, err := s.Update(ctx, api.UpdateLicenseParams{ID: l.ID, CustomerID: &id})
		is.NoErr(err)
	}
	for i := range store.MaxLimit + 1 {
		_, err := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
		is.NoErr(err)
	}
	for range 200 {
		s.createFor(t, "cus_b")
	}
	bought := s.tell(t, "shop:1", event{At: onDay(0), CustomerID: "cus_b", PlanID: "pro", State: "active"}).License
	_, err := s.Update(ctx, api.UpdateLicenseParams{ID: bought.ID, MaxActivations: api.To[int64](7)})
	is.NoErr(err)
	hidden := s.createFor(t, "cus_c")

	var out bytes.Buffer
	is.NoErr(s.ExportCustomer(ctx, &out, "cus_b"))
	require.NotContains(t, out.String(), hidden.ID)
	var export struct {
		Licenses, Activations, Events []struct{ ID string }
		Purchases                     []struct{ Key string }
	}
	is.NoErr(json.Unmarshal(out.Bytes(), &export))
	is.Equal(len(export.Licenses), 202)
	is.Equal(len(export.Activations), store.MaxLimit+1)
	ids := map[string]bool{}
	for _, e := range export.Events {
		is.True(!ids[e.ID]) // an event twice
		ids[e.ID] = true
	}
	total := 0
	for after, more := int64(0), true; more; {
		events, err := st.Events(ctx, store.EventQuery{After: after})
		is.NoErr(err)
		for _, e := range events {
			after = e.Seq
			if e.Subject != hidden.ID && strings.HasPrefix(e.CustomerID, "cus_") {
				total++
			}
		}
		more = len(events) > 0
	}
	is.Equal(len(ids), total)
	stored, err := st.Entries(ctx, store.EntryQuery{Kind: "purchase"})
	is.NoErr(err)
	is.Equal(len(export.Purchases), len(stored))
}
