package auth

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// issuer is an Auth behind a real server, with a recording store, a clock that
// tests set, and one client.
type issuer struct {
	*Auth
	st     *watchedStore
	url    string
	client Client
	secret string
	log    lockedBuffer
	ahead  atomic.Int64      // nanoseconds after start
	names  *strings.Replacer // values of the names in the rows of the protocol
}

// start is 1767323045.678 in Unix time.
var start = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

func newIssuer(t testing.TB, edit ...func(*Options)) *issuer {
	t.Helper()
	is := is.New(t)
	s := &issuer{st: &watchedStore{Store: memory.New()}}
	opts := Options{
		Now:    func() time.Time { return start.Add(time.Duration(s.ahead.Load())) },
		Logger: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, e := range edit {
		e(&opts)
	}
	s.Auth = New(s.st, opts)
	var err error
	s.client, s.secret, err = s.CreateClient(t.Context(), CreateClientParams{Name: "build farm"})
	is.NoErr(err)

	mux := http.NewServeMux()
	mux.HandleFunc("/oauth/token", s.ServeToken)
	mux.HandleFunc("/oauth/revoke", s.ServeRevoke)
	mux.HandleFunc("/oauth/introspect", s.ServeIntrospect)
	mux.Handle("/metadata", s.Metadata("https://host.example/licensing/"))
	mux.Handle("/nowhere", s.Metadata(""))
	for scope, path := range map[string]string{ScopeLicenseRead: "/read", ScopeEventRead: "/events", "": "/any"} {
		mux.Handle(path, s.RequireScope(scope)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g, ok := GrantFrom(r.Context())
			fmt.Fprint(w, ok, " ", g.ClientID, " ", g.Scopes, " ", g.Products)
		})))
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// turn moves the clock forward.
func (s *issuer) turn(d time.Duration) { s.ahead.Add(int64(d)) }

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request; each line is a header, such as "Accept: */*".
func (s *issuer) send(t testing.TB, method, target, body string, lines ...string) answer {
	t.Helper()
	is := is.New(t)
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+target, strings.NewReader(body))
	is.NoErr(err)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	is.NoErr(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	return answer{resp.StatusCode, resp.Header, string(b)}
}

const formType = "Content-Type: application/x-www-form-urlencoded"

// ask requests a token with these credentials in a form.
func (s *issuer) ask(t testing.TB, id, secret string) answer {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	return s.send(t, "POST", "/oauth/token", form.Encode(), formType)
}

// token issues a token to a client and fails the test if it cannot.
func (s *issuer) token(t testing.TB, id, secret string) string {
	t.Helper()
	a := s.ask(t, id, secret)
	_, rest, ok := strings.Cut(a.body, `{"access_token":"`)
	if a.status != 200 || !ok {
		t.Fatalf("no token: %d %s", a.status, a.body)
	}
	return rest[:credentialLen]
}

// try sends a token to a route that accepts any valid token.
func (s *issuer) try(t testing.TB, token string) answer {
	t.Helper()
	return s.send(t, "GET", "/any", "", "Authorization: Bearer "+token)
}

// tally returns the counted and the stored number of tokens of a client.
func (s *issuer) tally(t testing.TB, clientID string) (counted, stored int) {
	t.Helper()
	is := is.New(t)
	counted, err := readTokenCount(t.Context(), s.st.Store, clientID)
	is.NoErr(err)
	for _, e := range s.entries(t) {
		if e.Owner == clientID {
			_, size := readTokens(e)
			stored += size
		}
	}
	return counted, stored
}

// events returns the events of a subject.
func (s *issuer) events(t testing.TB, subject string) []store.Event {
	t.Helper()
	is := is.New(t)
	events, err := s.st.Events(t.Context(), store.EventQuery{Subject: subject})
	is.NoErr(err)
	return events
}

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

// watchedStore records the calls and the data that package auth writes. It can
// fail, and it can run every update twice.
type watchedStore struct {
	store.Store
	broken atomic.Pointer[error]
	twice  bool

	mu      sync.Mutex
	calls   []string
	written strings.Builder
}

func (s *watchedStore) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func (s *watchedStore) wrote(record any, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.written, "%+v %s\n", record, data)
}

// callsOf returns the calls that are made while fn runs.
func (s *watchedStore) callsOf(fn func()) []string {
	s.mu.Lock()
	s.calls = nil
	s.mu.Unlock()
	fn()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *watchedStore) fail() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *watchedStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	s.note("Entry %s", kind)
	if err := s.fail(); err != nil {
		return store.Entry{}, err
	}
	return s.Store.Entry(ctx, kind, key)
}

func (s *watchedStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s.note("Entries %s", q.Kind)
	return s.Store.Entries(ctx, q)
}

func (s *watchedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.note("Update")
	if err := s.fail(); err != nil {
		return err
	}
	again := fmt.Errorf("run it again")
	if s.twice {
		err := s.Store.Update(ctx, func(tx store.Tx) error {
			if err := fn(watchedTx{tx, s}); err != nil {
				return err
			}
			return again
		})
		if err != again {
			return err
		}
	}
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(watchedTx{tx, s}) })
}

type watchedTx struct {
	store.Tx
	s *watchedStore
}

func (tx watchedTx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	tx.s.note("tx.Entry %s", kind)
	return tx.Tx.Entry(ctx, kind, key)
}

func (tx watchedTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	tx.s.note("tx.Entries %s", q.Kind)
	return tx.Tx.Entries(ctx, q)
}

func (tx watchedTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		tx.s.note("tx.PutEntries %s", e.Kind)
		tx.s.wrote(e, e.Data)
	}
	return tx.Tx.PutEntries(ctx, entries...)
}

func (tx watchedTx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	tx.s.note("tx.DeleteEntries %s", kind)
	return tx.Tx.DeleteEntries(ctx, kind, keys...)
}

func (tx watchedTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	for _, e := range events {
		tx.s.note("tx.AppendEvents %s", e.Type)
		tx.s.wrote(e, e.Data)
	}
	return tx.Tx.AppendEvents(ctx, events...)
}

// lockedBuffer is a log that many goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
