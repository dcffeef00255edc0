package license_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// importAll imports a text and returns the results.
func importAll(t *testing.T, s *license.Service, text string) (results []api.RowResult) {
	t.Helper()
	err := s.Import(t.Context(), strings.NewReader(text), func(r api.RowResult) error {
		results = append(results, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestExportAndImport(t *testing.T) {
	is := is.New(t)
	from := newFixture(t)
	populate(t, from, 230)
	full := from.create(t, func(p *api.CreateLicenseParams) {
		p.Key, p.GraceSeconds, p.MaxActivations, p.LeaseSeconds = "OLD/<key>&0123456", 60, ptr(int64(3)), ptr(int64(4))
		p.Entitlements = map[string]any{"export": true, "users": 25, "plan": "pro"}
		p.Metadata = map[string]string{"order": "<1>"}
	})
	_, err := from.Suspend(t.Context(), api.ChangeStateParams{ID: full.ID, Reason: "Overdue"})
	is.NoErr(err)
	_, err = from.Revoke(t.Context(), api.ChangeStateParams{ID: from.create(t).ID})
	is.NoErr(err)
	var out bytes.Buffer
	is.NoErr(from.Export(t.Context(), &out, api.ListLicensesParams{}))
	is.Equal(bytes.Count(out.Bytes(), []byte("\n")), 232)

	to := newFixture(t)
	to.now = from.now
	results := importAll(t, to.Service, out.String())
	is.Equal(len(results), 232)
	for i, r := range results {
		is.Equal(r, api.RowResult{Line: i + 1, ID: r.ID, Result: api.ImportCreated})
		want, err := from.Get(t.Context(), r.ID)
		is.NoErr(err)
		got, err := to.Get(t.Context(), r.ID)
		is.NoErr(err)
		want.Revision, want.UpdatedAt = 1, to.now // these are reset
		is.Equal(got, want)
		is.Equal(to.events(t, r.ID), []string{api.EventLicenseCreated})
	}
	for _, kind := range []string{"state", "product", "customer"} {
		is.Equal(to.tallies(t, kind), from.tallies(t, kind))
	}

	for _, r := range importAll(t, to.Service, out.String()) { // again changes nothing
		is.Equal(r.Result, api.ImportExists)
		is.Equal(len(to.events(t, r.ID)), 1)
	}
	var again bytes.Buffer
	is.NoErr(to.Export(t.Context(), &again, api.ListLicensesParams{}))
	is.Equal(again.String(), out.String())

	var some bytes.Buffer
	is.NoErr(from.Export(t.Context(), &some, api.ListLicensesParams{Status: api.LicenseRevoked}))
	is.Equal(bytes.Count(some.Bytes(), []byte("\n")), 1)
}

// TestImportRows decides line by line; a refused row hinders no other.
func TestImportRows(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	here := f.create(t)
	other := f.create(t)
	row := func(more string) string { return `{"name":"a","product_id":"p","customer_id":"c",` + more + `}` }
	for name, test := range map[string]struct {
		row   string
		want  string
		field string
		code  string
	}{
		"minimal":            {row(`"key":"imported-key-0001"`), api.ImportCreated, "", ""},
		"by id":              {row(`"id":"lic_00000000000000000000000001"`), api.ImportCreated, "", ""},
		"known key":          {row(`"key":"` + strings.ToLower(here.Key) + `"`), api.ImportExists, "", ""},
		"known id":           {row(`"id":"` + here.ID + `"`), api.ImportExists, "", ""},
		"known id and key":   {row(`"id":"` + here.ID + `","key":"` + here.Key + `"`), api.ImportExists, "", ""},
		"id of another":      {row(`"id":"` + here.ID + `","key":"` + other.Key + `"`), api.ImportRefused, "id", "taken"},
		"key of another":     {row(`"id":"lic_00000000000000000000000002","key":"` + other.Key + `"`), api.ImportRefused, "key", "taken"},
		"neither":            {row(`"state":"active"`), api.ImportRefused, "key", "required"},
		"bad id":             {row(`"id":"LIC_1"`), api.ImportRefused, "id", "invalid_format"},
		"bad state":          {row(`"key":"imported-key-0002","state":"expired"`), api.ImportRefused, "state", "unknown"},
		"bad reason":         {row(`"key":"imported-key-0002","state_reason":" "`), api.ImportRefused, "state_reason", "invalid_format"},
		"bad time":           {row(`"key":"imported-key-0002","created_at":"1969-01-01T00:00:00Z"`), api.ImportRefused, "created_at", "out_of_range"},
		"high generation":    {row(`"key":"imported-key-0002","generation":9007199254740991`), api.ImportRefused, "generation", "out_of_range"},
		"no safe number":     {row(`"key":"imported-key-0002","generation":9007199254740992`), api.ImportRefused, "generation", "out_of_range"},
		"bad entitlement":    {row(`"key":"imported-key-0002","entitlements":{"n":9007199254740993}`), api.ImportRefused, "entitlements/n", "out_of_range"},
		"missing fields":     {`{"key":"imported-key-0002","name":"a","product_id":"p"}`, api.ImportRefused, "customer_id", "required"},
		"unknown member":     {row(`"key":"imported-key-0002","status":"active"`), api.ImportRefused, "status", "unknown"},
		"activations":        {row(`"key":"imported-key-0002","activations":[]`), api.ImportRefused, "activations", "unknown"},
		"wrong case":         {row(`"key":"imported-key-0002","Metadata":{}`), api.ImportRefused, "Metadata", "unknown"},
		"the same twice":     {row(`"key":"imported-key-0002","name":"b"`), api.ImportRefused, "", "invalid_json"},
		"twice further down": {row(`"key":"imported-key-0002","metadata":{"a":"1","a":"2"}`), api.ImportRefused, "", "invalid_json"},
		"lone surrogate":     {row(`"key":"imported-key-0002","metadata":{"a":"\ud83d"}`), api.ImportRefused, "", "invalid_json"},
		"byte order mark":    {"\ufeff" + row(`"key":"imported-key-0002"`), api.ImportRefused, "", "invalid_json"},
		"too deep":           {row(`"key":"imported-key-0002","entitlements":{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`), api.ImportRefused, "", "invalid_json"},
		"null for a number":  {row(`"key":"imported-key-0002","grace_seconds":null`), api.ImportRefused, "grace_seconds", "required"},
		"null for a text":    {row(`"key":"imported-key-0002","metadata":{"a":null}`), api.ImportRefused, "metadata/a", "invalid_type"},
		"text for a number":  {row(`"key":"imported-key-0002","grace_seconds":"5"`), api.ImportRefused, "grace_seconds", "invalid_type"},
		"no time":            {row(`"key":"imported-key-0002","starts_at":"tomorrow"`), api.ImportRefused, "starts_at", "invalid_format"},
		"nulls":              {row(`"key":"imported-key-0003","starts_at":null,"lease_seconds":null,"metadata":null,"created_at":null`), api.ImportCreated, "", ""},
		"two objects":        {row(`"key":"imported-key-0002"`) + "{}", api.ImportRefused, "", "invalid_json"},
		"no object":          {`null`, api.ImportRefused, "", "invalid_json"},
		"a list":             {`[]`, api.ImportRefused, "", "invalid_json"},
		"bad UTF-8":          {row("\"key\":\"imported-key-0002\",\"metadata\":{\"a\":\"\xff\"}"), api.ImportRefused, "", "invalid_json"},
		"longer than a line": {row(`"key":"` + strings.Repeat("x", 3<<20) + `"`), api.ImportRefused, "", "too_long"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			results := importAll(t, f.Service, "\n"+test.row+"\r\n \n"+row(`"key":"the-row-after-this"`))
			is.Equal(len(results), 2)
			is.Equal(results[0].Line, 2)
			is.Equal(results[0].Result, test.want)
			if test.want == api.ImportRefused {
				is.Equal(len(results[0].Errors), 1)
				is.Equal(results[0].Errors[0].Field, test.field)
				is.Equal(results[0].Errors[0].Code, test.code)
			}
			is.Equal(results[1].Line, 4)
			is.True(results[1].Result != api.ImportRefused)
		})
	}
	_, err := f.Get(t.Context(), here.ID)
	is.NoErr(err)
	is.Equal(len(f.events(t, here.ID)), 1)
}

// TestImportReportsAllFaultsOfARow: those of the form, of the license and of what
// only a row has, each field once.
func TestImportReportsAllFaultsOfARow(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	results := importAll(t, f.Service, `{"id":"x","name":" ","product_id":7,"customer_id":"c","starts_at":"2030-01-02T00:00:00Z","expires_at":"2030-01-01T00:00:00Z",`+
		`"entitlements":{"a":false},"metadata":{"b":"\u0001"},"state":"gone","state_reason":1,"created_at":"1960-01-01T00:00:00Z","generation":-1,"more":1}`)
	var fields []string
	for _, e := range results[0].Errors {
		fields = append(fields, e.Field)
	}
	slices.Sort(fields)
	is.Equal(fields, []string{"created_at", "entitlements/a", "expires_at", "generation", "id", "metadata/b", "more", "name", "product_id", "state", "state_reason"})
}

func TestImportWithinOneBatch(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	row := `{"name":"a","product_id":"p","customer_id":"c","key":"imported-key-0001"}` + "\n"
	results := importAll(t, f.Service, row+row)
	is.Equal(results[0].Result, api.ImportCreated)
	is.Equal(results[1], api.RowResult{Line: 2, ID: results[0].ID, Result: api.ImportExists})
	is.Equal(importAll(t, f.Service, ""), nil)

	limited := f.As(license.Caller{Products: []string{"prod_mine"}})
	results = importAll(t, limited, row+strings.ReplaceAll(row, "0001", "0002"))
	is.Equal(results[0].Errors[0].Field, "product_id")
	is.Equal(results[1].Errors[0].Field, "product_id")
}

// TestImportWritesInBulk counts what an import does while other writers wait.
func TestImportWritesInBulk(t *testing.T) {
	is := is.New(t)
	counting := &countingStore{Store: memory.New()}
	s := license.New(counting, license.Options{})
	created := func(id string) int {
		events, err := counting.Events(t.Context(), store.EventQuery{Subject: id})
		is.NoErr(err)
		return len(events)
	}
	rows := func(first, n int, more string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `{"name":"a","product_id":"p","customer_id":"c","key":"imported-key-%04d"%s}`+"\n", first+i, more)
		}
		return text.String()
	}
	results := importAll(t, s, rows(0, 40, "")+"refused\n"+rows(40, 59, ""))
	is.Equal(len(results), 100)
	is.Equal(counting.calls, []string{"Update", "CreateLicenses", "AppendEvents"})
	for i, r := range results {
		is.Equal(r.Result == api.ImportRefused, i == 40)
		if i != 40 {
			is.Equal(created(r.ID), 1)
		}
	}

	counting.calls = nil
	results = importAll(t, s, rows(98, 3, "")) // the first exists
	is.Equal([]string{results[0].Result, results[1].Result, results[2].Result}, []string{api.ImportExists, api.ImportCreated, api.ImportCreated})
	for _, r := range results {
		is.Equal(created(r.ID), 1)
	}

	counting.calls = nil
	importAll(t, s, "refused\n")
	is.Equal(len(counting.calls), 0)
	large := `,"entitlements":{"a":"` + strings.Repeat("x", 200) + `"` + strings.Repeat(" ", 90<<10) + `}`
	is.Equal(len(importAll(t, s, rows(200, 6, large))), 6)
	is.Equal(counting.count("Update"), 2) // 256 KiB of lines in each
}

// A slowStore takes a while to create licenses.
type slowStore struct {
	countingStore
	takes time.Duration
}

func (s *slowStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.countingStore.Update(ctx, func(tx store.Tx) error { return fn(slowTx{tx, s.takes}) })
}

type slowTx struct {
	store.Tx
	takes time.Duration
}

func (tx slowTx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	time.Sleep(tx.takes)
	return tx.Tx.CreateLicenses(ctx, licenses...)
}

// TestImportHoldsTheWriteLockBriefly: on a fast store, batches become larger than
// the first; on a slow one, they do not.
//
// Fault: each batch pays for a flush of the disk, or holds up other writers.
func TestImportHoldsTheWriteLockBriefly(t *testing.T) {
	is := is.New(t)
	updates := func(takes time.Duration, rows int) int {
		st := &slowStore{countingStore{Store: memory.New()}, takes}
		var text strings.Builder
		for i := range rows {
			fmt.Fprintf(&text, `{"name":"a","product_id":"p","customer_id":"c","key":"imported-key-%04d"}`+"\n", i)
		}
		is.Equal(len(importAll(t, license.New(st, license.Options{}), text.String())), rows)
		return st.count("Update")
	}
	require.Less(t, updates(0, 3000), 20)
	is.Equal(updates(7*time.Millisecond, 600), 6) // 100 rows each
}

// TestImportOfExistingRowsHoldsTheWriteLockBriefly imports rows of which some exist,
// after many that do not.
//
// Fault: hundreds of rows are processed one by one in one Update.
func TestImportOfExistingRowsHoldsTheWriteLockBriefly(t *testing.T) {
	is := is.New(t)
	counting := &countingStore{Store: memory.New()}
	s := license.New(counting, license.Options{})
	row := func(n int) string {
		return fmt.Sprintf(`{"name":"a","product_id":"p","customer_id":"c","key":"imported-key-%04d"}`+"\n", n)
	}
	importAll(t, s, row(1999)+row(2001))
	var text strings.Builder
	for n := range 3000 {
		text.WriteString(row(n))
	}
	for n, r := range importAll(t, s, text.String()) {
		is.Equal(r.Line, n+1)
		is.Equal(r.Result == api.ImportExists, n == 1999 || n == 2001)
		events, err := counting.Events(t.Context(), store.EventQuery{Subject: r.ID})
		is.NoErr(err)
		is.Equal(len(events), 1)
	}
	appended := 0
	for _, call := range counting.calls {
		if call == "Update" {
			appended = 0
		} else if call == "AppendEvents" {
			appended++
		}
		require.AtMost(t, appended, 100)
	}
}

func TestImportEndsWithTheFirstError(t *testing.T) {
	f := newFixture(t)
	breaks := errors.New("breaks")
	row := `{"name":"a","product_id":"p","customer_id":"c","key":"imported-key-0001"}` + "\n"
	err := f.Import(t.Context(), strings.NewReader(row), func(api.RowResult) error { return breaks })
	require.ErrorIs(t, err, breaks)
	err = f.Import(t.Context(), iotest.ErrReader(breaks), func(api.RowResult) error { return nil })
	require.ErrorIs(t, err, breaks)
}

func TestErase(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var kept api.License
	for i := range 120 {
		l := f.create(t, func(p *api.CreateLicenseParams) {
			p.Name, p.Metadata = "Ada Lovelace", map[string]string{"mail": "ada@example.com"}
		})
		if i == 0 { // it becomes another customer's
			f.activate(t, l.Key, "ada's laptop")
			var err error
			kept, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: ptr("Bob"), CustomerID: ptr("cus_bob"), Metadata: api.ToNull[map[string]*string]()})
			is.NoErr(err)
		}
	}
	bob := f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = "cus_bob" })
	before, err := f.store.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)

	f.now = f.now.Add(time.Hour)
	done, err := f.As(license.Caller{Actor: "operator:opr_1"}).EraseCustomer(t.Context(), "cus_ada")
	is.NoErr(err)
	is.Equal(done, api.Erased{Licenses: 119, Events: 120 + 1 + 119}) // created, activated, deleted

	page, err := f.List(t.Context(), api.ListLicensesParams{CustomerID: "cus_ada"})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
	is.Equal(f.tallies(t, "customer"), map[string]int64{"cus_bob": 2})
	read, err := f.Get(t.Context(), kept.ID)
	is.NoErr(err)
	is.Equal(read, kept)

	events, err := f.store.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	for i, e := range events {
		if i < len(before) { // the feed keeps its order, and what is not personal
			is.Equal(e.Seq, before[i].Seq)
			is.Equal(e.Type, before[i].Type)
			is.Equal(e.Subject, before[i].Subject)
			is.Equal(e.Time, before[i].Time)
		}
		for _, personal := range []string{"cus_ada", "Ada", "ada@example.com", "ada's laptop"} {
			if e.Subject != bob.ID {
				require.NotContains(t, string(e.Data)+e.CustomerID, personal)
			}
		}
	}
	last, _ := f.lastEvent(t)
	is.Equal(last.Type, api.EventCustomerErased)
	is.Equal(last.Actor, "operator:opr_1")
	is.Equal(eventData(t, last).EventErasure.Erased, api.Erased{Licenses: 119, Events: 240})
	is.Equal(eventData(t, events[len(before)-1]).License.ID, bob.ID) // another's events are whole

	done, err = f.EraseCustomer(t.Context(), "cus_ada")
	is.NoErr(err)
	is.Equal(done, api.Erased{})
	_, err = f.EraseCustomer(t.Context(), "")
	is.Equal(fields(t, err), map[string]string{"customer_id": "required"})
	_, err = f.As(license.Caller{Products: []string{"prod_editor"}}).EraseCustomer(t.Context(), "cus_bob")
	require.ErrorIs(t, err, api.ErrProductForbidden)
}

