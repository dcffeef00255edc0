package operator

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/hashcost"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

const (
	goodPassword  = "the ferry leaves before breakfast"
	otherPassword = "nine lamps along the harbour wall"
)

var costOfHosts = hashcost.Current // before init lowers it

func init() { hashcost.ForTests() }

// failuresPerMinute is how many times per minute an address may fail.
const failuresPerMinute = 20

// fixture is a Service on an empty store with a clock that tests set.
type fixture struct {
	internals
	st  store.Store
	now time.Time
	log strings.Builder
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	o := &fixture{st: storetest.Twice(memory.New()), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	o.Service = open(inner.Config{
		Store:  o.st,
		Now:    func() time.Time { return o.now },
		Logger: slog.New(slog.NewTextHandler(io.Writer(&o.log), nil)),
	})
	return o
}

// open returns a Service with the default limit of failed attempts.
func open(c inner.Config) *Service {
	s := new(Service)
	inner.Of(s).Init(c, failuresPerMinute, nil)
	return s
}

func (o *fixture) operator(t *testing.T, email string, role Role) Operator {
	t.Helper()
	op, err := o.Create(t.Context(), CreateParams{Email: email, Password: goodPassword, Role: role})
	is.New(t).NoErr(err)
	return op
}

// events returns the types and actors of all events, and all of their data.
func (o *fixture) events(t *testing.T) (types []string, text string) {
	t.Helper()
	list, err := o.st.Events(t.Context(), store.EventQuery{})
	is.New(t).NoErr(err)
	for _, e := range list {
		types = append(types, e.Type+" by "+e.Actor)
		text += string(e.Data) + "\n"
	}
	return types, text
}

func TestCreate(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)

	op, err := o.As(auth.Caller{Actor: "operator:opr_boss"}).Create(t.Context(), CreateParams{Email: "Ada@Example.com", Password: goodPassword})
	is.NoErr(err)
	is.Equal(op.Role, RoleViewer) // the role that may do least
	is.Equal(op.CreatedAt, o.now)
	got, err := o.Get(t.Context(), op.ID)
	is.NoErr(err)
	is.Equal(got, op)

	var invalid *api.InvalidError
	_, err = o.Create(t.Context(), CreateParams{Email: "ada@example.COM", Password: goodPassword})
	require.ErrorAs(t, err, &invalid) // addresses are compared without regard to case
	is.Equal(invalid.Fields[0].Code, "taken")

	for field, p := range map[string]CreateParams{
		"email":    {Email: "Ada <ada@example.com>", Password: goodPassword},
		"role":     {Email: "b@example.com", Password: goodPassword, Role: "root"},
		"password": {Email: "b@example.com", Password: "short"},
	} {
		_, err := o.Create(t.Context(), p)
		require.ErrorAs(t, err, &invalid)
		require.ErrorIs(t, err, api.ErrInvalid)
		is.Equal(invalid.Fields[0].Field, field)
		require.HasPrefix(t, err.Error(), field+" must ") // one sentence, also for Go code and commands
	}
	_, err = o.Get(t.Context(), "opr_unknown")
	require.ErrorIs(t, err, api.ErrNotFound)

	types, text := o.events(t)
	is.Equal(types, []string{"operator.created by operator:opr_boss"})
	require.Contains(t, text, `"email":"Ada@Example.com"`)
	require.NotContains(t, text, "argon2") // no hash in an event
}

func TestList(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	for _, name := range []string{"c", "a", "b"} {
		o.operator(t, name+"@example.com", RoleAdmin)
		o.now = o.now.Add(time.Second)
	}
	var emails []string
	p := ListParams{Limit: 2}
	for more := true; more; {
		page, err := o.List(t.Context(), p)
		is.NoErr(err)
		for _, op := range page.Data {
			emails = append(emails, op.Email)
		}
		p.Cursor, more = page.NextCursor, page.HasMore
		is.Equal(more, p.Cursor != "")
	}
	is.Equal(emails, []string{"c@example.com", "a@example.com", "b@example.com"}) // in order of creation
	page, err := o.List(t.Context(), ListParams{Limit: 3})
	is.NoErr(err)
	is.Equal(len(page.Data), 3)
	is.Equal(page.HasMore, false) // a full page that is the last
	for _, limit := range []int{-1, 201, 9999} {
		_, err = o.List(t.Context(), ListParams{Limit: limit})
		require.ErrorIs(t, err, api.ErrInvalid)
	}
}

