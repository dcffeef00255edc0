package license_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// fields returns the fields that err complains about, with their codes.
func fields(t *testing.T, err error) map[string]string {
	t.Helper()
	var invalid *api.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, api.ErrInvalid) {
		t.Fatalf("got error %v, want an InvalidError", err)
	}
	out := map[string]string{}
	for _, f := range invalid.Fields {
		if f.Detail == "" {
			t.Errorf("no detail for %s", f.Field)
		}
		out[f.Field] = f.Code
	}
	return out
}

func TestCreateWithThreeFields(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l, err := f.As(license.Caller{Actor: "client:cid_1", RequestID: "req-1"}).Create(t.Context(), plain())
	is.NoErr(err)

	is.Equal(l.Object, "license")
	require.HasPrefix(t, l.ID, "lic_")
	is.Equal(l.Status, api.LicenseActive)
	_, ok := license.ParseKey(l.Key)
	is.True(ok)                        // a key was made
	is.Equal(l.ExpiresAt, nil)         // it never ends
	is.Equal(l.MaxActivations, nil)    // seats are unlimited
	is.Equal(len(l.Entitlements), 0)   // empty, not nil
	is.True(l.Entitlements != nil)     //
	is.True(l.Metadata != nil)         //
	is.Equal(l.Revision, int64(1))     //
	is.Equal(l.CreatedAt, start)       //
	is.Equal(l.UpdatedAt, l.CreatedAt) //

	read, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(read, l)

	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventLicenseCreated)
	is.Equal(e.Subject, l.ID)
	is.Equal(e.ProductID, l.ProductID)
	is.Equal(e.CustomerID, l.CustomerID)
	is.Equal(e.Actor, "client:cid_1")
	is.Equal(e.RequestID, "req-1")
	is.Equal(e.Time, start)
	require.NotContains(t, string(e.Data), l.Key) // no key in an event
	l.Key = ""
	is.Equal(*data.License, l)

	is.Equal(f.tallies(t, "state"), map[string]int64{"active": 1})
	is.Equal(f.tallies(t, "product"), map[string]int64{"prod_editor": 1})
	is.Equal(f.tallies(t, "customer"), map[string]int64{"cus_ada": 1})
}

func TestCreateWithEveryField(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	zone := time.FixedZone("", 2*60*60)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.Key = "LEGACY-0000-1111-abcd"
		p.StartsAt = ptr(time.Date(2026, 1, 1, 2, 0, 0, 123_999_999, zone))
		p.ExpiresAt = ptr(time.Date(2027, 1, 1, 2, 0, 0, 0, zone))
		p.GraceSeconds = 3600
		p.MaxActivations = ptr(int64(0))
		p.LeaseSeconds = ptr(int64(60))
		p.Entitlements = map[string]any{"export": true, "users": 25, "plan": "pro", "ratio": 0.5}
		p.Metadata = map[string]string{"order": "1001", "note": ""}
	})
	is.Equal(l.Key, "LEGACY-0000-1111-abcd") // exactly as brought
	is.Equal(*l.StartsAt, time.Date(2026, 1, 1, 0, 0, 0, 123_000_000, time.UTC))
	is.Equal(*l.ExpiresAt, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	is.Equal(*l.MaxActivations, int64(0))
	is.Equal(l.Entitlements, map[string]any{"export": true, "users": 25.0, "plan": "pro", "ratio": 0.5})
	read, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(read, l)
}

