package license_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// codes returns the codes of a verdict's reasons.
func codes(v license.Verdict) []license.VerdictCode {
	var out []license.VerdictCode
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
	l := f.create(t, func(p *license.CreateParams) {
		p.StartsAt, p.ExpiresAt, p.GraceSeconds = &starts, &expires, 3600
	})
	graceEnds := expires.Add(time.Hour)
	for _, step := range []struct {
		at      time.Time
		code    license.VerdictCode
		status  license.Status
		next    *time.Time
		recheck int64
	}{
		{start, license.VerdictScheduled, license.StatusScheduled, &starts, 3600},
		{starts.Add(-time.Millisecond), license.VerdictScheduled, license.StatusScheduled, &starts, 1},
		{starts, license.VerdictValid, license.StatusActive, &expires, 3600},
		{expires.Add(-1500 * time.Millisecond), license.VerdictValid, license.StatusActive, &expires, 2},
		{expires.Add(-time.Microsecond), license.VerdictValid, license.StatusActive, &expires, 1},
		{expires, license.VerdictInGrace, license.StatusExpired, &graceEnds, 3600},
		{graceEnds.Add(-time.Millisecond), license.VerdictInGrace, license.StatusExpired, &graceEnds, 1},
		{graceEnds, license.VerdictExpired, license.StatusExpired, nil, 3600},
		{graceEnds.AddDate(50, 0, 0), license.VerdictExpired, license.StatusExpired, nil, 3600},
	} {
		explained, err := f.Explain(t.Context(), license.ExplainParams{ID: l.ID, At: step.at})
		is.NoErr(err)
		f.now = step.at
		v, err := f.Validate(t.Context(), license.ValidateParams{Key: l.Key})
		is.NoErr(err)
		is.Equal(v.Verdict, explained) // what Explain foretold has come
		f.now = start

		is.Equal(v.Code, step.code)
		is.Equal(v.Valid, step.code == license.VerdictValid || step.code == license.VerdictInGrace)
		is.Equal(len(v.Reasons) == 0, v.Valid)
		is.True(v.Reasons != nil)
		is.Equal(v.License.Status, step.status)
		is.Equal(v.License.Key, "") // a verdict repeats no key
		is.Equal(v.NextChangeAt, step.next)
		is.Equal(v.RecheckAfter, step.recheck)
	}
	is.Equal(f.events(t, l.ID), []string{license.EventLicenseCreated}) // no event for a validation
}