// TestUpdateLeavesAnAdmin who can sign in, and records only changes.
func TestUpdateLeavesAnAdmin(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newFixture(t)
	ada := o.operator(t, "ada@example.com", RoleAdmin)
	bob := o.operator(t, "bob@example.com", RoleViewer)
	viewer, admin, yes := RoleViewer, RoleAdmin, true

	_, err := o.Update(ctx, UpdateParams{ID: ada.ID, Role: &viewer})
	require.ErrorIs(t, err, ErrLastAdmin) // no admin would be left
	_, err = o.Update(ctx, UpdateParams{ID: ada.ID, Disabled: &yes})
	require.ErrorIs(t, err, ErrLastAdmin)

	other := o.operator(t, "eve@example.com", RoleAdmin)
	_, err = o.Update(ctx, UpdateParams{ID: other.ID, Disabled: &yes})
	is.NoErr(err)
	_, err = o.Update(ctx, UpdateParams{ID: ada.ID, Role: &viewer})
	require.ErrorIs(t, err, ErrLastAdmin) // the other admin cannot sign in

	o.now = o.now.Add(time.Hour)
	bob, err = o.Update(ctx, UpdateParams{ID: bob.ID, Role: &admin})
	is.NoErr(err)
	is.Equal(bob.Role, RoleAdmin)
	is.Equal(bob.UpdatedAt, o.now)

	ada, err = o.Update(ctx, UpdateParams{ID: ada.ID, Role: &viewer})
	is.NoErr(err)
	is.Equal(ada.Role, RoleViewer) // another admin exists now

	o.now = o.now.Add(time.Hour)
	same, err := o.Update(ctx, UpdateParams{ID: ada.ID, Role: &viewer})
	is.NoErr(err)
	is.Equal(same, ada) // an update without changes is not recorded

	password := "password"
	_, err = o.Update(ctx, UpdateParams{ID: ada.ID, Password: &password})
	require.ErrorIs(t, err, api.ErrInvalid)
	_, err = o.Update(ctx, UpdateParams{ID: "opr_unknown", Role: &viewer})
	require.ErrorIs(t, err, api.ErrNotFound)

	types, text := o.events(t)
	is.Equal(types, []string{
		"operator.created by go", "operator.created by go", "operator.created by go", "operator.updated by go", "operator.updated by go", "operator.updated by go",
	})
	require.Contains(t, text, `"changes":{"role":{"from":"viewer","to":"admin"}}`)

	o = newFixture(t)
	eve := o.operator(t, "eve@example.com", RoleViewer)
	_, err = o.Update(ctx, UpdateParams{ID: eve.ID, Disabled: &yes})
	is.NoErr(err) // a viewer is not the last admin
}

func TestSetupCode(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newFixture(t)

	offered, err := o.NeedsSetup(ctx)
	is.NoErr(err)
	is.True(offered)
	logged := o.log.String()
	require.Contains(t, logged, "code=") // the first call creates a code and logs it
	_, err = o.NeedsSetup(ctx)
	is.NoErr(err)
	is.Equal(o.log.String(), logged) // the second does not

	o.now = o.now.Add(setupCodeTTL)
	_, err = o.NeedsSetup(ctx)
	is.NoErr(err)
	is.True(o.log.String() != logged) // until the code expires

	code, err := o.CreateSetupCode(ctx)
	is.NoErr(err)
	require.NotContains(t, o.log.String(), code) // a code that was returned is not logged
	e, err := o.st.Entry(ctx, kindSetup, setupKey)
	is.NoErr(err)
	require.NotContains(t, string(e.Data), code) // or stored in clear

	o.operator(t, "ada@example.com", RoleAdmin)
	offered, err = o.NeedsSetup(ctx)
	is.NoErr(err)
	is.True(!offered)
	_, err = o.CreateSetupCode(ctx)
	require.ErrorIs(t, err, ErrAlreadySetUp)
}

func TestRecordsContainNoClearPassword(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	op := o.operator(t, "ada@example.com", RoleAdmin)
	e, err := o.st.Entry(t.Context(), kindOperator, op.ID)
	is.NoErr(err)
	var rec record
	is.NoErr(json.Unmarshal(e.Data, &rec))
	require.HasPrefix(t, rec.Password, "$argon2id$")
	require.NotContains(t, string(e.Data), goodPassword)
}
