package license_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// codes returns the codes of a verdict's reasons.
func codes(v api.Verdict) []api.VerdictCode {
	var out []api.VerdictCode
	for _, r := range v.Reasons {
		out = append(out, r.Code)
	}
	return out
}

// TestVerdictOverTime follows one license from before its start to after its
// grace. The verdict at each instant says when the next comes.
//
// Fault: expiry is judged at the start of the program, or from an answer that
// does not say how long it holds.
func TestVerdictOverTime(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	starts, expires := start.Add(10*time.Hour), start.Add(100*time.Hour)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.StartsAt, p.ExpiresAt, p.GraceSeconds = &starts, &expires, 3600
	})
	graceEnds := expires.Add(time.Hour)
	for _, step := range []struct {
		at      time.Time
		code    api.VerdictCode
		status  api.LicenseStatus
		next    *time.Time
		recheck int64
	}{
		{start, api.VerdictScheduled, api.LicenseScheduled, &starts, 3600},
		{starts.Add(-time.Millisecond), api.VerdictScheduled, api.LicenseScheduled, &starts, 1},
		{starts, api.VerdictValid, api.LicenseActive, &expires, 3600},
		{expires.Add(-1500 * time.Millisecond), api.VerdictValid, api.LicenseActive, &expires, 2},
		{expires.Add(-time.Microsecond), api.VerdictValid, api.LicenseActive, &expires, 1},
		{expires, api.VerdictInGrace, api.LicenseExpired, &graceEnds, 3600},
		{graceEnds.Add(-time.Millisecond), api.VerdictInGrace, api.LicenseExpired, &graceEnds, 1},
		{graceEnds, api.VerdictExpired, api.LicenseExpired, nil, 3600},
		{graceEnds.AddDate(50, 0, 0), api.VerdictExpired, api.LicenseExpired, nil, 3600},
	} {
		explained, err := f.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID, At: step.at})
		is.NoErr(err)
		f.now = step.at
		v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
		is.NoErr(err)
		is.Equal(v.Verdict, explained) // what Explain foretold has come
		f.now = start

		is.Equal(v.Code, step.code)
		is.Equal(v.Valid, step.code == api.VerdictValid || step.code == api.VerdictInGrace)
		is.Equal(len(v.Reasons) == 0, v.Valid)
		is.True(v.Reasons != nil)
		is.Equal(v.License.Status, step.status)
		is.Equal(v.License.Key, "") // a verdict repeats no key
		is.Equal(v.NextChangeAt, step.next)
		is.Equal(v.RecheckAfter, step.recheck)
	}
	is.Equal(f.events(t, l.ID), []string{api.EventLicenseCreated}) // no event for a validation
}