func TestCreateRefuses(t *testing.T) {
	long := func(n int) string { return strings.Repeat("ä", n) }
	many := map[string]string{}
	for i := range 51 {
		many[strings.Repeat("x", i+1)] = ""
	}
	for name, test := range map[string]struct {
		edit func(*api.CreateLicenseParams)
		want map[string]string
	}{
		"nothing":             {func(p *api.CreateLicenseParams) { *p = api.CreateLicenseParams{} }, map[string]string{"name": "required", "product_id": "required", "customer_id": "required"}},
		"long name":           {func(p *api.CreateLicenseParams) { p.Name = long(256) }, map[string]string{"name": "too_long"}},
		"bad UTF-8":           {func(p *api.CreateLicenseParams) { p.Name = "a\xff" }, map[string]string{"name": "invalid_characters"}},
		"NUL":                 {func(p *api.CreateLicenseParams) { p.ProductID = "a\x00b" }, map[string]string{"product_id": "invalid_characters"}},
		"C1 control":          {func(p *api.CreateLicenseParams) { p.Name = "a\u0085b" }, map[string]string{"name": "invalid_characters"}},
		"DEL":                 {func(p *api.CreateLicenseParams) { p.Name = "a\x7f" }, map[string]string{"name": "invalid_characters"}},
		"noncharacter":        {func(p *api.CreateLicenseParams) { p.Name = "a\U0001ffff" }, map[string]string{"name": "invalid_characters"}},
		"outer space":         {func(p *api.CreateLicenseParams) { p.Name = "a\u00a0" }, map[string]string{"name": "invalid_format"}},
		"customer like an id": {func(p *api.CreateLicenseParams) { p.CustomerID = "lic_1" }, map[string]string{"customer_id": "invalid_format"}},
		"short key":           {func(p *api.CreateLicenseParams) { p.Key = "too-short" }, map[string]string{"key": "invalid_format"}},
		"key with a letter":   {func(p *api.CreateLicenseParams) { p.Key = "0123456789ä0123456789" }, map[string]string{"key": "invalid_format"}},
		"short without space": {func(p *api.CreateLicenseParams) { p.Key = "01234 56789 01234" }, map[string]string{"key": "invalid_format"}},
		"year 10000":          {func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }, map[string]string{"expires_at": "out_of_range"}},
		"zero time":           {func(p *api.CreateLicenseParams) { p.StartsAt = &time.Time{} }, map[string]string{"starts_at": "out_of_range"}},
		"end before start":    {func(p *api.CreateLicenseParams) { p.StartsAt, p.ExpiresAt = &start, &start }, map[string]string{"expires_at": "out_of_range"}},
		"negative grace":      {func(p *api.CreateLicenseParams) { p.GraceSeconds = -1 }, map[string]string{"grace_seconds": "out_of_range"}},
		"huge grace":          {func(p *api.CreateLicenseParams) { p.GraceSeconds = math.MaxInt64 }, map[string]string{"grace_seconds": "out_of_range"}},
		"negative seats":      {func(p *api.CreateLicenseParams) { p.MaxActivations = ptr(int64(-1)) }, map[string]string{"max_activations": "out_of_range"}},
		"lease of nothing":    {func(p *api.CreateLicenseParams) { p.LeaseSeconds = ptr(int64(0)) }, map[string]string{"lease_seconds": "out_of_range"}},
		"51 entries":          {func(p *api.CreateLicenseParams) { p.Metadata = many }, map[string]string{"metadata": "too_many"}},
		"long metadata":       {func(p *api.CreateLicenseParams) { p.Metadata = map[string]string{"a/b": long(501)} }, map[string]string{"metadata/a~1b": "too_long"}},
		"nameless metadata":   {func(p *api.CreateLicenseParams) { p.Metadata = map[string]string{"": "x"} }, map[string]string{"metadata": "required"}},
		"false":               {func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"x": false} }, map[string]string{"entitlements/x": "unknown"}},
		"null":                {func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"x": nil} }, map[string]string{"entitlements/x": "invalid_type"}},
		"a list":              {func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"x": []int{1}} }, map[string]string{"entitlements/x": "out_of_range"}},
		"NaN":                 {func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"x": math.NaN()} }, map[string]string{"entitlements/x": "out_of_range"}},
		"inexact number":      {func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"x": int64(1)<<53 + 1} }, map[string]string{"entitlements/x": "out_of_range"}},
		"inexact negative":    {func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"x": -int64(1)<<53 - 1} }, map[string]string{"entitlements/x": "out_of_range"}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			p := plain()
			test.edit(&p)
			_, err := f.Create(t.Context(), p)
			is.Equal(fields(t, err), test.want)
			is.Equal(f.tallies(t, "state"), map[string]int64{}) // nothing was created
		})
	}
	newFixture(t).create(t, func(p *api.CreateLicenseParams) { // limits are in characters
		p.Name, p.Metadata, p.Entitlements = long(255), map[string]string{long(64): long(500)}, map[string]any{long(64): long(255)}
	})
}

func TestCreateKeepsTextExactly(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	for _, text := range []string{strings.Repeat("ä", 255), "e\u0301", "İstanbul ß", "<script>", "a\u200db", "\ufffd", "🏴‍☠️ …"} {
		l := f.create(t, func(p *api.CreateLicenseParams) { p.Name, p.CustomerID = text, text })
		read, err := f.Get(t.Context(), l.ID)
		is.NoErr(err)
		is.Equal(read.Name, text)
		is.Equal(read.CustomerID, text)
	}
}

func TestCreateTakenKey(t *testing.T) {
	f := newFixture(t)
	l := f.create(t)
	p := plain()
	p.Key = strings.ToLower(strings.ReplaceAll(l.Key, "-", ""))
	_, err := f.Create(t.Context(), p)
	require.ErrorIs(t, err, api.ErrKeyTaken) // the same key, written in another way
}

