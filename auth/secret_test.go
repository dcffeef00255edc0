package auth

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

func TestRotateSecret(t *testing.T) {
	t.Run("both secrets work until the overlap is over", func(t *testing.T) {
		is := is.New(t)
		s := newIssuer(t)
		old := s.token(t, s.client.ID, s.secret)
		c, secret, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: DefaultOverlap})
		is.NoErr(err)
		is.Equal(len(c.Secrets), 2)
		is.Equal(c.Secrets[0].ExpiresAt, start.Add(24*time.Hour))
		is.True(c.Secrets[1].ExpiresAt.IsZero())
		is.Equal(s.events(t, c.ID)[1].Type, "client.rotated")
		is.Equal(s.try(t, old).status, 200)

		s.turn(24*time.Hour - time.Millisecond)
		last := s.token(t, c.ID, s.secret)
		s.turn(time.Millisecond)
		is.Equal(s.ask(t, c.ID, s.secret).status, 400)
		is.Equal(s.try(t, last).status, 200) // a token stays valid after its secret expires
		is.Equal(s.ask(t, c.ID, secret).status, 200)

		c, err = s.GetClient(t.Context(), c.ID)
		is.NoErr(err)
		is.Equal(len(c.Secrets), 1) // the old one is not listed
		_, _, err = s.RotateSecret(t.Context(), RotateSecretParams{ClientID: c.ID, Overlap: time.Hour})
		is.NoErr(err)                        // and does not count
		is.Equal(s.try(t, last).status, 200) // also after another change

		for range 2 * maxExpired {
			s.turn(time.Minute)
			_, _, err = s.RotateSecret(t.Context(), RotateSecretParams{ClientID: c.ID})
			is.NoErr(err)
			_, _, err = s.RotateSecret(t.Context(), RotateSecretParams{ClientID: c.ID, Overlap: time.Second})
			is.NoErr(err)
		}
		rec, err := clientByID(t.Context(), s.st, c.ID)
		is.NoErr(err)
		is.Equal(len(rec.ExpiredSecrets), maxExpired) // a bounded number is kept
		s.turn(24 * time.Hour)
		_, err = s.RevokeSecret(t.Context(), c.ID, rec.Secrets[1].ID)
		is.NoErr(err)
		rec, err = clientByID(t.Context(), s.st, c.ID)
		is.NoErr(err)
		is.Equal(len(rec.ExpiredSecrets), 1) // for as long as its tokens
	})
	t.Run("without overlap the old secret and its tokens end now", func(t *testing.T) {
		is := is.New(t)
		s := newIssuer(t)
		old := s.token(t, s.client.ID, s.secret)
		c, secret, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID})
		is.NoErr(err)
		is.Equal(len(c.Secrets), 1)
		is.Equal(s.ask(t, c.ID, s.secret).status, 400)
		is.Equal(s.try(t, old).status, 401)
		is.Equal(s.try(t, s.token(t, c.ID, secret)).status, 200)
	})
	t.Run("three secrets are too many", func(t *testing.T) {
		is := is.New(t)
		s := newIssuer(t)
		_, second, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
		is.NoErr(err)
		_, _, err = s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
		require.ErrorIs(t, err, ErrTooManySecrets)
		is.Equal(s.ask(t, s.client.ID, s.secret).status, 200)
		is.Equal(s.ask(t, s.client.ID, second).status, 200)
		_, third, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID}) // ends both
		is.NoErr(err)
		is.Equal(s.ask(t, s.client.ID, second).status, 400)
		is.Equal(s.ask(t, s.client.ID, third).status, 200)
	})
	t.Run("a shorter end is not put off", func(t *testing.T) {
		is := is.New(t)
		s := newIssuer(t)
		c, _, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
		is.NoErr(err)
		c, err = s.RevokeSecret(t.Context(), c.ID, c.Secrets[1].ID)
		is.NoErr(err)
		c, _, err = s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: 48 * time.Hour})
		is.NoErr(err)
		is.Equal(c.Secrets[0].ExpiresAt, start.Add(time.Hour))
	})
	t.Run("overlaps have bounds", func(t *testing.T) {
		s := newIssuer(t)
		for d, want := range map[time.Duration]string{-1: "overlap must be at least 0", 91 * 24 * time.Hour: "overlap must be at most 2160h"} {
			_, _, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: d})
			require.ErrorIs(t, err, api.ErrInvalid)
			require.Contains(t, err.Error(), want)
		}
		_, _, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: newCredential(clientPrefix)})
		require.ErrorIs(t, err, api.ErrNotFound)
	})
}

