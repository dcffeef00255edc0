package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/hashcost"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// browser is a browser that keeps one cookie.
type browser struct {
	o      *fixture
	addr   string
	cookie *http.Cookie
}

func (b *browser) request() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "https://host.example/dashboard/sign-in", nil)
	if r.RemoteAddr = b.addr; b.addr == "" {
		r.RemoteAddr = "192.0.2.1:1234"
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	return r
}

// do calls fn and stores the cookie that it sets.
func (b *browser) do(fn func(http.ResponseWriter, *http.Request) error) error {
	w := httptest.NewRecorder()
	err := fn(w, b.request())
	for _, c := range w.Result().Cookies() {
		if b.cookie = c; c.MaxAge < 0 {
			b.cookie = nil
		}
	}
	return err
}

func (b *browser) signIn(email, password string) error {
	return b.do(func(w http.ResponseWriter, r *http.Request) error {
		_, err := b.o.SignIn(w, r, email, password, false)
		return err
	})
}

// newSignedIn returns a fixture with an operator who is signed in.
func newSignedIn(t *testing.T) (o *fixture, ada Operator, b *browser) {
	t.Helper()
	o = newFixture(t)
	ada, b = o.operator(t, "ada@example.com", RoleAdmin), &browser{o: o}
	is.New(t).NoErr(b.signIn("ada@example.com", goodPassword))
	return o, ada, b
}

func (b *browser) who() string {
	op, err := b.o.Session(b.request())
	if err != nil {
		return err.Error()
	}
	return op.Email
}

func TestSession(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "Ada@example.com", RoleAdmin)
	b := &browser{o: o}
	is.Equal(b.who(), signin.ErrNoSession.Error())

	is.NoErr(b.signIn(" ada@EXAMPLE.com", goodPassword))
	is.Equal(b.who(), "Ada@example.com")
	is.Equal(b.cookie.Name, "licensing_session")
	is.Equal(b.cookie.Path, "") // the browser scopes it to the folder of the page
	is.True(b.cookie.HttpOnly && b.cookie.Secure)
	is.Equal(b.cookie.SameSite, http.SameSiteLaxMode)
	_, err := o.st.Entry(t.Context(), kindSession, b.cookie.Value)
	require.ErrorIs(t, err, store.ErrNotFound) // the store has only the hash of the token

	first := *b.cookie
	is.NoErr(b.signIn("ada@example.com", goodPassword))
	is.True(b.cookie.Value != first.Value) // a new token at each sign-in
	b.cookie = &first
	is.Equal(b.who(), signin.ErrNoSession.Error()) // and the previous token has ended

	is.NoErr(b.signIn("ada@example.com", goodPassword))
	o.now = o.now.Add(sessionLifetime - time.Second)
	is.Equal(b.who(), "Ada@example.com")
	o.now = o.now.Add(time.Second)
	is.Equal(b.who(), signin.ErrNoSession.Error()) // twelve hours later
}

// TestStaySignedIn: an operator who stays signed in has a session of fourteen days and a cookie
// that a closed browser keeps, also after a second factor and a new password. Without that,
// the cookie goes with the browser. The list of sessions has the newest first.
func TestStaySignedIn(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	ada, long, short := o.operator(t, "ada@example.com", RoleAdmin), &browser{o: o}, &browser{o: o}
	stay := func() error {
		return long.do(func(w http.ResponseWriter, r *http.Request) error {
			_, err := o.SignIn(w, r, "ada@example.com", goodPassword, true)
			return err
		})
	}
	is.NoErr(stay())
	is.Equal(long.cookie.MaxAge, 14*24*3600)
	is.True(long.cookie.HttpOnly && long.cookie.Secure)
	o.now = o.now.Add(time.Minute)
	is.NoErr(short.signIn("ada@example.com", goodPassword))
	is.Equal(short.cookie.MaxAge, 0)
	list, err := o.Sessions(long.request(), ada.ID)
	is.NoErr(err)
	is.Equal([]bool{list[0].Current, list[1].Current}, []bool{false, true}) // the newest ends first
	is.Equal(list[1].ExpiresAt.Sub(list[1].CreatedAt), stayLifetime)
	o.now = o.now.Add(stayLifetime - 2*time.Minute)
	is.Equal([]string{short.who(), long.who()}, []string{signin.ErrNoSession.Error(), "ada@example.com"})
	is.NoErr(long.do(func(w http.ResponseWriter, r *http.Request) error {
		return o.ChangePassword(w, r, goodPassword, otherPassword)
	}))
	is.Equal(long.cookie.MaxAge, 14*24*3600)
	o.now = o.now.Add(stayLifetime)
	is.Equal(long.who(), signin.ErrNoSession.Error())

	is.NoErr(long.signIn("ada@example.com", otherPassword))
	secret, _ := long.enableWith(t, otherPassword)
	is.Equal(long.cookie.MaxAge, 0)
	require.ErrorIs(t, long.do(func(w http.ResponseWriter, r *http.Request) error {
		_, err := o.SignIn(w, r, "ada@example.com", otherPassword, true)
		return err
	}), signin.ErrSecondFactor)
	is.Equal(long.cookie.MaxAge, 0) // the code is missing
	is.NoErr(long.complete(o.code(secret)))
	is.Equal(long.cookie.MaxAge, 14*24*3600)
}

