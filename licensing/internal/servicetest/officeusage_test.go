package servicetest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A vendorOfOffices is a vendor with one license, whose offices have its clock.
type vendorOfOffices struct {
	*licensing.Handler
	t   testing.TB
	is  *is.I
	st  store.Store
	now time.Time
	l   api.License
}

func newVendorOfOffices(t testing.TB, st store.Store, terms api.Terms) *vendorOfOffices {
	v := &vendorOfOffices{t: t, is: is.New(t), st: st, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	v.Handler = licensing.NewHandler(st, v.options())
	l, err := v.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: terms})
	v.is.NoErr(err)
	v.l = l
	return v
}

func (v *vendorOfOffices) options() licensing.Options {
	return licensing.Options{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return v.now }}
}

// answer issues the file for a request.
func (v *vendorOfOffices) answer(request string) (string, error) {
	f, err := v.Service().IssueFile(v.t.Context(), api.IssueFileParams{LicenseID: v.l.ID, Request: request, Lifetime: api.Duration{Days: 90}})
	if err != nil {
		return "", err
	}
	return v.Files().Sign(v.t.Context(), *f.FileClaims())
}

// used returns what was used of a meter in all periods.
func (v *vendorOfOffices) used(meter string) (sum int64) {
	page, err := v.Metering().ListUsage(v.t.Context(), api.ListUsageParams{LicenseID: v.l.ID, Limit: 200})
	v.is.NoErr(err)
	for _, p := range page.Data {
		if p.Meter == meter {
			sum += p.Used
		}
	}
	return sum
}

// A lending office runs with the last answer that it got.
type lendingOffice struct {
	*licensing.Handler
	v      *vendorOfOffices
	key    ed25519.PrivateKey
	st     store.Store
	answer string
	seats  int64 // that it asks for
	calls  int
}

// open makes an office with its first answer. Its license is imported with what that says.
func (v *vendorOfOffices) open(seed byte) *lendingOffice {
	v.t.Helper()
	o := &lendingOffice{v: v, key: officeKey(seed), st: memory.New(), seats: 1}
	answer, err := v.answer(officeRequest(v.t, v.l.Key, 1, o.key))
	v.is.NoErr(err)
	o.run(answer)
	lender, err := licensefile.NewLender(answer, o.key)
	v.is.NoErr(err)
	row, err := json.Marshal(map[string]any{
		"id": v.l.ID, "key": v.l.Key, "name": "Acme Ltd", "product_id": "atlas", "customer_id": "office",
		"max_activations": 1, "lease_seconds": 3600, "meters": lender.Claims.Office.Meters,
	})
	v.is.NoErr(err)
	v.is.NoErr(o.Service().Import(v.t.Context(), bytes.NewReader(row), func(r api.RowResult) error {
		v.is.Equal(len(r.Errors), 0)
		return nil
	}))
	return o
}

func (o *lendingOffice) run(answer string) {
	o.answer = answer
	options := o.v.options()
	options.SigningKeys = []files.SigningKey{{Signer: o.key, Office: answer}}
	o.Handler = licensing.NewHandler(o.st, options)
}

// restore runs with a backup.
func (o *lendingOffice) restore(st store.Store) {
	o.st = st
	o.run(o.answer)
}

// count counts usage in the office.
func (o *lendingOffice) count(meter string, n int64) error {
	o.calls++
	_, err := o.Metering().CountUsage(o.v.t.Context(), api.CountUsageParams{
		Key: o.v.l.Key, Usage: []api.UsageReport{{Meter: meter, ID: fmt.Sprint(o.v.now, o.calls), Total: n}},
	})
	return err
}

func (o *lendingOffice) request() string {
	o.v.t.Helper()
	text, err := o.Files().OfficeRequest(o.v.t.Context(), o.v.l.Key, o.seats)
	o.v.is.NoErr(err)
	return text
}

// report takes a request to the vendor, and runs with the answer.
func (o *lendingOffice) report() {
	o.v.t.Helper()
	answer, err := o.v.answer(o.request())
	o.v.is.NoErr(err)
	o.run(answer)
}