func TestBeforeCreate(t *testing.T) {
	fails := errors.New("no answer")
	tests := map[string]struct {
		hook func(p *api.CreateLicenseParams) error
		want func(is *is.I, l api.License, err error)
	}{
		"fills in": {
			func(p *api.CreateLicenseParams) error { p.MaxActivations = ptr(int64(3)); return nil },
			func(is *is.I, l api.License, err error) { is.NoErr(err); is.Equal(*l.MaxActivations, int64(3)) },
		},
		"refuses": {
			func(p *api.CreateLicenseParams) error {
				return api.Invalid("product_id", api.FieldUnknown, "is not sold here")
			},
			func(is *is.I, l api.License, err error) {
				is.Equal(fields(t, err), map[string]string{"product_id": "unknown"})
			},
		},
		"fails": {
			func(p *api.CreateLicenseParams) error { return fails },
			func(_ *is.I, _ api.License, err error) { require.ErrorIs(t, err, fails) },
		},
		"breaks a rule": {
			func(p *api.CreateLicenseParams) error { p.Name = ""; return nil },
			func(is *is.I, l api.License, err error) {
				is.Equal(fields(t, err), map[string]string{"name": "required"})
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *license.Options) {
				o.BeforeCreate = func(_ context.Context, p *api.CreateLicenseParams) error { return test.hook(p) }
			})
			l, err := f.Create(t.Context(), plain())
			test.want(is.New(t), l, err)
		})
	}
}

func TestBeforeCreateRunsOutsideUpdates(t *testing.T) {
	is := is.New(t)
	var f *fixture
	runs := 0
	f = newFixture(t, func(o *license.Options) {
		o.BeforeCreate = func(ctx context.Context, p *api.CreateLicenseParams) error {
			runs++
			_, err := f.List(ctx, api.ListLicensesParams{}) // would not return inside an Update
			return err
		}
	})
	f.create(t)
	is.Equal(runs, 1)
	for range 2 {
		_, err := f.createOnce(t, plain())
		is.NoErr(err)
	}
	is.Equal(runs, 2) // not for a replay
}

// createOnce creates a license as a request with an Idempotency-Key does.
func (f *fixture) createOnce(t *testing.T, p api.CreateLicenseParams) (l api.License, err error) {
	prepare, create := inner.Of(f.Service).CreateInParts(t.Context(), p)
	_, _, err = inner.Of(f.Service).OncePrepared(t.Context(), "key", "print", prepare, func(in *license.Service) (_ []byte, err error) {
		l, err = create(in)
		return nil, err
	})
	return l, err
}

// TestBeforeCreateInsideAtomically: the hook runs in place, so it ends for every
// hook and function, and its cost does not grow with the square of the licenses.
func TestBeforeCreateInsideAtomically(t *testing.T) {
	is := is.New(t)
	runs := 0
	f := newFixture(t, func(o *license.Options) {
		o.BeforeCreate = func(_ context.Context, p *api.CreateLicenseParams) error {
			runs++
			*p.ExpiresAt = p.ExpiresAt.AddDate(0, 0, runs)
			return nil
		}
	})
	attempts := 0
	create := func(s *license.Service) (err error) {
		attempts++
		for range 20 {
			p := plain()
			p.Key, p.ExpiresAt = license.NewKey(), ptr(start.AddDate(1, 0, 0))
			if _, err = s.Create(t.Context(), p); err != nil {
				return err
			}
		}
		return nil
	}
	is.NoErr(f.Atomically(t.Context(), create))
	is.Equal(runs, 20*attempts)
	_, _, err := f.Once(t.Context(), "key", "", func(s *license.Service) ([]byte, error) { return nil, create(s) })
	is.NoErr(err)
	is.Equal(runs, 20*attempts)
	is.Equal(f.tallies(t, "state"), map[string]int64{"active": 40})
}

func TestBeforeCreateGetsACopy(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) {
		o.BeforeCreate = func(_ context.Context, p *api.CreateLicenseParams) error {
			*p.StartsAt, *p.ExpiresAt = p.StartsAt.AddDate(1, 0, 0), p.ExpiresAt.AddDate(1, 0, 0)
			*p.MaxActivations, *p.LeaseSeconds, *p.OfflineSeconds = 7, 7, 7
			p.Entitlements["plan"], p.Metadata["order"] = "changed", "changed"
			return nil
		}
	})
	given := func() api.CreateLicenseParams {
		p := plain()
		p.StartsAt, p.ExpiresAt = ptr(start), ptr(start.AddDate(1, 0, 0))
		p.MaxActivations, p.LeaseSeconds, p.OfflineSeconds = ptr(int64(1)), ptr(int64(60)), ptr(int64(60))
		p.Entitlements, p.Metadata = map[string]any{"plan": "pro"}, map[string]string{"order": "1"}
		return p
	}
	p := given()
	for _, create := range []func() error{
		func() error { _, err := f.Create(t.Context(), p); return err },
		func() error {
			l, err := f.createOnce(t, p)
			is.Equal(*l.MaxActivations, int64(7))
			return err
		},
		func() error {
			return f.Atomically(t.Context(), func(s *license.Service) error { _, err := s.Create(t.Context(), p); return err })
		},
	} {
		is.NoErr(create())
		is.Equal(p, given())
	}
}
