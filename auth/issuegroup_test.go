package auth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// hold takes the write lock until the test calls release.
func (s *issuer) hold(t *testing.T) (release func()) {
	t.Helper()
	held, end := make(chan struct{}), make(chan struct{})
	go s.st.Store.Update(context.Background(), func(store.Tx) error {
		close(held)
		<-end
		return nil
	})
	<-held
	t.Cleanup(func() {
		select {
		case <-end:
		default:
			close(end)
		}
	})
	return func() { close(end) }
}

// start begins a request for a token and returns when it waits in the open group
// of the client as its nth member. The response arrives in the channel.
func (s *issuer) start(ctx context.Context, secret string, nth int) <-chan *httptest.ResponseRecorder {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {s.client.ID}, "client_secret": {secret}}
	r := httptest.NewRequestWithContext(ctx, "POST", "/oauth/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		s.ServeToken(w, r)
		done <- w
	}()
	for {
		s.groups.mu.Lock()
		g := s.groups.open[s.client.ID]
		joined := g != nil && len(g.members) == nth
		s.groups.mu.Unlock()
		if joined {
			return done
		}
		time.Sleep(10 * time.Microsecond)
	}
}

// accessToken returns the token of a response.
func accessToken(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	_, rest, ok := strings.Cut(w.Body.String(), `{"access_token":"`)
	if w.Code != http.StatusOK || !ok {
		t.Fatalf("no token: %d %s", w.Code, w.Body)
	}
	return rest[:credentialLen]
}

func TestWaitingRequestsShareAnUpdate(t *testing.T) {
	for _, twice := range []bool{false, true} {
		is := is.New(t)
		s := newIssuer(t)
		s.token(t, s.client.ID, s.secret)
		s.st.twice = twice
		var started []<-chan *httptest.ResponseRecorder
		var tokens []string
		calls := s.st.callsOf(func() {
			release := s.hold(t)
			for i := range maxGroup {
				started = append(started, s.start(t.Context(), s.secret, i+1))
			}
			release()
			for _, done := range started {
				tokens = append(tokens, accessToken(t, <-done))
			}
		})
		updates := slices.DeleteFunc(calls, func(call string) bool { return call != "Update" })
		is.Equal(len(updates), 1)
		slices.Sort(tokens)
		is.Equal(len(slices.Compact(tokens)), maxGroup)
		for _, token := range tokens {
			is.Equal(s.try(t, token).status, 200)
		}
		counted, stored := s.tally(t, s.client.ID)
		is.Equal(stored, maxGroup+1)
		is.Equal(counted, maxGroup+1)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	is := is.New(t)
	groups := newIssueGroups(1000)
	leaders := 0
	for range 3 * maxGroup {
		if _, leads := groups.join(&issuance{}); leads {
			leaders++
		}
	}
	is.Equal(leaders, 3)
	is.Equal(newIssueGroups(1).max, 1) // tokens of one update never exceed the limit
}

// A request that ends while it waits neither holds up nor fails the others.
func TestGroupContinuesWithoutARequestThatEnds(t *testing.T) {
	for name, first := range map[string]bool{"the leader": true, "another member": false} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newIssuer(t)
			s.token(t, s.client.ID, s.secret)
			ctx, cancel := context.WithCancel(t.Context())
			ended, others := ctx, t.Context()
			release := s.hold(t)
			var a, b <-chan *httptest.ResponseRecorder
			if first {
				a, b = s.start(ended, s.secret, 1), s.start(others, s.secret, 2)
			} else {
				b, a = s.start(others, s.secret, 1), s.start(ended, s.secret, 2)
			}
			cancel()
			if !first {
				is.Equal((<-a).Code, http.StatusServiceUnavailable) // does not wait for the update
			}
			release()
			if first {
				is.Equal((<-a).Code, http.StatusServiceUnavailable)
			}
			is.Equal(s.try(t, accessToken(t, <-b)).status, 200)
			is.Equal(len(s.groups.open), 0)
		})
	}
}

// Each request of a group is verified for itself.
func TestGroupRefusesARevokedSecretOnly(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	client, second, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
	is.NoErr(err)
	s.token(t, s.client.ID, s.secret)
	s.token(t, s.client.ID, second)
	other := New(s.st, s.opts) // as another process
	_, err = other.RevokeSecret(t.Context(), s.client.ID, client.Secrets[0].ID)
	is.NoErr(err)
	s.turn(time.Hour - time.Minute) // both uses are noted

	release := s.hold(t)
	revoked, valid := s.start(t.Context(), s.secret, 1), s.start(t.Context(), second, 2)
	release()
	w := <-revoked
	is.Equal(w.Code, http.StatusBadRequest)
	require.Contains(t, w.Body.String(), "invalid_client")
	is.Equal(s.try(t, accessToken(t, <-valid)).status, 200)
	c, err := s.GetClient(t.Context(), s.client.ID)
	is.NoErr(err)
	is.Equal(len(c.Secrets), 1)
	is.Equal(c.Secrets[0].LastUsedAt, s.now())
}