// copyStore returns a backup of a store.
func copyStore(t testing.TB, st store.Store) store.Store {
	t.Helper()
	var archive bytes.Buffer
	to := memory.New()
	err := store.Export(t.Context(), st, &archive)
	if err == nil {
		err = store.Import(t.Context(), to, &archive)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// exportsPerMonth are the terms of a license with two meters.
func exportsPerMonth() api.Terms {
	return api.Terms{MaxActivations: new(int64(9)), Meters: map[string]api.Meter{
		"exports": {Limit: new(int64(100)), Per: api.PerMonth}, "calls": {Soft: true}, api.MeterActivations: {Limit: new(int64(50))},
	}}
}

// TestOfficeUsage: what an office counts with the meters of the vendor arrives with its
// requests, once, whatever becomes of the office and in whatever order they come.
func TestOfficeUsage(t *testing.T) {
	archive := func(st store.Store) string {
		var text bytes.Buffer
		if err := store.Export(t.Context(), st, &text); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	run := func(name string, do func(v *vendorOfOffices, o *lendingOffice)) {
		t.Run(name, func(t *testing.T) {
			v := newVendorOfOffices(t, memory.New(), exportsPerMonth())
			do(v, v.open('o'))
		})
	}
	run("the limits of the vendor", func(v *vendorOfOffices, o *lendingOffice) {
		l, err := o.Service().Get(t.Context(), v.l.ID)
		v.is.NoErr(err)
		want := maps.Clone(v.l.Meters)
		delete(want, api.MeterActivations) // the seats of the office count it
		v.is.Equal(l.Meters, want)
		v.is.NoErr(o.count("exports", 100))
		require.ErrorIs(t, o.count("exports", 1), api.ErrUsageLimit)
		o.report()
		v.is.Equal(v.used("exports"), int64(100))
		v.is.Equal(v.used(api.MeterActivations), int64(1))
	})
	run("repeated and late requests", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("exports", 7))
		old := o.request()
		v.is.NoErr(o.count("exports", 5))
		v.is.NoErr(o.count("calls", 3))
		for range 3 {
			o.report()
			v.is.Equal(v.used("exports"), int64(12))
			_, err := v.answer(old)
			v.is.NoErr(err)
			v.is.Equal(v.used("exports"), int64(12))
			v.is.Equal(v.used("calls"), int64(3))
		}
		v.is.NoErr(o.count("exports", 1))
		o.report()
		v.is.Equal(v.used("exports"), int64(13))
	})
	run("a restored office", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("calls", 10))
		backup := copyStore(t, o.st)
		v.is.NoErr(o.count("calls", 5))
		o.report()
		o.restore(backup)
		o.report()
		v.is.Equal(v.used("calls"), int64(15))
		v.is.NoErr(o.count("calls", 4)) // a total that was known
		o.report()
		v.is.Equal(v.used("calls"), int64(15))
		v.is.NoErr(o.count("calls", 4))
		o.report()
		v.is.Equal(v.used("calls"), int64(18))
	})
	run("a restored vendor", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("calls", 10))
		o.report()
		backup := copyStore(t, v.st)
		v.is.NoErr(o.count("calls", 5))
		o.report()
		v.Handler = licensing.NewHandler(backup, v.options())
		v.is.Equal(v.used("calls"), int64(10))
		o.report()
		v.is.Equal(v.used("calls"), int64(15))
	})
	run("two offices", func(v *vendorOfOffices, o *lendingOffice) {
		other := v.open('p')
		v.is.NoErr(o.count("exports", 60))
		v.is.NoErr(other.count("exports", 70)) // each has the limit
		o.report()
		other.report()
		v.is.Equal(v.used("exports"), int64(130))
		o.report()
		v.is.Equal(v.used("exports"), int64(130))
	})
	run("several periods", func(v *vendorOfOffices, o *lendingOffice) {
		for range 3 {
			v.is.NoErr(o.count("exports", 90))
			v.now = v.now.AddDate(0, 1, 0)
		}
		v.now = v.now.AddDate(2, 0, 0)
		for range 2 { // tells them, and removes the rows of the periods
			_, err := inner.Of(o.Service()).Meters().TellUsage(t.Context())
			v.is.NoErr(err)
		}
		page, err := o.Metering().ListUsage(t.Context(), api.ListUsageParams{LicenseID: v.l.ID})
		v.is.NoErr(err)
		v.is.Equal(len(page.Data), 0)
		o.report()
		v.is.Equal(v.used("exports"), int64(270))
	})
	run("a correction", func(v *vendorOfOffices, o *lendingOffice) {
		correct := func(used int64) {
			_, err := o.Metering().CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: v.l.ID, Meter: "exports", Used: used})
			v.is.NoErr(err)
		}
		v.is.NoErr(o.count("exports", 20))
		correct(5)
		o.report()
		v.is.Equal(v.used("exports"), int64(5))
		correct(9)
		o.report()
		v.is.Equal(v.used("exports"), int64(9))
		correct(2) // less than what has arrived
		o.report()
		v.is.Equal(v.used("exports"), int64(9))
		v.is.NoErr(o.count("exports", 8))
		o.report()
		v.is.Equal(v.used("exports"), int64(10))
	})
	run("a correction of what another key has counted", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("exports", 10))
		o.report()
		o.key = officeKey('q')
		answer, err := v.answer(officeRequest(t, v.l.Key, 1, o.key))
		v.is.NoErr(err)
		o.run(answer)
		_, err = o.Metering().CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: v.l.ID, Meter: "exports", Used: 3})
		v.is.NoErr(err)
		v.is.NoErr(o.count("exports", 4))
		o.report()
		v.is.Equal(v.used("exports"), int64(14))
	})
	run("a license of its own", func(v *vendorOfOffices, o *lendingOffice) {
		other, err := o.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "cus_2", Terms: exportsPerMonth()})
		v.is.NoErr(err)
		_, err = o.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: other.Key, Usage: []api.UsageReport{{Meter: "exports", ID: "x", Total: 9}}})
		v.is.NoErr(err)
		o.report()
		v.is.Equal(v.used("exports"), int64(0))
	})
	run("the largest total", func(v *vendorOfOffices, o *lendingOffice) {
		const most = 1<<53 - 1
		for _, h := range []*licensing.Handler{v.Handler, o.Handler} {
			_, err := h.Service().Update(t.Context(), api.UpdateLicenseParams{ID: v.l.ID, Meters: api.To(map[string]*api.MeterChange{"prints": {Per: api.To(api.PerDay)}})})
			v.is.NoErr(err)
		}
		for range 2 {
			_, err := o.Metering().CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: v.l.ID, Meter: "prints", Used: most})
			v.is.NoErr(err)
			v.now = v.now.AddDate(0, 0, 1)
			o.report()
			v.is.Equal(v.used("prints"), int64(most))
		}
	})
	run("a meter added later", func(v *vendorOfOffices, o *lendingOffice) {
		change := func(h *licensing.Handler, limit *api.MeterChange) {
			_, err := h.Service().Update(t.Context(), api.UpdateLicenseParams{ID: v.l.ID, Meters: api.To(map[string]*api.MeterChange{"prints": limit})})
			v.is.NoErr(err)
		}
		change(o.Handler, &api.MeterChange{}) // by the owner
		v.is.NoErr(o.count("prints", 6))
		o.report()
		v.is.Equal(v.used("prints"), int64(0))
		change(v.Handler, &api.MeterChange{})
		o.report()
		v.is.Equal(v.used("prints"), int64(6))
	})
	run("a meter of the service", func(v *vendorOfOffices, o *lendingOffice) {
		_, err := o.Service().Update(t.Context(), api.UpdateLicenseParams{ID: v.l.ID, Meters: api.To(map[string]*api.MeterChange{api.MeterActivations: {}})})
		v.is.NoErr(err)
		_, err = o.Service().Activate(t.Context(), api.ActivateKeyParams{Key: v.l.Key, Fingerprint: "pc-1"})
		v.is.NoErr(err)
		o.report()
		v.is.Equal(v.used(api.MeterActivations), int64(1)) // the seat of the office
	})
	run("without a file", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("exports", 4))
		_, err := v.Service().Suspend(t.Context(), api.ChangeStateParams{ID: v.l.ID})
		v.is.NoErr(err)
		_, err = v.answer(o.request())
		require.ErrorIs(t, err, api.ErrDenied)
		v.is.Equal(v.used("exports"), int64(4))
	})
	run("above the limit", func(v *vendorOfOffices, o *lendingOffice) {
		_, err := v.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: v.l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: "x", Total: 70}}})
		v.is.NoErr(err)
		v.is.NoErr(o.count("exports", 40))
		o.report()
		v.is.Equal(v.used("exports"), int64(110))
		events, err := v.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventUsageThreshold}})
		v.is.NoErr(err)
		v.is.Equal(len(events.Data), 1)
	})
	run("another license", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("exports", 4))
		request := o.request()
		other, err := v.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "cus_2", Terms: exportsPerMonth()})
		v.is.NoErr(err)
		v.l = other
		_, err = v.answer(request)
		require.ErrorIs(t, err, api.ErrInvalid)
		v.is.Equal(v.used("exports"), int64(0))
	})
	run("by the key", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("exports", 4))
		_, err := v.Service().IssueFile(t.Context(), api.IssueFileParams{Key: v.l.Key, Request: o.request()})
		v.is.NoErr(err)
		v.is.Equal(v.used("exports"), int64(4))
	})
	run("a new key", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("exports", 4))
		o.report()
		next, err := v.Service().Rekey(t.Context(), api.RekeyLicenseParams{ID: v.l.ID})
		v.is.NoErr(err)
		before := v.l
		v.is.NoErr(o.count("exports", 3))
		_, err = v.answer(o.request())
		require.ErrorIs(t, err, api.ErrInvalid)
		v.l = next // the administrator types it
		o.report()
		v.is.Equal(v.used("exports"), int64(7))
		v.l = before
	})
	for _, keep := range []bool{false, true} {
		run(fmt.Sprint("transferred with the key ", keep), func(v *vendorOfOffices, o *lendingOffice) {
			v.is.NoErr(o.count("exports", 4))
			o.report()
			_, err := v.Service().Transfer(t.Context(), api.TransferLicenseParams{ID: v.l.ID, CustomerID: "cus_2", KeepKey: keep})
			v.is.NoErr(err)
			v.is.Equal(strings.Contains(archive(v.st), "office_usage"), keep)
			if keep {
				o.report()
			}
			v.is.Equal(v.used("exports"), int64(4))
		})
	}
	run("deleted", func(v *vendorOfOffices, o *lendingOffice) {
		v.is.NoErr(o.count("calls", 4))
		o.report()
		v.is.True(strings.Contains(archive(v.st), "office_usage"))
		v.is.NoErr(v.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: v.l.ID}))
		v.is.True(!strings.Contains(archive(v.st), "office_usage"))
	})
}

