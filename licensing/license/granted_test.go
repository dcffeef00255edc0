package license_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// TestEachSaleHasOneEvent: one event grants a purchase, also if the purchase changes
// nothing of its license. An import grants none, and says that it is one.
func TestEachSaleHasOneEvent(t *testing.T) {
	is := is.New(t)
	st := storetest.Twice(memory.New())
	s := newSeller(t, st)
	bought := event{At: onDay(0), CustomerID: "cus_ada", PlanID: "forever", State: "active"}
	l := s.tell(t, "first", bought).License
	s.tell(t, "first", event{At: onDay(1), Name: "Ada"})
	s.tell(t, "late", event{At: onDay(1), CustomerID: "cus_ada", PlanID: "forever", LicenseID: l.ID})
	s.tell(t, "late", event{At: onDay(2), State: "active"})
	s.tell(t, "late", event{At: onDay(2), State: "active"})
	s.tell(t, "seats", event{At: onDay(2), CustomerID: "cus_ada", PlanID: "extra", LicenseID: l.ID, State: "active"})
	is.NoErr(s.Import(t.Context(), strings.NewReader(`{"name":"Bob","product_id":"prod_editor","key":"bobs-old-key-of-2025","customer_id":"cus_bob","reference":"old"}
{"name":"Eve","product_id":"prod_editor","key":"eves-old-key-of-2025","customer_id":"cus_eve"}
`), func(r api.RowResult) error { is.Equal(r.Result, api.ImportCreated); return nil }))
	s.tell(t, "old", event{At: onDay(3), PlanID: "forever", State: "active"})

	events, err := st.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	var granted []string
	imported := 0
	for _, e := range events {
		data := eventData(t, e)
		if data.Granted != "" {
			granted = append(granted, data.Reference+" "+data.Granted)
		}
		if data.Imported {
			imported++
		}
	}
	is.Equal(granted, []string{"first forever", "late forever", "seats extra"})
	is.Equal(imported, 2)
}
