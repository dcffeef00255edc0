package auth

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

const (
	goodPassword  = "the ferry leaves before breakfast"
	otherPassword = "nine lamps along the harbour wall"
)

// office is an Auth over an empty store with a clock that tests can turn.
type office struct {
	*Auth
	st  store.Store
	now time.Time
	log strings.Builder
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{st: storetest.Twice(memory.New()), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	o.Auth = New(o.st, Options{
		Now:    func() time.Time { return o.now },
		Logger: slog.New(slog.NewTextHandler(io.Writer(&o.log), nil)),
	})
	return o
}

func (o *office) operator(t *testing.T, email string, role Role) Operator {
	t.Helper()
	op, err := o.CreateOperator(t.Context(), CreateOperatorParams{Email: email, Password: goodPassword, Role: role})
	is.New(t).NoErr(err)
	return op
}

// events returns the types of all events, with who did it, and all of their text.
func (o *office) events(t *testing.T) (types []string, text string) {
	t.Helper()
	list, err := o.st.Events(t.Context(), store.EventQuery{})
	is.New(t).NoErr(err)
	for _, e := range list {
		types = append(types, e.Type+" by "+e.Actor)
		text += string(e.Data) + "\n"
	}
	return types, text
}

func TestCreateOperator(t *testing.T) {
	is := is.New(t)
	o := newOffice(t)

	op, err := o.As(Caller{Actor: "operator:opr_boss"}).CreateOperator(t.Context(), CreateOperatorParams{Email: "Ada@Example.com", Password: goodPassword})
	is.NoErr(err)
	is.Equal(op.Role, RoleViewer) // the role that may do least
	is.Equal(op.CreatedAt, o.now)
	got, err := o.Operator(t.Context(), op.ID)
	is.NoErr(err)
	is.Equal(got, op)

	var invalid *InvalidError
	_, err = o.CreateOperator(t.Context(), CreateOperatorParams{Email: "ada@example.COM", Password: goodPassword})
	is.True(errors.As(err, &invalid)) // addresses are compared without regard to case
	is.Equal(invalid.Fields[0].Code, "taken")

	for field, p := range map[string]CreateOperatorParams{
		"email":    {Email: "Ada <ada@example.com>", Password: goodPassword},
		"role":     {Email: "b@example.com", Password: goodPassword, Role: "root"},
		"password": {Email: "b@example.com", Password: "short"},
	} {
		_, err := o.CreateOperator(t.Context(), p)
		is.True(errors.As(err, &invalid) && errors.Is(err, ErrInvalid))
		is.Equal(invalid.Fields[0].Field, field)
	}
	_, err = o.Operator(t.Context(), "opr_nobody")
	is.True(errors.Is(err, ErrNotFound))

	types, text := o.events(t)
	is.Equal(types, []string{"operator.created by operator:opr_boss"})
	is.True(strings.Contains(text, `"email":"Ada@Example.com"`))
	is.True(!strings.Contains(text, "argon2")) // no hash in an event
}

func TestOperators(t *testing.T) {
	is := is.New(t)
	o := newOffice(t)
	for _, name := range []string{"c", "a", "b"} {
		o.operator(t, name+"@example.com", RoleAdmin)
		o.now = o.now.Add(time.Second)
	}
	var emails []string
	for after := ""; ; {
		page, err := o.Operators(t.Context(), ListOperatorsParams{After: after, Limit: 2})
		is.NoErr(err)
		for _, op := range page {
			emails = append(emails, op.Email)
			after = op.ID
		}
		if len(page) < 2 {
			break
		}
	}
	is.Equal(emails, []string{"c@example.com", "a@example.com", "b@example.com"}) // in order of creation
}

func TestUpdateOperator(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newOffice(t)
	ada := o.operator(t, "ada@example.com", RoleAdmin)
	bob := o.operator(t, "bob@example.com", RoleViewer)
	viewer, admin, yes := RoleViewer, RoleAdmin, true

	_, err := o.UpdateOperator(ctx, UpdateOperatorParams{ID: ada.ID, Role: &viewer})
	is.True(errors.Is(err, ErrLastAdmin)) // nobody would be left to give the role back
	_, err = o.UpdateOperator(ctx, UpdateOperatorParams{ID: ada.ID, Disabled: &yes})
	is.True(errors.Is(err, ErrLastAdmin))

	o.now = o.now.Add(time.Hour)
	bob, err = o.UpdateOperator(ctx, UpdateOperatorParams{ID: bob.ID, Role: &admin})
	is.NoErr(err)
	is.Equal(bob.Role, RoleAdmin)
	is.Equal(bob.UpdatedAt, o.now)

	ada, err = o.UpdateOperator(ctx, UpdateOperatorParams{ID: ada.ID, Role: &viewer})
	is.NoErr(err)
	is.Equal(ada.Role, RoleViewer) // now that there is another admin

	o.now = o.now.Add(time.Hour)
	same, err := o.UpdateOperator(ctx, UpdateOperatorParams{ID: ada.ID, Role: &viewer})
	is.NoErr(err)
	is.Equal(same, ada) // what changes nothing leaves no trace

	password := "password"
	_, err = o.UpdateOperator(ctx, UpdateOperatorParams{ID: ada.ID, Password: &password})
	is.True(errors.Is(err, ErrInvalid))
	_, err = o.UpdateOperator(ctx, UpdateOperatorParams{ID: "opr_nobody", Role: &viewer})
	is.True(errors.Is(err, ErrNotFound))

	types, text := o.events(t)
	is.Equal(types, []string{"operator.created by go", "operator.created by go", "operator.updated by go", "operator.updated by go"})
	is.True(strings.Contains(text, `"changes":{"role":{"from":"viewer","to":"admin"}}`))

	o = newOffice(t)
	eve := o.operator(t, "eve@example.com", RoleViewer)
	_, err = o.UpdateOperator(ctx, UpdateOperatorParams{ID: eve.ID, Disabled: &yes})
	is.NoErr(err) // who never was an admin is not the last one
}

func TestSetupCode(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newOffice(t)

	offered, err := o.OfferSetup(ctx)
	is.NoErr(err)
	is.True(offered)
	logged := o.log.String()
	is.True(strings.Contains(logged, "code=")) // the first question makes a code and logs it
	_, err = o.OfferSetup(ctx)
	is.NoErr(err)
	is.Equal(o.log.String(), logged) // the second does not

	o.now = o.now.Add(setupCodeTTL)
	_, err = o.OfferSetup(ctx)
	is.NoErr(err)
	is.True(o.log.String() != logged) // until the code has ended

	code, err := o.SetupCode(ctx)
	is.NoErr(err)
	is.True(!strings.Contains(o.log.String(), code)) // what was asked for from Go is not logged
	e, err := o.st.Entry(ctx, kindSetup, setupKey)
	is.NoErr(err)
	is.True(!strings.Contains(string(e.Data), code)) // nor kept

	o.operator(t, "ada@example.com", RoleAdmin)
	offered, err = o.OfferSetup(ctx)
	is.NoErr(err)
	is.True(!offered)
	_, err = o.SetupCode(ctx)
	is.True(errors.Is(err, ErrAlreadySetUp))
}

func TestOnce(t *testing.T) {
	is := is.New(t)
	o := newOffice(t)
	form := NewForm()
	calls := 0
	do := func(a *Auth, err error) (string, bool, error) {
		return a.Once(t.Context(), form, func() (string, error) { calls++; return "cid_1", err })
	}
	broken := errors.New("broken")
	_, repeated, err := do(o.Auth, broken)
	is.True(errors.Is(err, broken) && !repeated)
	ref, repeated, err := do(o.Auth, nil)
	is.NoErr(err)
	is.True(!repeated && ref == "cid_1" && calls == 2) // a failure does not use the form up
	ref, repeated, err = do(o.Auth, nil)
	is.NoErr(err)
	is.True(repeated && ref == "cid_1" && calls == 2) // success does
	_, repeated, err = do(o.As(Caller{Actor: "operator:opr_2"}), nil)
	is.NoErr(err)
	is.True(!repeated) // another person's form is another form
}

func TestOperatorRecordsHoldNoClearPassword(t *testing.T) {
	is := is.New(t)
	o := newOffice(t)
	op := o.operator(t, "ada@example.com", RoleAdmin)
	e, err := o.st.Entry(t.Context(), kindOperator, op.ID)
	is.NoErr(err)
	var rec operatorRecord
	is.NoErr(json.Unmarshal(e.Data, &rec))
	is.True(strings.HasPrefix(rec.Password, "$argon2id$"))
	is.True(!strings.Contains(string(e.Data), goodPassword))
}