// A stoppingStore fails all Updates after some.
type stoppingStore struct {
	store.Store
	left int
}

var errStopped = errors.New("stopped")

func (st *stoppingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if st.left--; st.left < 0 {
		return errStopped
	}
	return st.Store.Update(ctx, fn)
}

// TestOfficeUsageStopped stops the vendor after each Update that answers a request, and
// answers it again.
func TestOfficeUsageStopped(t *testing.T) {
	for updates := range 3 {
		st := &stoppingStore{memory.New(), 1 << 30}
		v := newVendorOfOffices(t, st, exportsPerMonth())
		o := v.open('o')
		v.is.NoErr(o.count("exports", 9))
		v.now = v.now.AddDate(0, 0, 30)
		request := o.request()
		st.left = updates
		_, err := v.answer(request)
		v.is.Equal(errors.Is(err, errStopped), updates < 2)
		st.left = 1 << 30
		v.is.Equal(v.used("exports"), []int64{0, 9, 9}[updates])
		answer, err := v.answer(request)
		v.is.NoErr(err)
		o.run(answer)
		v.is.Equal(v.used("exports"), int64(9))
	}
}

// TestOfficeUsageAtRandom compares what the vendor counts with a model, while offices count,
// correct and are restored, and their requests arrive in any order, some twice or never.
func TestOfficeUsageAtRandom(t *testing.T) {
	meters := []string{"exports", "calls"}
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		v := newVendorOfOffices(t, memory.New(), exportsPerMonth())
		type modeled struct {
			*lendingOffice
			totals, arrived map[string]int64
			month           int64 // of exports, in the present period
		}
		type sent struct {
			by     *modeled
			text   string
			totals map[string]int64
		}
		var offices []*modeled
		for _, key := range []byte("op") {
			offices = append(offices, &modeled{v.open(key), map[string]int64{}, map[string]int64{}, 0})
		}
		type backup struct {
			st     store.Store
			totals map[string]int64
			month  int64
			at     time.Time
		}
		backups := map[*modeled]backup{}
		var requests []sent
		want := map[string]int64{}
		for step := range 80 {
			o := offices[random.IntN(len(offices))]
			meter, n := meters[random.IntN(2)], 1+random.Int64N(30)
			switch random.IntN(10) {
			case 0, 1, 2, 3:
				err := o.count(meter, n)
				if refused := meter == "exports" && o.month+n > 100; refused {
					require.ErrorIs(t, err, api.ErrUsageLimit)
					continue
				}
				v.is.NoErr(err)
				if o.totals[meter] += n; meter == "exports" {
					o.month += n
				}
			case 4: // a correction
				_, err := o.Metering().CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: v.l.ID, Meter: "exports", Used: n})
				v.is.NoErr(err)
				o.totals["exports"] += n - o.month
				o.month = n
			case 5:
				requests = append(requests, sent{o, o.request(), maps.Clone(o.totals)})
			case 6, 7:
				if len(requests) == 0 {
					continue
				}
				r := requests[random.IntN(len(requests))]
				answer, err := v.answer(r.text)
				v.is.NoErr(err)
				r.by.run(answer)
				for meter, total := range r.totals {
					if more := total - r.by.arrived[meter]; more > 0 {
						want[meter] += more
						r.by.arrived[meter] = total
					}
				}
			case 8:
				if b, ok := backups[o]; ok && b.at.Equal(v.now) && random.IntN(2) == 0 {
					o.restore(copyStore(t, b.st))
					o.totals, o.month = maps.Clone(b.totals), b.month
					o.report()
					requests = append(requests, sent{o, o.request(), maps.Clone(o.totals)})
					for meter, total := range o.totals {
						if more := total - o.arrived[meter]; more > 0 {
							want[meter] += more
							o.arrived[meter] = total
						}
					}
				} else {
					backups[o] = backup{copyStore(t, o.st), maps.Clone(o.totals), o.month, v.now}
				}
			case 9:
				if random.IntN(3) == 0 {
					v.now = v.now.AddDate(0, 1, 0)
					for _, o := range offices {
						o.month = 0
					}
				}
			}
			for _, meter := range meters {
				if got := v.used(meter); got != want[meter] {
					t.Fatalf("seed %d, step %d: %s: the vendor counts %d, the model %d", seed, step, meter, got, want[meter])
				}
			}
		}
		if slices.Max([]int64{want["exports"], want["calls"]}) == 0 {
			t.Errorf("seed %d: nothing arrived", seed)
		}
	}
}

// TestUsageOfNoOffice: a key that has had no file yet reports nothing, and the same totals
// count once it is an office.
func TestUsageOfNoOffice(t *testing.T) {
	v := newVendorOfOffices(t, memory.New(), api.Terms{MaxActivations: new(int64(1)), Meters: map[string]api.Meter{"exports": {}}})
	report := func(seats int64) error {
		request, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{
			Seats: seats, KeyHash: licensefile.KeyHash(v.l.Key), Meters: map[string]int64{"exports": 9},
		}, officeKey(7))
		v.is.NoErr(err)
		_, err = v.answer(request)
		return err
	}
	v.is.True(report(2) != nil) // the license has one seat
	stored, err := v.st.Entries(t.Context(), store.EntryQuery{Kind: "office_usage"})
	v.is.NoErr(err)
	v.is.Equal([]int64{int64(len(stored)), v.used("exports")}, []int64{0, 0})
	v.is.NoErr(report(1))
	v.is.Equal(v.used("exports"), int64(0))
	v.is.NoErr(report(1))
	v.is.Equal(v.used("exports"), int64(9))
}
