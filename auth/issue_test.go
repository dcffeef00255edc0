package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestIssueTakesFewCalls(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	s.token(t, s.client.ID, s.secret) // stores the use and looks for expired tokens
	for range 30 {
		calls := s.st.callsOf(func() { s.token(t, s.client.ID, s.secret) })
		is.Equal(calls, []string{"Update", "tx.Entry client", "tx.Entry token_count", "tx.PutEntries token", "tx.PutEntries token_count"})
	}
}

// The client is read before the update only until it has been issued a token. A
// change of the client in another process applies immediately.
func TestIssueFollowsChangesOfTheClient(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	other := New(s.st, s.opts)
	s.token(t, s.client.ID, s.secret)
	refused := func(id, secret string) []string {
		return s.st.callsOf(func() { is.Equal(s.ask(t, id, secret).status, 400) })
	}
	is.Equal(refused(s.client.ID, newCredential(secretPrefix)), []string{"Entry client"}) // as an unknown client
	is.Equal(refused(newCredential(clientPrefix), s.secret), []string{"Entry client"})

	_, secret, err := other.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
	is.NoErr(err)
	s.token(t, s.client.ID, s.secret)
	s.token(t, s.client.ID, secret)
	s.turn(time.Hour)
	refused(s.client.ID, s.secret)
	s.token(t, s.client.ID, secret)

	_, err = other.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Scopes: &[]string{ScopeLicenseRead}})
	is.NoErr(err)
	require.Contains(t, s.ask(t, s.client.ID, secret).body, `"scope":"license:read"`)

	_, err = other.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Disabled: new(true)})
	is.NoErr(err)
	is.Equal(refused(s.client.ID, secret), []string{"Update", "tx.Entry client"})
	is.Equal(refused(s.client.ID, secret), []string{"Entry client"}) // without the write lock
}

func TestLiveTokensAreCapped(t *testing.T) {
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprint("every update twice: ", twice), func(t *testing.T) {
			is := is.New(t)
			s := newIssuer(t, func(o *Options) { o.Tokens.Max = 3 })
			s.st.twice = twice
			other, otherSecret, err := s.CreateClient(t.Context(), CreateClientParams{Name: "other"})
			is.NoErr(err)
			foreign := s.token(t, other.ID, otherSecret)

			var tokens []string
			for i := range 5 {
				s.turn(time.Second)
				tokens = append(tokens, s.token(t, s.client.ID, s.secret))
				counted, stored := s.tally(t, s.client.ID)
				is.Equal(counted, min(i+1, 3))
				is.Equal(stored, min(i+1, 3))
			}
			for i, token := range tokens {
				is.Equal(s.try(t, token).status == 200, i >= 2) // the oldest ended
			}
			is.Equal(s.try(t, foreign).status, 200) // tokens of another client do not

			// Revoking a token makes room for another.
			form := url.Values{"token": {tokens[4]}, "client_id": {s.client.ID}, "client_secret": {s.secret}}
			is.Equal(s.send(t, "POST", "/oauth/revoke", form.Encode(), formType).status, 200)
			counted, stored := s.tally(t, s.client.ID)
			is.Equal(counted, 2)
			is.Equal(stored, 2)
			s.token(t, s.client.ID, s.secret)
			is.Equal(s.try(t, tokens[2]).status, 200)
		})
	}
}

func TestLoweredCapIsReached(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	for range 9 {
		s.token(t, s.client.ID, s.secret)
	}
	lower := New(s.st, Options{Now: s.opts.Now, Tokens: TokenOptions{Max: 2}})
	w := httptest.NewRecorder()
	lower.ServeToken(w, httptest.NewRequest("GET", "/oauth/token?client_id="+s.client.ID+"&client_secret="+s.secret, nil))
	is.Equal(w.Code, 200)
	counted, stored := s.tally(t, s.client.ID)
	is.Equal(counted, 2)
	is.Equal(stored, 2)
}

// Each token over a high limit ends one other.
func TestManyTokensAreCapped(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 300 })
	for i := range 330 {
		s.turn(time.Millisecond)
		s.token(t, s.client.ID, s.secret)
		counted, stored := s.tally(t, s.client.ID)
		is.Equal(counted, min(i+1, 300))
		is.Equal(stored, min(i+1, 300))
	}
}

func TestExpiredTokensArePurged(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	other, otherSecret, err := s.CreateClient(t.Context(), CreateClientParams{Name: "other"})
	is.NoErr(err)
	for range entries.PurgeBatch {
		s.token(t, s.client.ID, s.secret)
	}
	s.token(t, other.ID, otherSecret)
	s.turn(time.Hour)
	s.token(t, s.client.ID, s.secret)
	for _, left := range []int{1, 0} {
		more, err := s.Purge(t.Context())
		is.NoErr(err)
		is.Equal(more, left > 0)
		is.Equal(len(s.entries(t)), 1+left)
	}
	for id, want := range map[string]int{s.client.ID: 1, other.ID: 0} {
		counted, stored := s.tally(t, id)
		is.Equal(counted, want)
		is.Equal(stored, want)
	}
	calls := s.st.callsOf(func() {
		more, err := s.Purge(t.Context())
		is.NoErr(err)
		is.True(!more)
	})
	is.Equal(calls, []string{"Entries token"}) // no update
}

