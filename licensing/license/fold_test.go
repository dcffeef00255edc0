package license_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// fieldsOf returns a license as a consumer of the feed has it: its members, without the
// ones that are empty, and those that no change names.
func fieldsOf(t *testing.T, l any) map[string]any {
	t.Helper()
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	fields["status"] = stateOf(fields["status"])
	maps.DeleteFunc(fields, func(name string, v any) bool {
		return name == "revision" || name == "updated_at" || name == "key" || isEmpty(v)
	})
	return fields
}

// stateOf returns the part of a status that does not follow from the times of a license.
func stateOf(status any) any {
	if status == "expired" || status == "scheduled" {
		return "active"
	}
	return status
}

func isEmpty(v any) bool {
	text := fmt.Sprint(v)
	return v == nil || text == "" || text == "map[]" || text == "[]"
}

// fold makes the changes of an event in the fields of a license. Each changes what the
// events before it have left.
func fold(t *testing.T, fields map[string]any, e store.Event) {
	t.Helper()
	for name, c := range eventData(t, e).Changes {
		if name == "status" {
			c = api.FieldChange{From: stateOf(c.From), To: stateOf(c.To)}
		}
		if has := fields[name]; fmt.Sprint(has) != fmt.Sprint(c.From) && !(isEmpty(has) && isEmpty(c.From)) {
			t.Fatalf("%s of event %d: %s is from %v, and was %v", e.Type, e.Seq, name, c.From, has)
		}
		if fields[name] = c.To; isEmpty(c.To) {
			delete(fields, name)
		}
	}
}

// TestChangesOfTheFeedMakeTheLicense: after random sales of several purchases, edits by
// hand, suspensions and time, the license that was created with the changes of all later
// events is the one that a read returns.
func TestChangesOfTheFeedMakeTheLicense(t *testing.T) {
	is := is.New(t)
	clock := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 51))
		s := newMeterShop(t, memory.New())
		id := ""
		for n, e := range randomSales(r) {
			if e.At.After(s.now.Add(24 * time.Hour)) {
				e.At = s.now
			}
			if e.CustomerID = "cus_ada"; n > 0 && e.reference != "a" {
				e.LicenseID = id
			}
			f := s.tell(t, e.reference, e.event)
			if id == "" {
				id = f.LicenseID
			}
			s.now = s.now.Add(time.Duration(r.IntN(30*24)) * time.Hour)
			if r.IntN(3) == 0 {
				s.applyDue(t)
			}
			s.editTerms(t, r, id)
			s.suspendOrReinstate(t, r, id)
		}
		s.now = s.now.Add(time.Duration(r.IntN(400*24)) * time.Hour)
		s.applyDue(t)

		events, err := s.store.Events(t.Context(), store.EventQuery{Subject: id})
		is.NoErr(err)
		is.Equal(events[0].Type, api.EventLicenseCreated)
		fields := fieldsOf(t, eventData(t, events[0]).License)
		for _, e := range events[1:] {
			if fold(t, fields, e); e.Actor == "clock" {
				clock++
			}
			is.Equal(fields, fieldsOf(t, eventData(t, e).License))
		}
		got := fieldsOf(t, s.mustGet(t, id))
		if fmt.Sprint(got) != fmt.Sprint(fields) {
			t.Fatalf("seed %d:\n%v\nof the feed:\n%v", seed, got, fields)
		}
	}
	is.True(clock > 20)
}