// TestVerdictReasons: every failing reason is there, in the one order.
func TestVerdictReasons(t *testing.T) {
	expired := func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start.Add(-time.Hour)) }
	scheduled := func(p *api.CreateLicenseParams) { p.StartsAt = ptr(start.Add(time.Hour)) }
	entitled := func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"export": true, "users": 0} }
	noSeats := func(p *api.CreateLicenseParams) { p.MaxActivations = ptr(int64(0)) }
	updated := func(p *api.CreateLicenseParams) { p.UpdatesUntil = ptr(start) }
	for name, test := range map[string]struct {
		edits []func(*api.CreateLicenseParams)
		moves []func(*license.Service, api.ChangeStateParams) error
		ask   api.ValidateKeyParams
		want  []api.VerdictCode
	}{
		"plain":           {},
		"revoked":         {moves: moves("revoke"), want: []api.VerdictCode{api.VerdictRevoked}},
		"suspended":       {moves: moves("suspend"), want: []api.VerdictCode{api.VerdictSuspended}},
		"expired":         {edits: edits(expired), want: []api.VerdictCode{api.VerdictExpired}},
		"scheduled":       {edits: edits(scheduled), want: []api.VerdictCode{api.VerdictScheduled}},
		"right scope":     {ask: api.ValidateKeyParams{ProductID: "prod_editor", CustomerID: "cus_ada"}},
		"wrong product":   {ask: api.ValidateKeyParams{ProductID: "prod_Editor"}, want: []api.VerdictCode{api.VerdictProductMismatch}},
		"wrong customer":  {ask: api.ValidateKeyParams{CustomerID: "cus_bob"}, want: []api.VerdictCode{api.VerdictCustomerMismatch}},
		"last build":      {edits: edits(updated), ask: api.ValidateKeyParams{BuiltAt: ptr(start)}},
		"newer build":     {edits: edits(updated), ask: api.ValidateKeyParams{BuiltAt: ptr(start.Add(time.Millisecond))}, want: []api.VerdictCode{api.VerdictUpdatesEnded}},
		"entitled":        {edits: edits(entitled), ask: api.ValidateKeyParams{Entitlements: []string{"export", "users"}}},
		"not entitled":    {edits: edits(entitled), ask: api.ValidateKeyParams{Entitlements: []string{"a", "export", "b"}}, want: []api.VerdictCode{api.VerdictEntitlementMissing, api.VerdictEntitlementMissing}},
		"no seat":         {ask: api.ValidateKeyParams{Fingerprint: "pc"}, want: []api.VerdictCode{api.VerdictNotActivated}},
		"no seat to have": {edits: edits(noSeats), ask: api.ValidateKeyParams{Fingerprint: "pc"}, want: []api.VerdictCode{api.VerdictNotActivated, api.VerdictActivationLimit}},
		"all together": {
			edits: edits(expired, noSeats), moves: moves("suspend"),
			ask: api.ValidateKeyParams{ProductID: "x", CustomerID: "y", Fingerprint: "pc", Entitlements: []string{"z"}},
			want: []api.VerdictCode{
				api.VerdictSuspended, api.VerdictExpired, api.VerdictProductMismatch, api.VerdictCustomerMismatch,
				api.VerdictNotActivated, api.VerdictActivationLimit, api.VerdictEntitlementMissing,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, test.edits...)
			for _, move := range test.moves {
				is.NoErr(move(f.Service, api.ChangeStateParams{ID: l.ID}))
			}
			test.ask.Key = l.Key
			v, err := f.Validate(t.Context(), test.ask)
			is.NoErr(err)
			is.Equal(codes(v.Verdict), test.want)
			is.Equal(v.Valid, len(test.want) == 0)
			order := []api.VerdictCode{
				api.VerdictNotFound, api.VerdictRevoked, api.VerdictSuspended, api.VerdictExpired, api.VerdictScheduled,
				api.VerdictProductMismatch, api.VerdictCustomerMismatch, api.VerdictUpdatesEnded, api.VerdictNotActivated, api.VerdictLeaseEnded,
				api.VerdictEvicted, api.VerdictActivationLimit, api.VerdictEntitlementMissing,
			}
			is.True(slices.IsSortedFunc(v.Reasons, func(a, b api.Reason) int {
				return slices.Index(order, a.Code) - slices.Index(order, b.Code)
			}))
			if len(test.want) > 0 {
				is.Equal(v.Code, test.want[0])
			}
			explain := api.ExplainLicenseParams{
				ID: l.ID, ProductID: test.ask.ProductID, CustomerID: test.ask.CustomerID,
				Fingerprint: test.ask.Fingerprint, Entitlements: test.ask.Entitlements,
			}
			if at := test.ask.BuiltAt; at != nil {
				explain.BuiltAt = *at
			}
			explained, err := f.Explain(t.Context(), explain)
			is.NoErr(err)
			is.Equal(explained, v.Verdict)
		})
	}
}

func edits(e ...func(*api.CreateLicenseParams)) []func(*api.CreateLicenseParams) { return e }

func moves(names ...string) (out []func(*license.Service, api.ChangeStateParams) error) {
	for _, name := range names {
		out = append(out, func(s *license.Service, p api.ChangeStateParams) (err error) {
			if name == "revoke" {
				_, err = s.Revoke(context.Background(), p)
			} else {
				_, err = s.Suspend(context.Background(), p)
			}
			return err
		})
	}
	return out
}

// TestRecheckAfterKeepsTheLease asks again exactly when each verdict says, with
// licenses that are not valid for the program but may be soon.
//
// Fault: the verdict of a missing entitlement says to ask when the lease ends,
// and a program that obeys loses its activation.
func TestRecheckAfterKeepsTheLease(t *testing.T) {
	is := is.New(t)
	for _, lease := range []int64{2, 3, 600, 86400} {
		f := newFixture(t)
		l := f.create(t, seats(1, lease))
		_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
		is.NoErr(err)
		for range 5 {
			v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc", Entitlements: []string{"export"}})
			is.NoErr(err)
			is.Equal(codes(v.Verdict), []api.VerdictCode{api.VerdictEntitlementMissing})
			is.Equal(v.Activation.Status, api.ActivationLive)
			is.Equal(v.RecheckAfter, min(lease/2, 3600))
			f.now = f.now.Add(time.Duration(v.RecheckAfter) * time.Second)
		}
		_, err = f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
		v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc"})
		is.NoErr(err)
		is.Equal(codes(v.Verdict), []api.VerdictCode{api.VerdictSuspended})
		left := v.Activation.LeaseEndsAt.Sub(f.now)
		is.Equal(v.RecheckAfter, max(1, min(int64(left/2/time.Second), 3600)))

		f.now = f.now.Add(left) // an activation that has ended limits nothing
		v, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc"})
		is.NoErr(err)
		is.Equal(v.RecheckAfter, int64(3600))
	}
}

