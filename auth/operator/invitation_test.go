package operator

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// accept accepts an invitation.
func (b *browser) accept(code, password string) error {
	return b.do(func(w http.ResponseWriter, r *http.Request) error {
		_, err := b.o.AcceptInvitation(w, r, code, password)
		return err
	})
}

func TestInvite(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	ada := o.As(auth.Caller{Actor: actorOf(t, o, "ada@example.com")})
	for _, p := range []InviteParams{{Email: "bob"}, {Email: "bob@example.com", Role: "root"}, {Email: "ADA@example.com"}} {
		_, err := ada.Invite(ctx, p)
		require.ErrorIs(t, err, api.ErrInvalid)
	}
	code, err := ada.Invite(ctx, InviteParams{Email: "bob@example.com", Role: RoleAdmin})
	is.NoErr(err)
	entries, err := o.st.Entries(ctx, store.EntryQuery{Kind: kindInvitation})
	is.NoErr(err)
	require.NotContains(t, string(entries[0].Data)+entries[0].Key, code) // only a digest is kept
	list, err := o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(list[0].Email, "bob@example.com")
	is.Equal(list[0].ExpiresAt, o.now.Add(InvitationTTL))

	b := &browser{o: o}
	require.ErrorIs(t, b.accept("wrong", goodPassword), signin.ErrInvitationCode)
	require.ErrorIs(t, b.accept(code, "too short"), api.ErrInvalid)
	is.NoErr(b.accept(strings.ToLower(code), goodPassword))
	is.Equal(b.who(), "bob@example.com")
	require.ErrorIs(t, (&browser{o: o}).accept(code, goodPassword), signin.ErrInvitationCode) // a code works once
	types, _ := o.events(t)
	is.Equal(types[len(types)-2:], []string{
		"operator.created by " + actorOf(t, o, "ada@example.com"), // the inviting operator
		"operator.signed_in by " + actorOf(t, o, "bob@example.com"),
	})
	bob, err := o.Session(b.request())
	is.NoErr(err)
	is.Equal(bob.LastSignInAt, o.now)
	list, err = o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(len(list), 0)
}

func TestInvitationsEnd(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newFixture(t)
	code, err := o.Invite(ctx, InviteParams{Email: "bob@example.com"})
	is.NoErr(err)
	o.now = o.now.Add(InvitationTTL)
	require.ErrorIs(t, (&browser{o: o}).accept(code, goodPassword), signin.ErrInvitationCode)
	list, err := o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(len(list), 0)

	code, err = o.Invite(ctx, InviteParams{Email: "bob@example.com"})
	is.NoErr(err)
	list, err = o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(list[0].Role, RoleViewer) // the default
	is.NoErr(o.RevokeInvitation(ctx, list[0].ID))
	require.ErrorIs(t, o.RevokeInvitation(ctx, list[0].ID), api.ErrNotFound)
	require.ErrorIs(t, (&browser{o: o}).accept(code, goodPassword), signin.ErrInvitationCode)

	code, err = o.Invite(ctx, InviteParams{Email: "bob@example.com"})
	is.NoErr(err)
	o.operator(t, "bob@example.com", RoleViewer) // created in the meantime
	require.ErrorIs(t, (&browser{o: o}).accept(code, goodPassword), api.ErrInvalid)
}

func TestPasswordReset(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newFixture(t)
	bob := o.operator(t, "bob@example.com", RoleViewer)
	_, err := o.CreatePasswordReset(ctx, "opr_unknown")
	require.ErrorIs(t, err, api.ErrNotFound)
	code, err := o.CreatePasswordReset(ctx, bob.ID)
	is.NoErr(err)
	old, b := &browser{o: o}, &browser{o: o}
	is.NoErr(old.signIn("bob@example.com", goodPassword)) // the password still works
	o.now = o.now.Add(time.Hour)
	is.NoErr(b.accept(code, otherPassword))
	is.Equal(b.who(), "bob@example.com")
	types, _ := o.events(t)
	is.Equal(types[len(types)-2:], []string{"operator.updated by go", "operator.signed_in by operator:" + bob.ID})
	bob, err = o.Get(ctx, bob.ID)
	is.NoErr(err)
	is.Equal(bob.LastSignInAt, o.now)
	is.Equal(old.who(), signin.ErrNoSession.Error())
	require.ErrorIs(t, old.signIn("bob@example.com", goodPassword), signin.ErrCredentials)

	code, err = o.CreatePasswordReset(ctx, bob.ID)
	is.NoErr(err)
	o.operator(t, "ada@example.com", RoleAdmin)
	_, err = o.Update(ctx, UpdateParams{ID: bob.ID, Disabled: new(true)})
	is.NoErr(err)
	require.ErrorIs(t, b.accept(code, goodPassword), signin.ErrInvitationCode) // disabled operators cannot reset their password
	list, err := o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(len(list), 0) // the code has ended: it does not work when they are enabled
	require.ErrorIs(t, b.signIn("bob@example.com", otherPassword), signin.ErrCredentials)
	code, err = o.CreatePasswordReset(ctx, bob.ID)
	is.NoErr(err)
	require.ErrorIs(t, b.accept(code, goodPassword), signin.ErrInvitationCode) // not before they are enabled
	is.Equal(b.who(), signin.ErrNoSession.Error())
}

