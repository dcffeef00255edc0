package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestCreateClient(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)

	c, secret, err := s.As(Caller{Actor: "operator:opr_1", RequestID: "req-1"}).CreateClient(t.Context(), CreateClientParams{
		Name: "Zähler 2", Scopes: []string{ScopeEventRead, ScopeLicenseRead, ScopeEventRead}, Products: []string{"p2", "p1", "p2"},
	})
	is.NoErr(err)
	is.True(wellFormed(clientPrefix, c.ID))
	is.True(wellFormed(secretPrefix, secret))
	is.Equal(c.Name, "Zähler 2")
	is.Equal(c.Scopes, []string{ScopeLicenseRead, ScopeEventRead}) // without duplicates, in the order of Scopes
	is.Equal(c.Products, []string{"p2", "p1"})
	is.Equal(c.CreatedAt, start)
	is.Equal(len(c.Secrets), 1)
	is.Equal(c.Secrets[0].Hint, secret[len(secret)-4:])
	require.HasPrefix(t, c.Secrets[0].ID, "sec_")

	got, err := s.GetClient(t.Context(), c.ID)
	is.NoErr(err)
	is.Equal(got, c)

	is.Equal(s.client.Scopes, []string{ScopeLicenseRead, ScopeLicenseWrite}) // the default
	is.Equal(s.client.Products, nil)

	events := s.events(t, c.ID)
	is.Equal(len(events), 1)
	is.Equal(events[0].Type, "client.created")
	is.Equal(events[0].Actor, "operator:opr_1")
	is.Equal(events[0].RequestID, "req-1")
	is.Equal(events[0].Time, start)
	is.Equal(s.events(t, s.client.ID)[0].Actor, "go")

	for _, id := range []string{"", "cid_x", newCredential(clientPrefix)} {
		_, err := s.GetClient(t.Context(), id)
		require.ErrorIs(t, err, api.ErrNotFound)
	}
}

func TestClientParams(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprint("p", i)
	}
	for _, tt := range []struct {
		name   string
		params CreateClientParams
		want   string // field and code; empty: allowed
	}{
		{"the longest name", CreateClientParams{Name: strings.Repeat("ä", 255)}, ""},
		{"a hundred products", CreateClientParams{Name: "n", Products: many[:100]}, ""},
		{"no name", CreateClientParams{}, "name required"},
		{"a long name", CreateClientParams{Name: strings.Repeat("a", 256)}, "name too_long"},
		{"outer white space", CreateClientParams{Name: " n"}, "name invalid_format"},
		{"a control character", CreateClientParams{Name: "a\x00b"}, "name invalid_characters"},
		{"a line break", CreateClientParams{Name: "a\nb"}, "name invalid_characters"},
		{"broken UTF-8", CreateClientParams{Name: "a\xffb"}, "name invalid_characters"},
		{"a noncharacter", CreateClientParams{Name: "a\ufdd0b"}, "name invalid_characters"},
		{"no scope", CreateClientParams{Name: "n", Scopes: []string{}}, "scopes required"},
		{"an unknown scope", CreateClientParams{Name: "n", Scopes: []string{ScopeEventRead, "license:raed"}}, "scopes/1 unknown"},
		{"no product, which is not all of them", CreateClientParams{Name: "n", Products: []string{}}, "products required"},
		{"an empty product", CreateClientParams{Name: "n", Products: []string{"p", ""}}, "products/1 required"},
		{"too many products", CreateClientParams{Name: "n", Products: many}, "products out_of_range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			s := newIssuer(t)
			before := s.st.written.Len()
			_, _, err := s.CreateClient(t.Context(), tt.params)
			if tt.want == "" {
				is.NoErr(err)
				return
			}
			var invalid *api.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.ErrorIs(t, err, api.ErrInvalid)
			is.Equal(invalid.Fields[0].Field+" "+invalid.Fields[0].Code, tt.want)
			is.True(invalid.Fields[0].Detail != "")
			is.Equal(s.st.written.Len(), before) // nothing was stored
		})
	}
}

func TestClients(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	want := []string{s.client.ID}
	for range 6 {
		c, _, err := s.CreateClient(t.Context(), CreateClientParams{Name: "n"})
		is.NoErr(err)
		want = append(want, c.ID)
	}
	slices.Sort(want)

	var got []string
	p := ListClientsParams{Limit: 3}
	for more := true; more; {
		page, err := s.ListClients(t.Context(), p)
		is.NoErr(err)
		for _, c := range page.Data {
			got = append(got, c.ID)
		}
		p.Cursor, more = page.NextCursor, page.HasMore
		is.Equal(more, p.Cursor != "")
	}
	is.Equal(got, want)

	all, err := s.ListClients(t.Context(), ListClientsParams{})
	is.NoErr(err)
	is.Equal(len(all.Data), 7)
	is.Equal(all.HasMore, false)
	full, err := s.ListClients(t.Context(), ListClientsParams{Limit: 7})
	is.NoErr(err)
	is.Equal(full, all) // a full page that is the last
	for _, limit := range []int{-1, 201} {
		_, err = s.ListClients(t.Context(), ListClientsParams{Limit: limit})
		require.ErrorIs(t, err, api.ErrInvalid)
	}
}

