package license_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// The reason of a state ends with it.
func TestReinstateWithoutAReason(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "Payment overdue"})
	is.NoErr(err)
	l, err = f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(l.StatusReason, "")
}

// TestChangesOfState tries every change from every state.
func TestChangesOfState(t *testing.T) {
	changes := map[string]func(*fixture, api.ChangeStateParams) (api.License, error){
		"suspend":   func(f *fixture, p api.ChangeStateParams) (api.License, error) { return f.Suspend(t.Context(), p) },
		"reinstate": func(f *fixture, p api.ChangeStateParams) (api.License, error) { return f.Reinstate(t.Context(), p) },
		"revoke":    func(f *fixture, p api.ChangeStateParams) (api.License, error) { return f.Revoke(t.Context(), p) },
	}
	for _, test := range []struct {
		before []string // the changes that lead to the state
		change string
		want   api.LicenseStatus
		event  string
		from   api.LicenseStatus // of the StateError
	}{
		{nil, "suspend", api.LicenseSuspended, api.EventLicenseSuspended, ""},
		{nil, "reinstate", api.LicenseActive, "", api.LicenseActive},
		{nil, "revoke", api.LicenseRevoked, api.EventLicenseRevoked, ""},
		{[]string{"suspend"}, "suspend", api.LicenseSuspended, "", api.LicenseSuspended},
		{[]string{"suspend"}, "reinstate", api.LicenseActive, api.EventLicenseReinstated, ""},
		{[]string{"suspend"}, "revoke", api.LicenseRevoked, api.EventLicenseRevoked, ""},
		{[]string{"revoke"}, "suspend", api.LicenseSuspended, "", api.LicenseRevoked},
		{[]string{"revoke"}, "reinstate", api.LicenseActive, "", api.LicenseRevoked},
		{[]string{"revoke"}, "revoke", api.LicenseRevoked, "", api.LicenseRevoked},
	} {
		t.Run(strings.Join(append(test.before, test.change), " then "), func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t)
			for _, name := range test.before {
				var err error
				l, err = changes[name](f, api.ChangeStateParams{ID: l.ID, Reason: "before"})
				is.NoErr(err)
			}
			f.now = f.now.Add(time.Minute)
			changed, err := changes[test.change](f, api.ChangeStateParams{ID: l.ID, Reason: "Payment overdue"})
			if test.from != "" {
				var forbidden *api.StateError
				require.ErrorAs(t, err, &forbidden)
				require.ErrorIs(t, err, api.ErrStateForbids)
				is.Equal(*forbidden, api.StateError{Change: test.change, From: test.from, To: test.want})
				read, err := f.Get(t.Context(), l.ID)
				is.NoErr(err)
				is.Equal(read, l) // nothing has changed
				return
			}
			is.NoErr(err)
			is.Equal(changed.Status, test.want)
			is.Equal(changed.StatusReason, "Payment overdue")
			is.Equal(changed.Revision, l.Revision+1)
			is.Equal(changed.UpdatedAt, f.now)
			e, data := f.lastEvent(t)
			is.Equal(e.Type, test.event)
			is.Equal(data.Reason, "Payment overdue")
			is.Equal(data.Changes["status"], api.FieldChange{From: string(l.Status), To: string(test.want)})
			tallied := string(test.want)
			is.Equal(f.tallies(t, "state"), map[string]int64{tallied: 1})
		})
	}
}

// TestChangesOfStateTakeNoNoticeOfTheClock: expired and scheduled are derived, and
// block nothing.
func TestChangesOfStateTakeNoNoticeOfTheClock(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start.Add(time.Hour)) })
	f.now = start.Add(2 * time.Hour)
	l, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(l.Status, api.LicenseSuspended)
	l, err = f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(l.Status, api.LicenseExpired) // again
}

// TestRevokeKeepsTheRecord, its activations and its history.
//
// Fault: revoking destroys the record, and with it all proof of what was sold.
func TestRevokeKeepsTheRecord(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	a := f.activate(t, l.Key, "pc")
	_, err := f.Revoke(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "Charged back"})
	is.NoErr(err)
	v := f.validate(t, l.Key, "pc")
	is.Equal(codes(v), []api.VerdictCode{api.VerdictRevoked})
	is.Equal(v.License.StatusReason, "Charged back")
	is.Equal(v.Activation.ID, a.ID)
	is.Equal(f.events(t, l.ID), []string{api.EventLicenseCreated, api.EventActivationCreated, api.EventLicenseRevoked})
}

func TestChangesOfStateRefuse(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: " x"})
	is.Equal(fields(t, err), map[string]string{"reason": "invalid_format"})
	_, err = f.Suspend(t.Context(), api.ChangeStateParams{ID: "lic_00000000000000000000000000"})
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, IfMatch: []api.Version{{Revision: 7, Status: api.LicenseActive}}})
	require.ErrorIs(t, err, api.ErrStale)
	_, err = f.As(license.Caller{Products: []string{"prod_other"}}).Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	require.ErrorIs(t, err, api.ErrNotFound)
}

func TestRekey(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	other := f.create(t)
	r, err := f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Reason: "Posted in a forum"})
	is.NoErr(err)
	is.True(r.Key != l.Key)
	is.Equal(r.Revision, int64(2))
	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventLicenseRekeyed)
	is.Equal(data.Reason, "Posted in a forum")
	require.NotContains(t, string(e.Data), r.Key)
	require.NotContains(t, string(e.Data), l.Key)

	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictNotFound) // the leaked key is unknown immediately
	v, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: r.Key})
	is.NoErr(err)
	is.True(v.Valid)

	_, err = f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Key: strings.ToLower(other.Key)})
	require.ErrorIs(t, err, api.ErrKeyTaken)
	_, err = f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Key: "short"})
	is.Equal(fields(t, err), map[string]string{"key": "invalid_format"})
	_, err = f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Key: strings.ToLower(r.Key)})
	is.Equal(fields(t, err), map[string]string{"key": "taken"}) // otherwise a leaked key would stay unnoticed
	_, err = f.Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	_, err = f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID})
	require.ErrorIs(t, err, api.ErrStateForbids)
}