// A host that uses scs without scs.New stores its sessions under the same
// context key.
func TestSessionIsSeparateFromTheHosts(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	hosts := &scs.SessionManager{Lifetime: time.Hour, Store: sessionStore{o.Service}, Codec: scs.GobCodec{}, Cookie: scs.SessionCookie{Name: "host"}}
	ctx, err := hosts.Load(context.Background(), "")
	is.NoErr(err)
	hosts.Put(ctx, "operator", "another operator")

	b := &browser{o: o}
	is.NoErr(b.do(func(w http.ResponseWriter, r *http.Request) error {
		_, err := o.SignIn(w, r.WithContext(ctx), "ada@example.com", goodPassword, false)
		return err
	}))
	is.Equal(hosts.GetString(ctx, "operator"), "another operator") // the session of the host is not written
	op, err := o.Session(b.request().WithContext(ctx))
	is.NoErr(err)
	is.Equal(op.Email, "ada@example.com") // or read
}

func TestSessionsEnd(t *testing.T) {
	viewer, yes, password := RoleViewer, true, otherPassword
	for name, end := range map[string]func(*fixture, *browser, Operator) error{
		"by signing out in another browser": func(o *fixture, b *browser, _ Operator) error {
			return b.do(o.SignOut)
		},
		"by signing out everywhere": func(o *fixture, _ *browser, op Operator) error {
			return o.SignOutEverywhere(context.Background(), op.ID)
		},
		"by a change of role": func(o *fixture, _ *browser, op Operator) error {
			_, err := o.Update(context.Background(), UpdateParams{ID: op.ID, Role: &viewer})
			return err
		},
		"by being disabled": func(o *fixture, _ *browser, op Operator) error {
			_, err := o.Update(context.Background(), UpdateParams{ID: op.ID, Disabled: &yes})
			return err
		},
		"by a new password": func(o *fixture, _ *browser, op Operator) error {
			_, err := o.Update(context.Background(), UpdateParams{ID: op.ID, Password: &password})
			return err
		},
		"by changing the password": func(o *fixture, b *browser, op Operator) error {
			return b.do(func(w http.ResponseWriter, r *http.Request) error {
				return o.ChangePassword(w, r, goodPassword, otherPassword)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o := newFixture(t)
			o.operator(t, "boss@example.com", RoleAdmin)
			op := o.operator(t, "ada@example.com", RoleAdmin)
			one, two := &browser{o: o}, &browser{o: o}
			is.NoErr(one.signIn("ada@example.com", goodPassword))
			is.NoErr(two.signIn("ada@example.com", goodPassword))
			is.Equal(one.who(), "ada@example.com")
			is.NoErr(end(o, two, op))
			is.Equal(one.who(), signin.ErrNoSession.Error())
		})
	}
}

func TestSignOutAppendsItsOwnEvent(t *testing.T) {
	is := is.New(t)
	o, ada, b := newSignedIn(t)
	is.NoErr(b.do(o.SignOut))
	is.NoErr(o.As(auth.Caller{Actor: "operator:opr_boss"}).SignOutEverywhere(t.Context(), ada.ID))
	types, text := o.events(t)
	is.Equal(types[len(types)-2:], []string{"operator.signed_out by operator:" + ada.ID, "operator.signed_out by operator:opr_boss"})
	require.NotContains(t, text, "sessions")
	require.ErrorIs(t, o.SignOutEverywhere(t.Context(), "opr_unknown"), api.ErrNotFound)
}

func TestChangePassword(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleViewer)
	b := &browser{o: o}
	change := func(current, next string) error {
		return b.do(func(w http.ResponseWriter, r *http.Request) error { return o.ChangePassword(w, r, current, next) })
	}
	require.ErrorIs(t, change(goodPassword, otherPassword), signin.ErrNoSession)
	is.NoErr(b.signIn("ada@example.com", goodPassword))
	require.ErrorIs(t, change("not the right password", otherPassword), signin.ErrCredentials)
	types, _ := o.events(t)
	is.Equal(types[len(types)-1], "operator.sign_in_failed by "+actorOf(t, o, "ada@example.com"))
	require.ErrorIs(t, change(goodPassword, "too short"), api.ErrInvalid)
	is.NoErr(change(goodPassword, otherPassword))
	is.Equal(b.who(), "ada@example.com") // the browser that changed it stays signed in
	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrCredentials)
	is.NoErr(b.signIn("ada@example.com", otherPassword))
}