func TestLastUse(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	s.st.twice = true
	use := func() (Client, bool) {
		calls := s.st.callsOf(func() { s.token(t, s.client.ID, s.secret) })
		c, err := s.GetClient(t.Context(), s.client.ID)
		is.NoErr(err)
		return c, strings.Contains(strings.Join(calls, ","), "tx.PutEntries client")
	}
	is.True(s.client.LastUsedAt.IsZero())
	c, wrote := use()
	is.True(wrote)
	is.Equal(c.LastUsedAt, start)
	is.Equal(c.LastUsedVia, "form")
	is.Equal(c.Secrets[0].LastUsedAt, start)
	is.Equal(c.UpdatedAt, s.client.UpdatedAt) // using a client does not change it

	s.turn(5*time.Minute - time.Millisecond)
	c, wrote = use()
	is.True(!wrote)
	is.Equal(c.LastUsedAt, start)

	s.turn(time.Millisecond)
	s.send(t, "GET", "/oauth/token?client_id="+s.client.ID+"&client_secret="+s.secret, "")
	c, wrote = use()
	is.True(!wrote)
	is.Equal(c.LastUsedAt, start.Add(5*time.Minute))
	is.Equal(c.LastUsedVia, "query")

	for i, tt := range []struct{ via, contentType, body, auth string }{
		{"basic", formType, "grant_type=client_credentials", basic(s.client.ID, s.secret)},
		{"json", jsonType, `{"grant_type":"client_credentials","client_id":"` + s.client.ID + `","client_secret":"` + s.secret + `"}`, ""},
	} {
		s.turn(5 * time.Minute)
		is.Equal(s.send(t, "POST", "/oauth/token", tt.body, tt.contentType, "Authorization: "+tt.auth).status, 200)
		c, err := s.GetClient(t.Context(), s.client.ID)
		is.NoErr(err)
		is.Equal(c.LastUsedVia, tt.via)
		is.Equal(c.LastUsedAt, start.Add(time.Duration(i+2)*5*time.Minute))
	}
	is.Equal(len(s.events(t, s.client.ID)), 1) // only client.created

	s.turn(-30 * time.Minute) // the clock was ahead
	c, wrote = use()
	is.True(wrote)
	is.Equal(c.LastUsedAt, s.now())
}

func TestRevokeEndsOnlyOwnTokens(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 100 })
	s.name(t)
	revoke := func(token string) {
		form := url.Values{"token": {token}, "client_id": {s.client.ID}, "client_secret": {s.secret}}
		is.Equal(s.send(t, "POST", "/oauth/revoke", form.Encode(), formType).body, "{}")
	}
	own, foreign := s.names.Replace("{token}"), s.names.Replace("{foreign}")
	revoke(foreign)
	is.Equal(s.try(t, foreign).status, 200)
	revoke(own)
	revoke(own)
	is.Equal(s.try(t, own).status, 401)
	counted, stored := s.tally(t, s.client.ID)
	is.Equal(counted, 0) // decremented once
	is.Equal(stored, 0)
}

func TestConcurrentIssues(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 30 })
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if a := s.ask(t, s.client.ID, s.secret); a.status != 200 {
				t.Error(a)
			}
		})
	}
	wg.Wait()
	counted, stored := s.tally(t, s.client.ID)
	is.Equal(counted, 30)
	is.Equal(stored, 30)
}

// After a client or a secret is ended, none of its tokens may be valid, including
// tokens that were being issued at that time.
func TestNoTokenOutlivesItsEnd(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *issuer){
		"the client is disabled": func(t *testing.T, s *issuer) { disabled(t, s) },
		"the secret is rotated":  func(t *testing.T, s *issuer) { rotated(0, 0)(t, s) },
		"the secret is revoked": func(t *testing.T, s *issuer) {
			is := is.New(t)
			_, err := s.RevokeSecret(t.Context(), s.client.ID, s.client.Secrets[0].ID)
			is.NoErr(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newIssuer(t)
			var (
				wg     sync.WaitGroup
				mu     sync.Mutex
				tokens []string
				begun  = make(chan struct{}, 8)
			)
			for range 8 {
				wg.Go(func() {
					for i := 0; ; i++ {
						a := s.ask(t, s.client.ID, s.secret)
						if a.status != 200 {
							return
						}
						_, rest, _ := strings.Cut(a.body, `{"access_token":"`)
						mu.Lock()
						tokens = append(tokens, rest[:credentialLen])
						mu.Unlock()
						if i == 0 {
							begun <- struct{}{}
						}
					}
				})
			}
			for range 8 {
				<-begun
			}
			end(t, s)
			mu.Lock()
			soon := tokens[len(tokens)-1]
			mu.Unlock()
			next := s.try(t, soon).status
			wg.Wait()
			is.Equal(next, 401) // on the next request
			for _, token := range tokens {
				is.Equal(s.try(t, token).status, 401)
			}
		})
	}
}

func TestFailuresAreCountedByClientIP(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) {
		o.Tokens.MaxFailures = 2
		o.ClientIP = func(r *http.Request) netip.Addr { a, _ := netip.ParseAddr(r.Header.Get("X-Real")); return a }
	})
	fail := func(from string) int {
		return s.send(t, "GET", "/oauth/token?client_id="+s.client.ID, "", "X-Real: "+from).status
	}
	is.Equal([]int{fail("192.0.2.1"), fail("192.0.2.1"), fail("192.0.2.1"), fail("192.0.2.2")}, []int{401, 401, 429, 401})
	is.Equal(s.ask(t, s.client.ID, s.secret).status, 200) // the right secret works
	s.turn(30 * time.Second)
	is.Equal([]int{fail("192.0.2.1"), fail("192.0.2.1")}, []int{401, 429})
}