// The uses of both secrets are stored if they are in one group.
func TestGroupNotesTheUseOfEachSecret(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	_, second, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
	is.NoErr(err)
	release := s.hold(t)
	a, b := s.start(t.Context(), s.secret, 1), s.start(t.Context(), second, 2)
	release()
	accessToken(t, <-a)
	accessToken(t, <-b)
	c, err := s.GetClient(t.Context(), s.client.ID)
	is.NoErr(err)
	for _, secret := range c.Secrets {
		is.Equal(secret.LastUsedAt, start)
	}
}

// A group whose client was disabled stores nothing.
func TestGroupOfADisabledClientGetsNothing(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	s.token(t, s.client.ID, s.secret)
	_, err := New(s.st, s.opts).UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Disabled: new(true)})
	is.NoErr(err)
	release := s.hold(t)
	a, b := s.start(t.Context(), s.secret, 1), s.start(t.Context(), s.secret, 2)
	release()
	for _, done := range []<-chan *httptest.ResponseRecorder{a, b} {
		is.Equal((<-done).Code, http.StatusBadRequest)
	}
	_, stored := s.tally(t, s.client.ID)
	is.Equal(stored, 1)
}

// Once requests have shared an update, the next one lets other goroutines run
// before it takes its group.
func TestGroupWaitsForRunnableGoroutines(t *testing.T) {
	s := newIssuer(t)
	issue := func() {
		if err := s.post(s.ServeToken, url.Values{"grant_type": {"client_credentials"}}); err != nil {
			t.Error(err)
		}
	}
	for range 10 { // the scheduler may choose the goroutine that has yielded
		s.group(t, 2)
		previous := runtime.GOMAXPROCS(1) // so that nothing else runs unless it yields
		var all sync.WaitGroup
		calls := s.st.callsOf(func() {
			all.Go(issue)
			issue()
			all.Wait()
		})
		runtime.GOMAXPROCS(previous)
		if slices.Index(calls, "Update") == 0 && !slices.Contains(calls[1:], "Update") {
			return
		}
	}
	t.Fatal("no requests shared an update")
}

// group issues n tokens in one update, which share an entry.
func (s *issuer) group(t *testing.T, n int) (tokens []string) {
	t.Helper()
	release := s.hold(t)
	var started []<-chan *httptest.ResponseRecorder
	for i := range n {
		started = append(started, s.start(t.Context(), s.secret, i+1))
	}
	release()
	for _, done := range started {
		tokens = append(tokens, accessToken(t, <-done))
	}
	return tokens
}

// entries returns the entries of tokens.
func (s *issuer) entries(t testing.TB) []store.Entry {
	t.Helper()
	is := is.New(t)
	entries, err := s.st.Store.Entries(t.Context(), store.EntryQuery{Kind: kindToken})
	is.NoErr(err)
	return entries
}

func TestTokensOfAGroupShareAnEntry(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	tokens := s.group(t, 5)
	entries := s.entries(t)
	is.Equal(len(entries), 1)
	for _, token := range tokens {
		is.Equal(token[:tokenIDLen], tokens[0][:tokenIDLen])
		is.True(token[tokenIDLen:tokenIDLen+8] != tokens[0][tokenIDLen:tokenIDLen+8] || token == tokens[0])
		is.Equal(s.try(t, token).body, "true "+s.client.ID+" [license:read license:write] []")
	}
	// Neither a token nor a part of one is stored.
	require.NotContains(t, s.st.written.String(), tokens[0][prefixLen:tokenIDLen])
	// A token that begins as one of them is not one of them.
	is.Equal(s.try(t, newCredentialFrom(tokens[0][:tokenIDLen])).status, 401)
	last := prefixLen + randomLen - 1
	other := "a"
	if tokens[0][last:last+1] == other {
		other = "b"
	}
	is.Equal(s.try(t, newCredentialFrom(tokens[0][:last]+other)).status, 401)
}

func TestTokensOfAGroupExpireTogether(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	release := s.hold(t)
	first := s.start(t.Context(), s.secret, 1)
	s.turn(time.Second)
	second := s.start(t.Context(), s.secret, 2)
	release()
	tokens := []string{accessToken(t, <-first), accessToken(t, <-second)}
	s.turn(time.Hour - time.Millisecond)
	for _, token := range tokens {
		is.Equal(s.try(t, token).status, 200) // for the hour that the answer says, from the later request on
	}
	s.turn(time.Millisecond)
	for _, token := range tokens {
		is.Equal(s.try(t, token).status, 401)
	}
	for {
		more, err := s.Purge(t.Context())
		is.NoErr(err)
		if !more {
			break
		}
	}
	is.Equal(len(s.entries(t)), 0)
	counted, _ := s.tally(t, s.client.ID)
	is.Equal(counted, 0)
}

