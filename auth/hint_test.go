package auth

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

// Neither the answer nor the calls to the store may show whether a client exists,
// whether it is disabled, or what is wrong with a secret.
func TestRefusalsDoNotShowTheCause(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	off, offSecret, err := s.CreateClient(t.Context(), CreateClientParams{Name: "off"})
	is.NoErr(err)
	_, err = s.UpdateClient(t.Context(), UpdateClientParams{ID: off.ID, Disabled: new(true)})
	is.NoErr(err)
	_, _, err = s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Minute})
	is.NoErr(err)
	s.turn(time.Minute)
	unknown, wrong := newCredential(clientPrefix), newCredential(secretPrefix)

	var first answer
	for i := range 2 * s.opts.Tokens.MaxFailures { // the 401s, and then the 429s
		for _, tt := range []struct{ name, id, secret string }{
			{"unknown client", unknown, wrong},
			{"wrong secret", s.client.ID, wrong},
			{"expired secret", s.client.ID, s.secret},
			{"disabled client", off.ID, offSecret},
		} {
			if tt.name == "expired secret" && i%2 == 0 || tt.name == "wrong secret" && i%2 == 1 {
				continue // the two share a counter
			}
			var a answer
			calls := s.st.callsOf(func() { a = s.ask(t, tt.id, tt.secret) })
			is.Equal(calls, []string{"Entry client"})
			a.header.Del("Date")
			if tt.name == "unknown client" {
				first = a
			}
			is.Equal(a, first) // status, headers and bytes
		}
		want := 400
		if i >= s.opts.Tokens.MaxFailures {
			want = 429
		}
		is.Equal(first.status, want)
	}
}

// Malformed credentials get the same answer without a store read.
func TestMalformedCredentialsNeedNoStoreRead(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	want := s.ask(t, newCredential(clientPrefix), newCredential(secretPrefix))
	want.header.Del("Date")
	typo := []byte(s.secret)
	typo[20] ^= 1
	for _, tt := range []struct{ id, secret string }{
		{"", "y"}, {"x", "y"}, {s.client.ID, "y"}, {"x", s.secret}, {s.client.ID, string(typo)},
		{s.secret, s.client.ID}, {s.client.ID + " ", s.secret}, {s.client.ID, "' OR 1=1 --"},
	} {
		var a answer
		calls := s.st.callsOf(func() { a = s.ask(t, tt.id, tt.secret) })
		is.Equal(calls, nil)
		a.header.Del("Date")
		is.Equal(a, want)
	}
	is.Equal(s.st.callsOf(func() { is.Equal(s.ask(t, "", "").status, 401) }), nil) // no credentials at all
	is.Equal(s.st.callsOf(func() { s.try(t, "lat_junk") }), nil)
	is.Equal(s.st.callsOf(func() { s.try(t, newCredential(tokenPrefix)) }), []string{"Entry token"})
	good := s.token(t, s.client.ID, s.secret)
	is.Equal(s.st.callsOf(func() { s.try(t, good) }), []string{"Entry token", "Entry client"})
}