func TestSignInIsThrottled(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	attacker, ada := &browser{o: o, addr: "198.51.100.7:4711"}, &browser{o: o}

	for _, email := range []string{"ada@example.com", "unknown@example.com"} { // the same for both
		var waits []time.Duration
		for len(waits) < 5 {
			err := attacker.signIn(email, "not the password")
			var throttled *ThrottledError
			if errors.As(err, &throttled) {
				waits = append(waits, throttled.RetryAfter)
				o.now = o.now.Add(throttled.RetryAfter)
				continue
			}
			require.ErrorIs(t, err, signin.ErrCredentials)
		}
		is.Equal(waits, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second})
	}
	is.NoErr(ada.signIn("ada@example.com", goodPassword)) // failures from another address do not lock an operator out

	types, text := o.events(t)
	is.Equal(types[len(types)-1], "operator.signed_in by "+actorOf(t, o, "ada@example.com"))
	is.Equal(strings.Count(strings.Join(types, "\n"), "operator.sign_in_failed by anonymous"), 14)
	require.Contains(t, text, "198.51.100.7")
	require.NotContains(t, text, "unknown@example.com") // events do not contain the entered address
}

// Many addresses together must not fill the event feed with failed sign-ins,
// neither of unknown accounts nor of a known one.
func TestFailedSignInsAppendBoundedEvents(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	o.signInEvents = rate.New(3, time.Hour, 3)
	failed := func() int {
		types, _ := o.events(t)
		return strings.Count(strings.Join(types, "\n"), "operator.sign_in_failed")
	}
	for i := range 6 {
		b := &browser{o: o, addr: fmt.Sprintf("192.0.2.%d:4711", i+10)}
		require.ErrorIs(t, b.signIn(fmt.Sprintf("unknown%d@example.com", i), otherPassword), signin.ErrCredentials)
	}
	is.Equal(failed(), 3)
	for i := range 6 {
		b := &browser{o: o, addr: fmt.Sprintf("192.0.2.%d:4711", i+10)}
		require.ErrorIs(t, b.signIn("ada@example.com", otherPassword), signin.ErrCredentials)
	}
	is.Equal(failed(), 3+3)
	is.NoErr((&browser{o: o}).signIn("ada@example.com", goodPassword)) // a success is always an event
	types, _ := o.events(t)
	is.Equal(types[len(types)-1], "operator.signed_in by "+actorOf(t, o, "ada@example.com"))
	o.now = o.now.Add(20 * time.Minute)
	require.ErrorIs(t, (&browser{o: o}).signIn("unknown@example.com", otherPassword), signin.ErrCredentials)
	is.Equal(failed(), 3+3+1)
}

// attempts returns how many entries count failed attempts.
func (o *fixture) attempts(t *testing.T) int {
	t.Helper()
	entries, err := o.st.Entries(t.Context(), store.EntryQuery{Kind: kindSignIn})
	is.New(t).NoErr(err)
	return len(entries)
}

