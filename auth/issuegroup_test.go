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

	"github.com/seed-d8a106b4/licensekit/internal/require"
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
		is.Equal(counted, 20) // two batches
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