// TestBlankLinesOfAnImportCostNoAllocation: 16 MiB of them fit into a request.
func TestBlankLinesOfAnImportCostNoAllocation(t *testing.T) {
	f := newFixture(t)
	cost := func(lines int) float64 {
		text := strings.Repeat("\n\r\n", lines/2)
		return testing.AllocsPerRun(3, func() { importAll(t, f.Service, text) })
	}
	few, many := cost(100), cost(100_000)
	if many > few+100 {
		t.Errorf("100 blank lines: %v allocations, 100,000: %v", few, many)
	}
}

// TestImportStopsAfterManyRefusedRows sends many short rows that are no rows.
//
// Fault: each two bytes sent are answered with more than two hundred.
func TestImportStopsAfterManyRefusedRows(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	row := func(n int) string {
		return fmt.Sprintf(`{"name":"a","product_id":"p","customer_id":"c","key":"imported-key-%04d"}`+"\n", n)
	}
	results := importAll(t, f.Service, row(0)+strings.Repeat("x\n", 999)+row(1)+"x\n")
	is.Equal(len(results), 1002) // 1,000 refused rows at the end are not too many
	is.Equal(results[1000].Result, api.ImportCreated)
	is.Equal(results[1001].Result, api.ImportRefused)

	results = importAll(t, f.Service, row(2)+strings.Repeat("x\n", 1000)+row(3)+strings.Repeat("x\n", 5000))
	is.Equal(len(results), 1002)
	is.Equal(results[0].Result, api.ImportCreated)
	last := results[1001]
	is.Equal(last.Line, 1002)
	is.Equal(last.Result, api.ImportStopped)
	is.Equal(last.Errors[0].Code, api.FieldTooMany)
	require.Contains(t, last.Errors[0].Detail, "1000 lines were refused")
	is.Equal(importAll(t, f.Service, row(3))[0].Result, api.ImportCreated) // it was not stored before

	var many strings.Builder
	for i := range 90 {
		fmt.Fprintf(&many, `"e%d":false,`, i)
	}
	results = importAll(t, f.Service, `{"name":"a","product_id":"p","customer_id":"c","key":"imported-key-0009","entitlements":{`+strings.TrimSuffix(many.String(), ",")+`}}`)
	is.Equal(len(results[0].Errors), 20)
}