func TestRevokingATokenOfAGroupKeepsTheOthers(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 100 })
	tokens := s.group(t, 3)
	for i, token := range []string{tokens[1], tokens[0], tokens[2]} {
		for range 2 { // the second time has no effect
			is.NoErr(s.post(s.ServeRevoke, url.Values{"token": {token}}))
			is.Equal(s.try(t, token).status, 401)
			counted, stored := s.tally(t, s.client.ID)
			is.Equal(counted, 2-i)
			is.Equal(stored, 2-i)
		}
		if i == 0 {
			is.Equal(s.try(t, tokens[0]).status, 200)
			is.Equal(s.try(t, tokens[2]).status, 200)
		}
	}
	is.Equal(len(s.entries(t)), 0)
}

// Tokens of one update end with the secrets for which they were issued.
func TestTokensOfAGroupEndWithTheirSecret(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	client, second, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: time.Hour})
	is.NoErr(err)
	release := s.hold(t)
	started := []<-chan *httptest.ResponseRecorder{s.start(t.Context(), s.secret, 1), s.start(t.Context(), second, 2)}
	release()
	revoked, valid := accessToken(t, <-started[0]), accessToken(t, <-started[1])
	_, err = s.RevokeSecret(t.Context(), s.client.ID, client.Secrets[0].ID)
	is.NoErr(err)
	is.Equal(s.try(t, revoked).status, 401)
	is.Equal(s.try(t, valid).status, 200)
}

// A token ends exactly one other, also if that shares its entry.
func TestLimitEndsSomeTokensOfAGroup(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 20 })
	older := s.group(t, 9)
	s.turn(time.Second)
	newer := s.group(t, 9)
	live := func(tokens []string) (n int) {
		for _, token := range tokens {
			if s.try(t, token).status == 200 {
				n++
			}
		}
		return n
	}
	for i, left := range []int{9, 9, 8, 7, 6} {
		s.turn(time.Second)
		s.token(t, s.client.ID, s.secret)
		is.Equal(live(older), left)
		counted, stored := s.tally(t, s.client.ID)
		is.Equal(counted, min(19+i, 20))
		is.Equal(stored, min(19+i, 20))
	}
	s.turn(time.Second)
	last := s.group(t, 9) // ends six and three
	is.Equal(live(older), 0)
	is.Equal(live(newer), 6)
	is.Equal(live(last), 9)
	counted, stored := s.tally(t, s.client.ID)
	is.Equal(counted, 20)
	is.Equal(stored, 20)
}

// Tokens of one update that differ in scopes have different entries.
func TestTokensOfAGroupHaveTheirOwnScopes(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	is.NoErr(s.st.Store.Update(t.Context(), func(tx store.Tx) error {
		v := verified{clientRecord: clientRecord{ID: s.client.ID}, creds: credentials{id: s.client.ID, secret: s.secret}, at: s.now()}
		groups := newIssueGroups(10)
		g, _ := groups.join(&issuance{client: v})
		for _, scope := range []string{"license:read", "license:write license:read", "license:read", "no:scope"} {
			groups.join(&issuance{client: v, scope: scope})
		}
		entries, issued, err := g.entries(t.Context(), tx, time.Hour)
		is.NoErr(err)
		is.Equal(issued, 4)
		is.Equal(len(entries), 2)
		for _, e := range entries {
			_, size := readTokens(e)
			is.Equal(size, 2)
		}
		is.Equal(g.members[3].token.Scopes, []string{"license:read"})
		is.True(g.members[4].err != nil)
		return tx.PutEntries(t.Context(), entries...)
	}))
}

// TestGroupFollowsTheOneBefore: two updates at a time would change one number.
func TestGroupFollowsTheOneBefore(t *testing.T) {
	is := is.New(t)
	q := newIssueGroups(maxGroup)
	request := func() *issuance {
		m := &issuance{}
		m.client.ID = "cid_1"
		return m
	}
	first, leads := q.join(request())
	is.True(leads && first.before == nil)
	q.close(first) // its update runs
	second, leads := q.join(request())
	is.True(leads && second.before == first)
	again, leads := q.join(request())
	is.True(!leads && again == second)
	q.end(first)
	<-second.before.done
	q.end(second)
	third, _ := q.join(request())
	is.True(third.before == nil)
	is.Equal(len(q.last), 1)
}