// TestVerdictReasons: every failing reason is there, in the one order.
func TestVerdictReasons(t *testing.T) {
	expired := func(p *license.CreateParams) { p.ExpiresAt = ptr(start.Add(-time.Hour)) }
	scheduled := func(p *license.CreateParams) { p.StartsAt = ptr(start.Add(time.Hour)) }
	entitled := func(p *license.CreateParams) { p.Entitlements = map[string]any{"export": true, "users": 0} }
	noSeats := func(p *license.CreateParams) { p.MaxActivations = ptr(int64(0)) }
	updated := func(p *license.CreateParams) { p.UpdatesUntil = ptr(start) }
	for name, test := range map[string]struct {
		edits []func(*license.CreateParams)
		moves []func(*license.Service, license.MoveParams) error
		ask   license.ValidateParams
		want  []license.VerdictCode
	}{
		"plain":           {},
		"revoked":         {moves: moves("revoke"), want: []license.VerdictCode{license.VerdictRevoked}},
		"suspended":       {moves: moves("suspend"), want: []license.VerdictCode{license.VerdictSuspended}},
		"expired":         {edits: edits(expired), want: []license.VerdictCode{license.VerdictExpired}},
		"scheduled":       {edits: edits(scheduled), want: []license.VerdictCode{license.VerdictScheduled}},
		"right scope":     {ask: license.ValidateParams{ProductID: "prod_editor", CustomerID: "cus_ada"}},
		"wrong product":   {ask: license.ValidateParams{ProductID: "prod_Editor"}, want: []license.VerdictCode{license.VerdictProductMismatch}},
		"wrong customer":  {ask: license.ValidateParams{CustomerID: "cus_bob"}, want: []license.VerdictCode{license.VerdictCustomerMismatch}},
		"last build":      {edits: edits(updated), ask: license.ValidateParams{BuiltAt: ptr(start)}},
		"newer build":     {edits: edits(updated), ask: license.ValidateParams{BuiltAt: ptr(start.Add(time.Millisecond))}, want: []license.VerdictCode{license.VerdictUpdatesEnded}},
		"entitled":        {edits: edits(entitled), ask: license.ValidateParams{Entitlements: []string{"export", "users"}}},
		"not entitled":    {edits: edits(entitled), ask: license.ValidateParams{Entitlements: []string{"a", "export", "b"}}, want: []license.VerdictCode{license.VerdictEntitlementMissing, license.VerdictEntitlementMissing}},
		"no seat":         {ask: license.ValidateParams{Fingerprint: "pc"}, want: []license.VerdictCode{license.VerdictNotActivated}},
		"no seat to have": {edits: edits(noSeats), ask: license.ValidateParams{Fingerprint: "pc"}, want: []license.VerdictCode{license.VerdictNotActivated, license.VerdictActivationLimit}},
		"all together": {
			edits: edits(expired, noSeats), moves: moves("suspend"),
			ask: license.ValidateParams{ProductID: "x", CustomerID: "y", Fingerprint: "pc", Entitlements: []string{"z"}},
			want: []license.VerdictCode{
				license.VerdictSuspended, license.VerdictExpired, license.VerdictProductMismatch, license.VerdictCustomerMismatch,
				license.VerdictNotActivated, license.VerdictActivationLimit, license.VerdictEntitlementMissing,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, test.edits...)
			for _, move := range test.moves {
				is.NoErr(move(f.Service, license.MoveParams{ID: l.ID}))
			}
			test.ask.Key = l.Key
			v, err := f.Validate(t.Context(), test.ask)
			is.NoErr(err)
			is.Equal(codes(v.Verdict), test.want)
			is.Equal(v.Valid, len(test.want) == 0)
			order := []license.VerdictCode{
				license.VerdictNotFound, license.VerdictRevoked, license.VerdictSuspended, license.VerdictExpired, license.VerdictScheduled,
				license.VerdictProductMismatch, license.VerdictCustomerMismatch, license.VerdictUpdatesEnded, license.VerdictNotActivated, license.VerdictLeaseEnded,
				license.VerdictEvicted, license.VerdictActivationLimit, license.VerdictEntitlementMissing,
			}
			is.True(slices.IsSortedFunc(v.Reasons, func(a, b license.Reason) int {
				return slices.Index(order, a.Code) - slices.Index(order, b.Code)
			}))
			if len(test.want) > 0 {
				is.Equal(v.Code, test.want[0])
			}
			explain := license.ExplainParams{
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

func edits(e ...func(*license.CreateParams)) []func(*license.CreateParams) { return e }

func moves(names ...string) (out []func(*license.Service, license.MoveParams) error) {
	for _, name := range names {
		out = append(out, func(s *license.Service, p license.MoveParams) (err error) {
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
		_, err := f.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: "pc"})
		is.NoErr(err)
		for range 5 {
			v, err := f.Validate(t.Context(), license.ValidateParams{Key: l.Key, Fingerprint: "pc", Entitlements: []string{"export"}})
			is.NoErr(err)
			is.Equal(codes(v.Verdict), []license.VerdictCode{license.VerdictEntitlementMissing})
			is.Equal(v.Activation.Status, license.ActivationLive)
			is.Equal(v.RecheckAfter, min(lease/2, 3600))
			f.now = f.now.Add(time.Duration(v.RecheckAfter) * time.Second)
		}
		_, err = f.Suspend(t.Context(), license.MoveParams{ID: l.ID})
		is.NoErr(err)
		v, err := f.Validate(t.Context(), license.ValidateParams{Key: l.Key, Fingerprint: "pc"})
		is.NoErr(err)
		is.Equal(codes(v.Verdict), []license.VerdictCode{license.VerdictSuspended})
		left := v.Activation.LeaseEndsAt.Sub(f.now)
		is.Equal(v.RecheckAfter, max(1, min(int64(left/2/time.Second), 3600)))

		f.now = f.now.Add(left) // an activation that has ended limits nothing
		v, err = f.Validate(t.Context(), license.ValidateParams{Key: l.Key, Fingerprint: "pc"})
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
	_, err := f.Suspend(t.Context(), license.MoveParams{ID: l.ID})
	is.NoErr(err)
	f.now = f.now.Add(90 * time.Second)
	v := f.validate(t, l.Key, "pc")
	is.Equal(v.Activation.Status, license.ActivationLive)
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
			want license.VerdictCode
		}{
			{s, license.NewKey(), license.VerdictNotFound},
			{s, "no key", license.VerdictNotFound},
			{s, "\x00", license.VerdictNotFound},
			{limited, l.Key, license.VerdictNotFound},
			{s, l.Key, ""},
		} {
			counting.calls = nil
			v, err := ask.s.Validate(t.Context(), license.ValidateParams{Key: ask.key, Fingerprint: fingerprint})
			is.NoErr(err)
			if ask.want != "" {
				is.Equal(v.Verdict, license.Verdict{
					Code: license.VerdictNotFound, RecheckAfter: 3600,
					Reasons: []license.Reason{{Code: license.VerdictNotFound, Detail: "No license has this key; check it for typos."}},
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
	imported := f.create(t, func(p *license.CreateParams) { p.Key = "old-style/Key#0001" })
	for key, want := range map[string]license.VerdictCode{
		" " + l.Key[:5] + l.Key[6:] + "\n": license.VerdictValid,
		"old-style/Key#0001":               license.VerdictValid,
		"OLD-STYLE/KEY#0001":               license.VerdictNotFound,
	} {
		v, err := f.Validate(t.Context(), license.ValidateParams{Key: key})
		is.NoErr(err)
		is.Equal(v.Code, want)
	}
	_, err := f.Validate(t.Context(), license.ValidateParams{Fingerprint: "a\x00"})
	is.Equal(fields(t, err), map[string]string{"key": "required", "fingerprint": "invalid_characters"})
	_, err = f.Validate(t.Context(), license.ValidateParams{Key: imported.Key, Entitlements: []string{""}})
	require.ErrorIs(t, err, license.ErrInvalid)
}

func TestExplainWritesNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *license.CreateParams) { p.LeaseSeconds = ptr(int64(600)) })
	_, err := f.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: "pc"})
	is.NoErr(err)
	counting := &countingStore{Store: f.store}
	s := license.New(counting, license.Options{Now: func() time.Time { return f.now }})
	for _, at := range []time.Duration{-time.Hour, 0, time.Minute, 10 * time.Minute, time.Hour} {
		v, err := s.Explain(t.Context(), license.ExplainParams{ID: l.ID, At: start.Add(at), Fingerprint: "pc"})
		is.NoErr(err)
		is.Equal(v.Valid, at < 10*time.Minute) // the lease ends unless it is renewed
	}
	is.True(!slices.Contains(counting.calls, "Update"))

	_, err = s.Explain(t.Context(), license.ExplainParams{ID: "lic_00000000000000000000000000"})
	require.ErrorIs(t, err, license.ErrNotFound)
	_, err = s.Explain(t.Context(), license.ExplainParams{ID: l.ID, At: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)})
	is.Equal(fields(t, err), map[string]string{"at": "out_of_range"})
}

func TestVerdictJSON(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	v, err := f.Validate(t.Context(), license.ValidateParams{Key: l.Key})
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
	l := f.create(t, func(p *license.CreateParams) {
		p.ExpiresAt, p.GraceSeconds = ptr(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), 30*24*3600
	})
	v, err := f.Validate(t.Context(), license.ValidateParams{Key: l.Key, Fingerprint: "unknown"})
	is.NoErr(err)
	is.Equal(v.Code, license.VerdictNotActivated) // until the grace ends
	is.Equal(v.NextChangeAt, nil)
	_, err = json.Marshal(v)
	is.NoErr(err)
}