// TestImportOfADeletedID while the activations of the deleted license are still
// being removed, as they are after a crash.
//
// Fault: the clean-up removes the activations of the imported license.
func TestImportOfADeletedID(t *testing.T) {
	for _, n := range []int{99, 100, 101, 250} {
		for _, inside := range []bool{false, true} {
			t.Run(fmt.Sprint(n, " ", inside), func(t *testing.T) {
				is := is.New(t)
				f := newFixture(t)
				l := f.create(t)
				rows := make([]store.Activation, n)
				for i := range rows {
					rows[i] = store.Activation{LicenseID: l.ID, ID: store.NewID("act", start), Fingerprint: fmt.Sprint("pc-", i), Document: []byte("{}")}
				}
				is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.PutActivations(t.Context(), rows...) }))
				row := fmt.Sprintf(`{"id":%q,"key":%q,"name":"n","product_id":"p","customer_id":"c"}`, l.ID, l.Key)
				remove := func(s *license.Service) error { return s.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}) }
				var results []api.RowResult
				is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
					err := remove(s)
					if err == nil && inside {
						results = importAll(t, s, row)
					}
					return err
				}))
				if inside && n >= 200 { // more than one Update removes
					is.Equal(results[0].Result, api.ImportRefused)
					is.Equal(results[0].Errors[0].Field, "id")
				}
				if !inside || n >= 200 {
					results = importAll(t, f.Service, row)
				}
				is.Equal(results[0].Result, api.ImportCreated)

				left, err := countActivations(t.Context(), f.store, store.ActivationQuery{LicenseID: l.ID})
				is.NoErr(err)
				is.Equal(left, 0)
				f.activate(t, l.Key, "mine")
				for _, step := range inner.Of(f.Service).Background().Upkeep {
					for more := true; more; {
						more, err = step(t.Context())
						is.NoErr(err)
					}
				}
				is.True(f.validate(t, l.Key, "mine").Valid)
			})
		}
	}
}