func TestSignInIsThrottledByAddress(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	o.failures = rate.New(3, time.Minute, 3)
	attacker := &browser{o: o, addr: "[2001:db8::7]:4711"}
	guess := func(i int) error { return attacker.signIn(fmt.Sprintf("unknown%d@example.com", i), otherPassword) }
	for i := range 3 {
		require.ErrorIs(t, guess(i), signin.ErrCredentials)
	}
	rows := o.attempts(t)
	var throttled *ThrottledError
	for i := range 20 {
		attacker.addr = fmt.Sprintf("[2001:db8::%x]:4711", i) // the same /64
		require.ErrorAs(t, guess(100+i), &throttled)
		is.Equal(throttled.RetryAfter, 20*time.Second)
	}
	is.Equal(o.attempts(t), rows) // refused before the store is read
	for range 6 {
		is.NoErr((&browser{o: o}).signIn("ada@example.com", goodPassword)) // other addresses are not delayed, and a success does not count
	}
	o.now = o.now.Add(20 * time.Second)
	require.ErrorIs(t, guess(4), signin.ErrCredentials)
}

// One address, or one network of IPv6, must not use all hashing slots.
func TestConcurrentSignInsOfOneAddressAreLimited(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	for range cap(hashes) {
		hashes <- struct{}{} // all slots are in use
	}
	const sent = 12
	errs := make(chan error)
	for i := range sent {
		attacker := &browser{o: o, addr: fmt.Sprintf("[2001:db8::%x]:4711", i)}
		go func() { errs <- attacker.signIn(fmt.Sprintf("unknown%d@example.com", i), otherPassword) }()
	}
	for range sent - maxWaiting {
		require.ErrorIs(t, <-errs, ErrThrottled) // refused without waiting
	}
	go func() { errs <- (&browser{o: o}).signIn("ada@example.com", goodPassword) }()
	for range cap(hashes) {
		<-hashes
	}
	signedIn := 0
	for range maxWaiting + 1 {
		if err := <-errs; err == nil {
			signedIn++
		} else {
			require.ErrorIs(t, err, signin.ErrCredentials)
		}
	}
	is.Equal(signedIn, 1)
	is.Equal(len(o.signIns.n), 0) // none is under way
}

func TestAClockThatWasAheadLocksNoOperatorOut(t *testing.T) {
	for _, tt := range []struct {
		ahead time.Duration
		wait  time.Duration // after three failures
	}{
		{30 * 24 * time.Hour, 0},
		{30 * time.Second, time.Second}, // a normal difference between the clocks of two processes
	} {
		t.Run(tt.ahead.String(), func(t *testing.T) {
			is := is.New(t)
			o := newFixture(t)
			o.operator(t, "ada@example.com", RoleAdmin)
			b := &browser{o: o}
			o.now = o.now.Add(tt.ahead)
			for range 3 {
				require.ErrorIs(t, b.signIn("ada@example.com", otherPassword), signin.ErrCredentials)
			}
			o.now = o.now.Add(-tt.ahead)
			if tt.wait > 0 {
				var throttled *ThrottledError
				require.ErrorAs(t, b.signIn("ada@example.com", goodPassword), &throttled)
				is.Equal(throttled.RetryAfter, tt.wait)
				o.now = o.now.Add(tt.ahead + tt.wait)
			}
			is.NoErr(b.signIn("ada@example.com", goodPassword))
		})
	}
}

// The calls to the store must not show whether an address is known.
func TestSignInMakesTheSameCallsForUnknownAddresses(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	st := &recordingStore{Store: o.st}
	s := open(inner.Config{Store: st, Now: o.opts.Now, Logger: o.opts.Logger})
	ask := func(email string) []string {
		st.calls = nil
		_, err := s.checkCredentials(t.Context(), email, otherPassword, place(1))
		require.ErrorIs(t, err, signin.ErrCredentials)
		return st.calls
	}
	is.Equal(ask("unknown@example.com"), ask("ada@example.com"))
}

func actorOf(t *testing.T, o *fixture, email string) string {
	t.Helper()
	e, err := o.st.Entry(t.Context(), kindEmail, email)
	is.New(t).NoErr(err)
	return "operator:" + e.Owner
}