// An operator who loses the right to invite must not keep an invitation to use.
func TestInvitationsEndWithTheRightToInvite(t *testing.T) {
	viewer, yes := RoleViewer, true
	for name, change := range map[string]UpdateParams{
		"by being disabled":      {Disabled: &yes},
		"by becoming a viewer":   {Role: &viewer},
		"by a change of another": {},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ctx := t.Context()
			o := newFixture(t)
			other := o.operator(t, "ada@example.com", RoleAdmin)
			eve := o.operator(t, "eve@example.com", RoleAdmin)
			code, err := o.As(auth.Caller{Actor: "operator:" + eve.ID}).Invite(ctx, InviteParams{Email: "bob@example.com", Role: RoleAdmin})
			is.NoErr(err)
			back, err := o.As(auth.Caller{Actor: "operator:" + eve.ID}).CreatePasswordReset(ctx, other.ID)
			is.NoErr(err)
			is.NoErr(o.SignOutEverywhere(ctx, eve.ID)) // does not remove any right
			if change.ID = eve.ID; change.Role == nil && change.Disabled == nil {
				is.NoErr((&browser{o: o}).accept(code, goodPassword))
				return
			}
			_, err = o.Update(ctx, change)
			is.NoErr(err)
			list, err := o.Invitations(ctx)
			is.NoErr(err)
			is.Equal(len(list), 0)
			require.ErrorIs(t, (&browser{o: o}).accept(code, goodPassword), signin.ErrInvitationCode)
			require.ErrorIs(t, (&browser{o: o}).accept(back, otherPassword), signin.ErrInvitationCode)
		})
	}
}

// A password reset ends when the operator gets a new password another way.
func TestANewPasswordEndsPasswordResets(t *testing.T) {
	password := otherPassword
	for name, change := range map[string]func(*fixture, *browser, Operator) error{
		"by the operator": func(o *fixture, b *browser, _ Operator) error {
			return b.do(func(w http.ResponseWriter, r *http.Request) error {
				return o.ChangePassword(w, r, goodPassword, password)
			})
		},
		"by an admin": func(o *fixture, b *browser, bob Operator) error {
			_, err := o.Update(b.request().Context(), UpdateParams{ID: bob.ID, Password: &password})
			return err
		},
		"by another link": func(o *fixture, b *browser, bob Operator) error {
			code, err := o.CreatePasswordReset(b.request().Context(), bob.ID)
			if err != nil {
				return err
			}
			return b.accept(code, password)
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o := newFixture(t)
			o.operator(t, "ada@example.com", RoleAdmin)
			bob := o.operator(t, "bob@example.com", RoleViewer)
			b := &browser{o: o}
			is.NoErr(b.signIn("bob@example.com", goodPassword))
			leaked, err := o.CreatePasswordReset(t.Context(), bob.ID)
			is.NoErr(err)
			other, err := o.Invite(t.Context(), InviteParams{Email: "eve@example.com"})
			is.NoErr(err)
			is.NoErr(change(o, b, bob))
			require.ErrorIs(t, (&browser{o: o}).accept(leaked, goodPassword), signin.ErrInvitationCode)
			is.NoErr((&browser{o: o}).accept(other, goodPassword)) // other invitations stay valid
		})
	}
}

// A person has one valid code: an earlier one may have gone to a wrong address,
// or have a role that was a mistake.
func TestANewCodeEndsTheEarlierOne(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newFixture(t)
	bob := o.operator(t, "bob@example.com", RoleViewer)
	carol := o.operator(t, "carol@example.com", RoleViewer)
	invite := func(email string, role Role) string {
		code, err := o.Invite(ctx, InviteParams{Email: email, Role: role})
		is.NoErr(err)
		return code
	}
	reset := func(op Operator) string {
		code, err := o.CreatePasswordReset(ctx, op.ID)
		is.NoErr(err)
		return code
	}
	others := []string{reset(carol), invite("eve@example.com", RoleViewer)}
	earlier := []string{reset(bob), invite("dan@example.com", RoleAdmin)}
	later := []string{reset(bob), invite("Dan@example.com", RoleViewer)}
	list, err := o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(len(list), 4)
	for _, code := range earlier {
		require.ErrorIs(t, (&browser{o: o}).accept(code, otherPassword), signin.ErrInvitationCode)
	}
	for _, code := range append(others, later...) {
		is.NoErr((&browser{o: o}).accept(code, otherPassword))
	}
}

func TestWrongCodesAreThrottled(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	complete := func(b *browser, code string) error {
		return b.do(func(w http.ResponseWriter, r *http.Request) error {
			_, err := o.CompleteSetup(w, r, code, "ada@example.com", goodPassword)
			return err
		})
	}
	attacker := &browser{o: o, addr: "198.51.100.7:4711"}
	for i := range failuresPerMinute { // both kinds count together
		if i%2 == 0 {
			require.ErrorIs(t, complete(attacker, "wrong"), signin.ErrSetupCode)
		} else {
			require.ErrorIs(t, attacker.accept("wrong", goodPassword), signin.ErrInvitationCode)
		}
	}
	require.ErrorIs(t, complete(attacker, "wrong"), ErrThrottled)
	require.ErrorIs(t, attacker.accept("wrong", goodPassword), ErrThrottled)
	require.ErrorIs(t, (&browser{o: o}).accept("wrong", goodPassword), signin.ErrInvitationCode) // other addresses do not wait
	code, err := o.CreateSetupCode(t.Context())
	is.NoErr(err)
	is.NoErr(complete(attacker, code)) // a valid code works at any time
}