// TestAnImportWhileADeletedLicenseIsCleared: another process imports the ID of the
// deleted license after this one has found what is left of that license.
//
// Fault: the clean-up removes the activations of the imported license.
func TestAnImportWhileADeletedLicenseIsCleared(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	rows := make([]store.Activation, 101) // one more than a deletion inside Atomically removes
	for i := range rows {
		rows[i] = store.Activation{LicenseID: l.ID, ID: store.NewID("act", start), Fingerprint: fmt.Sprint("pc-", i), Document: []byte("{}")}
	}
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.PutActivations(t.Context(), rows...) }))
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		return s.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID})
	}))
	between := sync.OnceFunc(func() {
		results := importAll(t, f.Service, fmt.Sprintf(`{"id":%q,"key":%q,"name":"n","product_id":"p","customer_id":"c"}`, l.ID, l.Key))
		is.Equal(results[0].Result, api.ImportCreated)
		f.activate(t, l.Key, "mine")
	})
	s := license.New(changingStore{f.store, between}, license.Options{Now: func() time.Time { return start }})
	for _, step := range inner.Of(s).Background().Upkeep {
		_, err := step(t.Context())
		is.NoErr(err)
	}
	left, err := f.store.Activations(t.Context(), store.ActivationQuery{LicenseID: l.ID})
	is.NoErr(err)
	is.Equal(len(left), 1)
	is.Equal(left[0].Fingerprint, "mine")
}

