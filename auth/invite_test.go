package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// join takes an invitation up.
func (b *browser) join(code, password string) error {
	return b.do(func(w http.ResponseWriter, r *http.Request) error {
		_, err := b.o.Join(w, r, code, password)
		return err
	})
}

func TestInvite(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newOffice(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	ada := o.As(Caller{Actor: actorOf(t, o, "ada@example.com")})
	for _, p := range []InviteParams{{Email: "bob"}, {Email: "bob@example.com", Role: "root"}, {Email: "ADA@example.com"}} {
		_, err := ada.Invite(ctx, p)
		is.True(errors.Is(err, ErrInvalid))
	}
	code, err := ada.Invite(ctx, InviteParams{Email: "bob@example.com", Role: RoleAdmin})
	is.NoErr(err)
	entries, err := o.st.Entries(ctx, store.EntryQuery{Kind: kindInvite})
	is.NoErr(err)
	is.True(!strings.Contains(string(entries[0].Data)+entries[0].Key, code)) // only a digest is kept
	list, err := o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(list[0].Email, "bob@example.com")
	is.Equal(list[0].ExpiresAt, o.now.Add(InviteTTL))

	b := &browser{o: o}
	is.True(errors.Is(b.join("wrong", goodPassword), ErrInviteCode))
	is.True(errors.Is(b.join(code, "too short"), ErrInvalid))
	is.NoErr(b.join(strings.ToLower(code), goodPassword))
	is.Equal(b.who(), "bob@example.com")
	is.True(errors.Is((&browser{o: o}).join(code, goodPassword), ErrInviteCode)) // once is once
	types, _ := o.events(t)
	is.Equal(types[len(types)-2:], []string{
		"operator.created by " + actorOf(t, o, "ada@example.com"), // who has invited
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
	o := newOffice(t)
	code, err := o.Invite(ctx, InviteParams{Email: "bob@example.com"})
	is.NoErr(err)
	o.now = o.now.Add(InviteTTL)
	is.True(errors.Is((&browser{o: o}).join(code, goodPassword), ErrInviteCode))
	list, err := o.Invitations(ctx)
	is.NoErr(err)
	is.Equal(len(list), 0)

	code, err = o.Invite(ctx, InviteParams{Email: "bob@example.com"})
	is.NoErr(err)
	list, err = o.Invitations(ctx)
	is.NoErr(err)
	is.NoErr(o.Withdraw(ctx, list[0].ID))
	is.True(errors.Is(o.Withdraw(ctx, list[0].ID), ErrNotFound))
	is.True(errors.Is((&browser{o: o}).join(code, goodPassword), ErrInviteCode))

	code, err = o.Invite(ctx, InviteParams{Email: "bob@example.com"})
	is.NoErr(err)
	o.operator(t, "bob@example.com", RoleViewer) // made otherwise in the meantime
	is.True(errors.Is((&browser{o: o}).join(code, goodPassword), ErrInvalid))
}

func TestInviteBack(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newOffice(t)
	bob := o.operator(t, "bob@example.com", RoleViewer)
	_, err := o.InviteBack(ctx, "opr_nobody")
	is.True(errors.Is(err, ErrNotFound))
	code, err := o.InviteBack(ctx, bob.ID)
	is.NoErr(err)
	old, b := &browser{o: o}, &browser{o: o}
	is.NoErr(old.signIn("bob@example.com", goodPassword)) // still his password
	o.now = o.now.Add(time.Hour)
	is.NoErr(b.join(code, otherPassword))
	is.Equal(b.who(), "bob@example.com")
	types, _ := o.events(t)
	is.Equal(types[len(types)-2:], []string{"operator.updated by go", "operator.signed_in by operator:" + bob.ID})
	bob, err = o.Operator(ctx, bob.ID)
	is.NoErr(err)
	is.Equal(bob.LastSignInAt, o.now)
	is.Equal(old.who(), ErrNoSession.Error())
	is.True(errors.Is(old.signIn("bob@example.com", goodPassword), ErrCredentials))

	code, err = o.InviteBack(ctx, bob.ID)
	is.NoErr(err)
	o.operator(t, "ada@example.com", RoleAdmin)
	yes := true
	_, err = o.UpdateOperator(ctx, UpdateOperatorParams{ID: bob.ID, Disabled: &yes})
	is.NoErr(err)
	is.True(errors.Is(b.join(code, goodPassword), ErrInviteCode)) // not for the disabled
}

// Whoever loses the right to invite must not have kept a way back.
func TestInvitationsEndWithTheRightToInvite(t *testing.T) {
	viewer, yes := RoleViewer, true
	for name, change := range map[string]UpdateOperatorParams{
		"by being disabled":      {Disabled: &yes},
		"by becoming a viewer":   {Role: &viewer},
		"by a change of another": {},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ctx := t.Context()
			o := newOffice(t)
			other := o.operator(t, "ada@example.com", RoleAdmin)
			eve := o.operator(t, "eve@example.com", RoleAdmin)
			code, err := o.As(Caller{Actor: "operator:" + eve.ID}).Invite(ctx, InviteParams{Email: "bob@example.com", Role: RoleAdmin})
			is.NoErr(err)
			back, err := o.As(Caller{Actor: "operator:" + eve.ID}).InviteBack(ctx, other.ID)
			is.NoErr(err)
			is.NoErr(o.SignOutEverywhere(ctx, eve.ID)) // which takes no right away
			if change.ID = eve.ID; change.Role == nil && change.Disabled == nil {
				is.NoErr((&browser{o: o}).join(code, goodPassword))
				return
			}
			_, err = o.UpdateOperator(ctx, change)
			is.NoErr(err)
			list, err := o.Invitations(ctx)
			is.NoErr(err)
			is.Equal(len(list), 0)
			is.True(errors.Is((&browser{o: o}).join(code, goodPassword), ErrInviteCode))
			is.True(errors.Is((&browser{o: o}).join(back, otherPassword), ErrInviteCode))
		})
	}
}

// A link to choose a password is of no use once another has been chosen.
func TestANewPasswordEndsTheWaysToOne(t *testing.T) {
	password := otherPassword
	for name, change := range map[string]func(*office, *browser, Operator) error{
		"by its holder": func(o *office, b *browser, _ Operator) error {
			return b.do(func(w http.ResponseWriter, r *http.Request) error {
				return o.ChangePassword(w, r, goodPassword, password)
			})
		},
		"by an admin": func(o *office, b *browser, bob Operator) error {
			_, err := o.UpdateOperator(b.request().Context(), UpdateOperatorParams{ID: bob.ID, Password: &password})
			return err
		},
		"by another link": func(o *office, b *browser, bob Operator) error {
			code, err := o.InviteBack(b.request().Context(), bob.ID)
			if err != nil {
				return err
			}
			return b.join(code, password)
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o := newOffice(t)
			o.operator(t, "ada@example.com", RoleAdmin)
			bob := o.operator(t, "bob@example.com", RoleViewer)
			b := &browser{o: o}
			is.NoErr(b.signIn("bob@example.com", goodPassword))
			leaked, err := o.InviteBack(t.Context(), bob.ID)
			is.NoErr(err)
			other, err := o.Invite(t.Context(), InviteParams{Email: "eve@example.com"})
			is.NoErr(err)
			is.NoErr(change(o, b, bob))
			is.True(errors.Is((&browser{o: o}).join(leaked, goodPassword), ErrInviteCode))
			is.NoErr((&browser{o: o}).join(other, goodPassword)) // nobody else's ends
		})
	}
}

func TestWrongCodesAreSlowedDown(t *testing.T) {
	is := is.New(t)
	o := newOffice(t)
	setUp := func(b *browser, code string) error {
		return b.do(func(w http.ResponseWriter, r *http.Request) error {
			_, err := o.SetUp(w, r, code, "ada@example.com", goodPassword)
			return err
		})
	}
	thief := &browser{o: o, addr: "198.51.100.7:4711"}
	for i := range o.opts.Tokens.MaxFailures { // both kinds count together
		if i%2 == 0 {
			is.True(errors.Is(setUp(thief, "wrong"), ErrSetupCode))
		} else {
			is.True(errors.Is(thief.join("wrong", goodPassword), ErrInviteCode))
		}
	}
	is.True(errors.Is(setUp(thief, "wrong"), ErrThrottled))
	is.True(errors.Is(thief.join("wrong", goodPassword), ErrThrottled))
	is.True(errors.Is((&browser{o: o}).join("wrong", goodPassword), ErrInviteCode)) // nobody else waits
	code, err := o.SetupCode(t.Context())
	is.NoErr(err)
	is.NoErr(setUp(thief, code)) // nor who has the right one
}
