package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"

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
	is.Equal(types[len(types)-1], "operator.created by "+actorOf(t, o, "ada@example.com")) // who has invited
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
	is.NoErr(b.join(code, otherPassword))
	is.Equal(b.who(), "bob@example.com")
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