func TestRevokeSecret(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	first := s.token(t, s.client.ID, s.secret)
	c, secret, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
	is.NoErr(err)
	second := s.token(t, c.ID, secret)

	c, err = s.RevokeSecret(t.Context(), c.ID, c.Secrets[0].ID)
	is.NoErr(err)
	is.Equal(len(c.Secrets), 1)
	is.Equal(s.ask(t, c.ID, s.secret).status, 400)
	is.Equal(s.try(t, first).status, 401)  // its token has ended
	is.Equal(s.try(t, second).status, 200) // other tokens have not
	events := s.events(t, c.ID)
	is.Equal(events[len(events)-1].Type, "client.updated")
	require.Contains(t, string(events[len(events)-1].Data), `"changes":{"secrets":`)

	_, err = s.RevokeSecret(t.Context(), c.ID, "sec_unknown")
	require.ErrorIs(t, err, api.ErrNotFound)
	c, err = s.RevokeSecret(t.Context(), c.ID, c.Secrets[0].ID) // the last one can be revoked too
	is.NoErr(err)
	is.Equal(len(c.Secrets), 0)
	is.Equal(s.ask(t, c.ID, secret).status, 400)
	c, third, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: c.ID, Overlap: time.Hour})
	is.NoErr(err)
	is.Equal(s.ask(t, c.ID, third).status, 200)

	expired := c.Secrets[0].ID
	_, _, err = s.RotateSecret(t.Context(), RotateSecretParams{ClientID: c.ID, Overlap: time.Hour})
	is.NoErr(err)
	s.turn(time.Hour)
	_, err = s.RevokeSecret(t.Context(), c.ID, expired)
	require.ErrorIs(t, err, api.ErrNotFound)
	is.NoErr(s.DeleteClient(t.Context(), c.ID))
	events = s.events(t, c.ID)
	require.NotContains(t, string(events[len(events)-1].Data), expired)
}

// TestDigestsAreComparedWhole: a secret or token whose digest begins like a stored one is
// another one.
func TestDigestsAreComparedWhole(t *testing.T) {
	is := is.New(t)
	near := func(digest string) string { return digest[:len(digest)-1] + "-" }
	c := clientRecord{Secrets: []secretRecord{{Digest: near(digest("secret"))}}}
	_, ok := c.match(digest("secret"), start)
	is.True(!ok)
	is.Equal(token{Digests: near(shortDigest("token"))}.find("token"), -1)
}

func TestOnlyDigestsAreStored(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	var made []string
	made = append(made, s.secret, s.token(t, s.client.ID, s.secret))
	_, secret, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
	is.NoErr(err)
	made = append(made, secret, s.token(t, s.client.ID, secret))
	wrong := newCredential(secretPrefix)
	is.Equal(s.ask(t, s.client.ID, wrong).status, 400)
	storeDown(t, s)
	is.Equal(s.ask(t, s.client.ID, wrong).status, 503)
	made = append(made, wrong)

	kept := s.st.written.String() + s.log.String()
	require.Contains(t, kept, s.client.ID) // it has what was written
	require.Contains(t, kept, "store failed")
	for _, c := range made {
		for i := 0; i+8 <= randomLen; i++ {
			require.NotContains(t, kept, c[prefixLen+i:prefixLen+i+8]) // and no part of one
		}
	}
	require.NotContains(t, kept, secretPrefix)
	require.NotContains(t, kept, tokenPrefix)
}