func TestAHundredFailuresDoNotLockAnAccount(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	ctx := t.Context()
	o.operator(t, "ada@example.com", RoleAdmin)
	for i := range maxFailures - 3 {
		o.now = o.now.Add(time.Minute)
		is.NoErr(o.begin(ctx, newAttempt("Ada@example.com", place(i))))
	}
	for range 3 { // these are the last of a hundred
		is.NoErr(o.begin(ctx, newAttempt("ada@example.com", place(1000))))
	}
	var throttled *ThrottledError
	require.ErrorAs(t, o.begin(ctx, newAttempt("ada@example.com", place(1000))), &throttled)
	is.Equal(throttled.RetryAfter, attackDelay) // each address gets few guesses now
	is.NoErr(o.begin(ctx, newAttempt("bob@example.com", place(1000))))
	for range 3 {
		is.NoErr(o.begin(ctx, newAttempt("ada@example.com", place(1001))))
	}

	is.NoErr((&browser{o: o}).signIn("ada@example.com", goodPassword)) // the right password works
	o.now = o.now.Add(time.Second)
	is.NoErr(o.begin(ctx, newAttempt("ada@example.com", place(1000)))) // and resets the counter
}

// TestOldFailuresDoNotCount: after a day a failure counts no more, removed or not.
func TestOldFailuresDoNotCount(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	for range 2 {
		for range 3 {
			is.NoErr(o.begin(t.Context(), newAttempt("ada@example.com", place(1))))
		}
		require.ErrorIs(t, o.begin(t.Context(), newAttempt("ada@example.com", place(1))), ErrThrottled)
		o.now = o.now.Add(failuresKept)
	}
}

// A changingStore calls change before one of its Updates, after an attempt that does
// not count.
type changingStore struct {
	store.Store
	updates int // before that
	change  func()
}

func (s *changingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.updates--; s.updates == 0 {
		_ = s.Store.Update(ctx, func(tx store.Tx) error { return cmp.Or(fn(tx), errors.New("undone")) })
		s.change()
	}
	return s.Store.Update(ctx, fn)
}

// TestChangesWhilePasswordsAreHashed: what was right when the hash was begun opens no
// session when it is done.
func TestChangesWhilePasswordsAreHashed(t *testing.T) {
	is := is.New(t)
	o, ada, b := newSignedIn(t)
	during := func(updates int, change func()) *browser {
		st := &changingStore{o.st, updates, change}
		s := open(inner.Config{Store: st, Now: func() time.Time { return o.now }, Logger: slog.New(slog.DiscardHandler)})
		return &browser{o: &fixture{internals: internals{s}}, cookie: b.cookie}
	}
	desk := during(3, func() { is.NoErr(o.SignOutEverywhere(t.Context(), ada.ID)) }) // after the check of the password
	err := desk.do(func(w http.ResponseWriter, r *http.Request) error {
		return desk.o.ChangePassword(w, r, goodPassword, otherPassword)
	})
	require.ErrorIs(t, err, signin.ErrNoSession)

	desk = during(2, func() {
		next := otherPassword
		_, err := o.Update(t.Context(), UpdateParams{ID: ada.ID, Password: &next})
		is.NoErr(err)
	})
	require.ErrorIs(t, desk.signIn("ada@example.com", goodPassword), signin.ErrCredentials)

	code, err := o.CreatePasswordReset(t.Context(), ada.ID)
	is.NoErr(err)
	first := &browser{o: o}
	desk = during(1, func() { is.NoErr(first.accept(code, otherPassword)) })
	require.ErrorIs(t, desk.accept(code, goodPassword), signin.ErrInvitationCode)
	is.Equal(first.who(), "ada@example.com")

	is.NoErr(b.signIn("ada@example.com", otherPassword))
	secret, _ := b.enableWith(t, otherPassword)
	require.ErrorIs(t, first.signIn("ada@example.com", otherPassword), signin.ErrSecondFactor)
	require.ErrorIs(t, b.signIn("ada@example.com", otherPassword), signin.ErrSecondFactor)
	desk = during(2, func() { is.NoErr(first.complete(o.code(secret))) })
	require.ErrorIs(t, desk.complete(o.code(secret)), signin.ErrCode)
}