// TestRecheckAfterOfAHeldSeat: a seat that only a license file still holds has no
// lease to renew.
func TestRecheckAfterOfAHeldSeat(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 60))
	f.activateFile(t, l.Key, "pc")
	_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	f.now = f.now.Add(90 * time.Second)
	v := f.validate(t, l.Key, "pc")
	is.Equal(v.Activation.Status, api.ActivationLive)
	is.Equal(v.RecheckAfter, int64(3600))
}

// TestUnknownKeyGivesNoHint: the store is asked the same about a key that no
// license has, one that is no key at all, one of a product that does not exist
// for the caller, and one whose holder has no seat.
func TestUnknownKeyGivesNoHint(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	counting := &countingStore{Store: f.store}
	s := license.New(counting, license.Options{Now: func() time.Time { return f.now }})
	limited := s.As(license.Caller{Products: []string{"prod_other"}})
	for _, fingerprint := range []string{"", "pc"} {
		var calls [][]string
		for _, ask := range []struct {
			s    *license.Service
			key  string
			want api.VerdictCode
		}{
			{s, license.NewKey(), api.VerdictNotFound},
			{s, "no key", api.VerdictNotFound},
			{s, "\x00", api.VerdictNotFound},
			{limited, l.Key, api.VerdictNotFound},
			{s, l.Key, ""},
		} {
			counting.calls = nil
			v, err := ask.s.Validate(t.Context(), api.ValidateKeyParams{Key: ask.key, Fingerprint: fingerprint})
			is.NoErr(err)
			if ask.want != "" {
				is.Equal(v.Verdict, api.Verdict{
					Code: api.VerdictNotFound, RecheckAfter: 3600,
					Reasons: []api.Reason{{Code: api.VerdictNotFound, Detail: "No license has this key; check it for typos."}},
				})
			}
			calls = append(calls, counting.calls)
		}
		for _, other := range calls[1:] {
			is.Equal(other, calls[0]) // the same calls in the same order
		}
	}
}

func TestValidateReadsForgivingly(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	imported := f.create(t, func(p *api.CreateLicenseParams) { p.Key = "old-style/Key#0001" })
	for key, want := range map[string]api.VerdictCode{
		" " + l.Key[:5] + l.Key[6:] + "\n": api.VerdictValid,
		"old-style/Key#0001":               api.VerdictValid,
		"OLD-STYLE/KEY#0001":               api.VerdictNotFound,
	} {
		v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: key})
		is.NoErr(err)
		is.Equal(v.Code, want)
	}
	_, err := f.Validate(t.Context(), api.ValidateKeyParams{Fingerprint: "a\x00"})
	is.Equal(fields(t, err), map[string]string{"key": "required", "fingerprint": "invalid_characters"})
	_, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: imported.Key, Entitlements: []string{""}})
	require.ErrorIs(t, err, api.ErrInvalid)
}

func TestExplainWritesNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.LeaseSeconds = ptr(int64(600)) })
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
	is.NoErr(err)
	counting := &countingStore{Store: f.store}
	s := license.New(counting, license.Options{Now: func() time.Time { return f.now }})
	for _, at := range []time.Duration{-time.Hour, 0, time.Minute, 10 * time.Minute, time.Hour} {
		v, err := s.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID, At: start.Add(at), Fingerprint: "pc"})
		is.NoErr(err)
		is.Equal(v.Valid, at < 10*time.Minute) // the lease ends unless it is renewed
	}
	is.True(!slices.Contains(counting.calls, "Update"))

	_, err = s.Explain(t.Context(), api.ExplainLicenseParams{ID: "lic_00000000000000000000000000"})
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = s.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID, At: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)})
	is.Equal(fields(t, err), map[string]string{"at": "out_of_range"})
}

func TestVerdictJSON(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
	is.NoErr(err)
	text, err := json.Marshal(v)
	is.NoErr(err)
	var members map[string]any
	is.NoErr(json.Unmarshal(text, &members))
	is.Equal(slices.Sorted(maps.Keys(members)), []string{"activation", "code", "license", "next_change_at", "reasons", "recheck_after", "valid"})
	is.Equal(members["reasons"], []any{})
	is.Equal(members["activation"], nil)
}

// TestVerdictPastTheYear9999: what an end at the last of all times and a grace
// lead to has a form in JSON.
//
// Fault: RFC 3339 has four digits for a year.
func TestVerdictPastTheYear9999(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.ExpiresAt, p.GraceSeconds = ptr(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), 30*24*3600
	})
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "unknown"})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictNotActivated) // until the grace ends
	is.Equal(v.NextChangeAt, nil)
	_, err = json.Marshal(v)
	is.NoErr(err)
}