// TestImportDoesNotRevealIDs of other products to a caller that is limited.
func TestImportDoesNotRevealIDs(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	own := f.create(t, func(p *api.CreateLicenseParams) { p.ProductID = "mine" })
	other := f.create(t)
	limited := f.As(license.Caller{Products: []string{"mine"}})
	row := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"name":"n","product_id":"mine","customer_id":"c"}`, id)
	}
	free := importAll(t, limited, row(store.NewID("lic", start)))[0]
	is.Equal(free.Result, api.ImportRefused)
	used := importAll(t, limited, row(other.ID))[0]
	used.ID, free.ID = "", ""
	is.Equal(used, free)
	is.Equal(importAll(t, limited, row(own.ID))[0].Result, api.ImportExists)
	taken := importAll(t, limited, `{"key":"`+other.Key+`","name":"n","product_id":"mine","customer_id":"c"}`)[0]
	is.Equal(taken.Result, api.ImportRefused)
	is.Equal(taken.ID, "")
	is.Equal(taken.Errors[0].Field, "key")
	is.Equal(importAll(t, limited, `{"key":"imported-key-0001","name":"n","product_id":"mine","customer_id":"c"}`)[0].Result, api.ImportCreated)
	is.Equal(importAll(t, f.Service, row(store.NewID("lic", start)))[0].Result, api.ImportCreated)
}