// TestSetupCodeIsUsedOnce: of two callers with the same code, one becomes an admin.
func TestSetupCodeIsUsedOnce(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	code := ""
	complete := func(b *browser, email string) error {
		return b.do(func(w http.ResponseWriter, r *http.Request) error {
			_, err := b.o.CompleteSetup(w, r, code, email, goodPassword)
			return err
		})
	}
	during := func(change func()) *browser {
		st := &changingStore{o.st, 1, change}
		return &browser{o: &fixture{internals: internals{open(inner.Config{Store: st, Now: o.opts.Now, Logger: o.opts.Logger})}}}
	}
	var err error
	b := during(func() { code, err = o.CreateSetupCode(t.Context()); is.NoErr(err) })
	needs, err := b.o.NeedsSetup(t.Context())
	is.NoErr(err)
	is.True(needs)
	is.Equal(o.log.String(), "") // a code of an attempt that was undone is none
	b = during(func() { is.NoErr(complete(&browser{o: o}, "ada@example.com")) })
	require.ErrorIs(t, complete(b, "eve@example.com"), ErrAlreadySetUp)
	codes, err := o.st.Entries(t.Context(), store.EntryQuery{Kind: kindSetup})
	is.NoErr(err)
	is.Equal(len(codes), 0)
}

func TestConcurrentGuessesAreCounted(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	allowed := 0
	for range 20 {
		wg.Go(func() {
			if o.begin(context.Background(), newAttempt("ada@example.com", place(1))) == nil {
				mu.Lock()
				allowed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	is.Equal(allowed, 3) // as many as consecutive guesses
}

func TestSignInReplacesAHashOfLowerCost(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	ctx := t.Context()
	op := o.operator(t, "ada@example.com", RoleAdmin)
	salt := []byte("sixteen bytes of")
	cheap := hashcost.Cost{Memory: 32, Time: 1, Threads: 1}
	sum, err := argon(ctx, goodPassword, salt, cheap)
	is.NoErr(err)
	is.NoErr(o.st.Update(ctx, func(tx store.Tx) error {
		e, rec, err := readRecord(ctx, tx, op.ID)
		if err != nil {
			return err
		}
		rec.Password = formatPHC(cheap, salt, sum)
		return putJSON(ctx, tx, e, rec)
	}))
	b := &browser{o: o}
	is.NoErr(b.signIn("ada@example.com", goodPassword))
	is.Equal(b.who(), "ada@example.com")
	e, err := o.st.Entry(ctx, kindOperator, op.ID)
	is.NoErr(err)
	var rec record
	is.NoErr(json.Unmarshal(e.Data, &rec))
	require.Contains(t, rec.Password, "$m=64,t=1,p=1$")
	is.NoErr(b.signIn("ada@example.com", goodPassword))
}

func TestCompleteSetup(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	b := &browser{o: o}
	complete := func(code, email, password string) error {
		return b.do(func(w http.ResponseWriter, r *http.Request) error {
			_, err := o.CompleteSetup(w, r, code, email, password)
			return err
		})
	}
	require.ErrorIs(t, complete("", "ada@example.com", goodPassword), signin.ErrSetupCode) // nothing is open by default
	ended, err := o.CreateSetupCode(t.Context())
	is.NoErr(err)
	code, err := o.CreateSetupCode(t.Context())
	is.NoErr(err)
	require.ErrorIs(t, complete(ended, "ada@example.com", goodPassword), signin.ErrSetupCode)
	require.ErrorIs(t, complete(code, "ada", goodPassword), api.ErrInvalid)
	require.ErrorIs(t, complete(code, "ada@example.com", "too short"), api.ErrInvalid)

	o.now = o.now.Add(setupCodeTTL)
	require.ErrorIs(t, complete(code, "ada@example.com", goodPassword), signin.ErrSetupCode) // half an hour later
	o.now = o.now.Add(-time.Second)
	is.NoErr(complete(" "+strings.ToLower(code[:13])+"-"+code[13:]+"\n", "ada@example.com", goodPassword))
	is.Equal(b.who(), "ada@example.com") // signed in immediately
	op, err := o.Session(b.request())
	is.NoErr(err)
	is.Equal(op.Role, RoleAdmin)
	is.Equal(op.LastSignInAt, o.now)
	types, _ := o.events(t)
	is.Equal(types, []string{"operator.created by setup", "operator.signed_in by operator:" + op.ID})

	require.ErrorIs(t, complete(code, "eve@example.com", goodPassword), ErrAlreadySetUp) // a code works once
}

// place returns the address of one of many machines.
func place(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
}