func TestUpdateClient(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	s.turn(time.Minute)

	c, err := s.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Name: new("mill"), Products: &[]string{"p"}})
	is.NoErr(err)
	is.Equal(c.Name, "mill")
	is.Equal(c.Products, []string{"p"})
	is.Equal(c.Scopes, s.client.Scopes) // nil fields are not changed
	is.Equal(c.UpdatedAt, start.Add(time.Minute))
	is.Equal(c.Secrets, s.client.Secrets)

	events := s.events(t, c.ID)
	is.Equal(events[len(events)-1].Type, "client.updated")
	var told struct {
		Client  map[string]any
		Changes map[string]struct{ From, To any }
	}
	is.NoErr(json.Unmarshal(events[len(events)-1].Data, &told))
	is.Equal(told.Client["name"], "mill")
	is.Equal(len(told.Changes), 2)
	is.Equal(told.Changes["name"].From, "build farm")
	is.Equal(told.Changes["name"].To, "mill")
	is.Equal(told.Changes["products"].From, nil)

	s.turn(time.Minute)
	calls := s.st.callsOf(func() {
		same, err := s.UpdateClient(t.Context(), UpdateClientParams{ID: c.ID, Name: new("mill"), Disabled: new(false)})
		is.NoErr(err)
		is.Equal(same, c) // an update without changes keeps UpdatedAt
	})
	is.Equal(calls, []string{"Update", "tx.Entry client"})

	all, err := s.UpdateClient(t.Context(), UpdateClientParams{ID: c.ID, Products: new([]string)})
	is.NoErr(err)
	is.Equal(all.Products, nil)

	_, err = s.UpdateClient(t.Context(), UpdateClientParams{ID: c.ID, Scopes: new([]string)})
	require.ErrorIs(t, err, api.ErrInvalid) // no scopes at all
	_, err = s.UpdateClient(t.Context(), UpdateClientParams{ID: newCredential(clientPrefix), Name: new("x")})
	require.ErrorIs(t, err, api.ErrNotFound)
}

func TestChangesOfAClientApplyToItsTokens(t *testing.T) {
	read := func(t *testing.T, s *issuer, token string) answer {
		return s.send(t, "GET", "/read", "", "Authorization: Bearer "+token)
	}
	update := func(t *testing.T, s *issuer, p UpdateClientParams) {
		is := is.New(t)
		p.ID = s.client.ID
		_, err := s.UpdateClient(t.Context(), p)
		is.NoErr(err)
	}

	t.Run("a removed scope is lost immediately, an added one is not gained", func(t *testing.T) {
		is := is.New(t)
		s := newIssuer(t)
		token := s.token(t, s.client.ID, s.secret)
		update(t, s, UpdateClientParams{Scopes: &[]string{ScopeLicenseWrite, ScopeEventRead}})
		is.Equal(read(t, s, token).status, 403)
		require.Contains(t, s.try(t, token).body, "[license:write]")
		update(t, s, UpdateClientParams{Scopes: &[]string{ScopeEventRead}})
		is.Equal(s.try(t, token).status, 401) // no scope is left
		update(t, s, UpdateClientParams{Scopes: &[]string{ScopeLicenseRead, ScopeLicenseWrite, ScopeEventRead}})
		is.Equal(s.try(t, token).status, 401) // adding the scope again does not restore it
		is.Equal(s.try(t, s.token(t, s.client.ID, s.secret)).status, 200)
	})
	t.Run("products change immediately", func(t *testing.T) {
		s := newIssuer(t)
		token := s.token(t, s.client.ID, s.secret)
		update(t, s, UpdateClientParams{Products: &[]string{"p1", "p2"}})
		require.HasSuffix(t, read(t, s, token).body, "[p1 p2]")
		update(t, s, UpdateClientParams{Products: new([]string)})
		require.HasSuffix(t, read(t, s, token).body, "[]")
	})
	t.Run("disabling ends tokens permanently", func(t *testing.T) {
		is := is.New(t)
		s := newIssuer(t)
		token := s.token(t, s.client.ID, s.secret)
		update(t, s, UpdateClientParams{Disabled: new(true)})
		is.Equal(s.try(t, token).status, 401)
		events := s.events(t, s.client.ID)
		is.Equal(events[len(events)-1].Type, "client.disabled")
		update(t, s, UpdateClientParams{Disabled: new(true), Name: new("mill")})
		events = s.events(t, s.client.ID)
		is.Equal(events[len(events)-1].Type, "client.updated") // it was disabled before

		update(t, s, UpdateClientParams{Disabled: new(false)})
		is.Equal(s.try(t, token).status, 401) // enabling does not restore it
		is.Equal(s.try(t, s.token(t, s.client.ID, s.secret)).status, 200)
	})
}

// A change of a client holds the write lock of the store, so the time it takes
// must not depend on the number of tokens.
func TestChangesOfAClientDoNotWriteItsTokens(t *testing.T) {
	for name, change := range map[string]func(*issuer, context.Context) error{
		"disable": func(s *issuer, ctx context.Context) error {
			_, err := s.UpdateClient(ctx, UpdateClientParams{ID: s.client.ID, Disabled: new(true)})
			return err
		},
		"narrow": func(s *issuer, ctx context.Context) error {
			_, err := s.UpdateClient(ctx, UpdateClientParams{ID: s.client.ID, Scopes: &[]string{ScopeEventRead}, Products: &[]string{"p"}})
			return err
		},
		"rotate without overlap": func(s *issuer, ctx context.Context) error {
			_, _, err := s.RotateSecret(ctx, RotateSecretParams{ClientID: s.client.ID})
			return err
		},
		"delete": func(s *issuer, ctx context.Context) error { return s.DeleteClient(ctx, s.client.ID) },
		"revoke the secret": func(s *issuer, ctx context.Context) error {
			_, err := s.RevokeSecret(ctx, s.client.ID, s.client.Secrets[0].ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newIssuer(t, func(o *Options) { o.Tokens.Max = 100 })
			var tokens []string
			for range 25 {
				tokens = append(tokens, s.token(t, s.client.ID, s.secret))
			}
			calls := s.st.callsOf(func() { is.NoErr(change(s, t.Context())) })
			write, steps := "tx.PutEntries client", 4
			if name == "delete" {
				write, steps = "tx.DeleteEntries client", 5 // the count of its tokens too
			}
			is.Equal(len(calls), steps)
			is.Equal(calls[:3], []string{"Update", "tx.Entry client", write}) // and an event
			for _, token := range tokens {
				is.Equal(s.try(t, token).status, 401)
			}
			s.turn(time.Hour)
			more, err := s.Purge(t.Context())
			is.NoErr(err)
			is.True(!more)
			counted, stored := s.tally(t, s.client.ID)
			is.Equal(counted, 0)
			is.Equal(stored, 0)
		})
	}
}

func TestDeleteClient(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	token := s.token(t, s.client.ID, s.secret)
	s.turn(time.Minute)
	is.NoErr(s.As(Caller{Actor: "operator:opr_1"}).DeleteClient(t.Context(), s.client.ID))
	is.Equal(s.try(t, token).status, 401)
	is.Equal(s.ask(t, s.client.ID, s.secret).status, 400)
	_, err := s.GetClient(t.Context(), s.client.ID)
	require.ErrorIs(t, err, api.ErrNotFound)

	events := s.events(t, s.client.ID)
	last := events[len(events)-1]
	is.Equal(last.Type, "client.deleted")
	is.Equal(last.Actor, "operator:opr_1")
	is.Equal(last.Time, start.Add(time.Minute))
	require.Contains(t, string(last.Data), `"name":"build farm"`) // its last state
	require.NotContains(t, string(last.Data), digest(s.secret))

	require.ErrorIs(t, s.DeleteClient(t.Context(), s.client.ID), api.ErrNotFound)
	is.Equal(len(s.events(t, s.client.ID)), len(events))
}

func TestADeletedClientLeavesNoTokenCount(t *testing.T) {
	for name, expired := range map[string]bool{"before its tokens expire": false, "after its tokens have expired": true} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newIssuer(t)
			for range 12 {
				s.token(t, s.client.ID, s.secret)
			}
			purge := func() {
				s.turn(time.Hour)
				for more := true; more; {
					var err error
					more, err = s.Purge(t.Context())
					is.NoErr(err)
				}
			}
			if expired {
				purge()
			}
			is.NoErr(s.st.Store.Update(t.Context(), func(tx store.Tx) error {
				return tx.PutEntries(t.Context(), store.Entry{Kind: kindTokenCount, Key: s.client.ID, Data: []byte("99")})
			}))
			is.NoErr(s.DeleteClient(t.Context(), s.client.ID))
			purge()
			for _, kind := range []string{kindToken, kindTokenCount} {
				left, err := s.st.Store.Entries(t.Context(), store.EntryQuery{Kind: kind})
				is.NoErr(err)
				is.Equal(len(left), 0)
			}
		})
	}
}

// TestRequireScopeNamesAMisspelledScope, which no token could have.
func TestRequireScopeNamesAMisspelledScope(t *testing.T) {
	defer func() { require.Contains(t, fmt.Sprint(recover()), ScopeLicenseRead) }()
	newIssuer(t).RequireScope("licenses:read")
}
