package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestMove moves a store from SQLite to PostgreSQL and back, and then again after
// it has been in use there.
func TestMove(t *testing.T) {
	is := is.New(t)
	t.Chdir(t.TempDir())
	db := open(t, "pgx", sharedDSN(t))
	first, there, back, last := newFile(t), newStore(t, db, newSchema(t, db)), newFile(t), newFile(t)
	m := newMover(t)
	m.live(first, 600) // more than one Update of an import

	is.NoErr(move(t.Context(), first, there, "there"))
	is.NoErr(move(t.Context(), there, back, "back"))
	is.NoErr(move(t.Context(), back, newFile(t), "again")) // for its archive
	sameLines(t, "there", "back")
	sameLines(t, "back", "again")
	m.check(there)
	m.check(back)

	m.live(there, 10)
	is.NoErr(move(t.Context(), there, last, "last"))
	m.check(last)
	m.live(last, 10)
	m.check(last)

	// An existing store or archive is not overwritten.
	require.ErrorIs(t, move(t.Context(), first, last, "other"), store.ErrExists)
	require.ErrorIs(t, move(t.Context(), first, newFile(t), "last"), os.ErrExist)
	m.live(last, 10) // the subscriber also receives the test event of the check before
	m.check(last)
}

// newFile returns a store in a new SQLite file.
func newFile(t *testing.T) store.Store {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(st.Close()) })
	return st
}

// sameLines compares two archives, and reports where they differ.
func sameLines(t *testing.T, name, other string) {
	t.Helper()
	is := is.New(t)
	text, err := os.ReadFile(name)
	is.NoErr(err)
	same, err := os.ReadFile(other)
	is.NoErr(err)
	lines, others := bytes.SplitAfter(text, []byte("\n")), bytes.SplitAfter(same, []byte("\n"))
	is.Equal(len(others), len(lines))
	for i, line := range lines {
		is.Equal(string(others[i]), string(line))
	}
}

// A mover knows the expected content of a store, on any backend.
type mover struct {
	t    *testing.T
	hook string // the URL of a webhook receiver that refuses everything

	client   auth.Client
	secret   string
	licenses []api.License

	mu      sync.Mutex
	handled []api.Event // the events that a subscriber received, in all stores together
}

func newMover(t *testing.T) *mover {
	refuse := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refuse.Close)
	return &mover{t: t, hook: refuse.URL}
}

// mount returns the service on a store, as each of the applications mounts it.
func (m *mover) mount(st store.Store) *licensing.Handler {
	return mountMoved(st, licensing.Subscriber{
		Name: "mover", FromStart: true,
		Handle: func(_ context.Context, e api.Event) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.handled = append(m.handled, e)
			return nil
		},
	})
}

func mountMoved(st store.Store, subscribers ...licensing.Subscriber) *licensing.Handler {
	return licensing.NewHandler(st, licensing.Options{
		Logger: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		MasterKey:   bytes.Repeat([]byte("k"), 32),
		Webhooks:    webhook.Options{AllowPrivate: true},
		Subscribers: subscribers,
	})
}

// live uses the store st: it adds n licenses, activates, suspends and deletes
// some of them, and delivers the events.
func (m *mover) live(st store.Store, n int) {
	is, ctx := is.New(m.t), m.t.Context()
	h := m.mount(st)
	if m.secret == "" {
		var err error
		m.client, m.secret, err = h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Web shop"})
		is.NoErr(err)
		_, _, err = h.Webhooks().Create(ctx, api.CreateWebhookParams{URL: m.hook, Types: []string{api.EventLicenseSuspended}})
		is.NoErr(err)
	}
	var made []api.License
	is.NoErr(h.Service().Atomically(ctx, func(s *license.Service) error {
		made = nil
		for i := range n {
			l, err := m.add(s, i)
			if err != nil {
				return err
			}
			made = append(made, l)
		}
		return s.Delete(ctx, api.DeleteLicenseParams{ID: made[0].ID})
	}))
	m.licenses = append(m.licenses, made[1:]...)
	m.run(h)
}

// add creates a license, and sometimes makes further changes to it.
func (m *mover) add(s *license.Service, i int) (api.License, error) {
	ctx, seats := m.t.Context(), int64(2)
	l, err := s.Create(ctx, api.CreateLicenseParams{
		Name: fmt.Sprint("Lïcence ", i), ProductID: fmt.Sprint("prod_", i%3), CustomerID: fmt.Sprint("cus_", i%7),
		Terms: api.Terms{MaxActivations: &seats, Entitlements: map[string]any{"users": 1.5}}, Metadata: map[string]string{"n": "<&>\u2028x"},
	})
	if err == nil && i%10 == 0 {
		_, err = s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
	}
	if err == nil && i%20 == 5 {
		l, err = s.Suspend(ctx, api.ChangeStateParams{ID: l.ID, Reason: "an invoice is open"})
	}
	return l, err
}

// run delivers events until the subscriber has received them all.
func (m *mover) run(h *licensing.Handler) {
	is := is.New(m.t)
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	want := len(m.feed(h))
	var running sync.WaitGroup
	running.Go(func() { is.NoErr(h.Run(ctx)) })
	got := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.handled)
	}
	for got() < want && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	running.Wait()
}

// check compares st with its expected content.
func (m *mover) check(st store.Store) {
	is, ctx := is.New(m.t), m.t.Context()
	h := m.mount(st)
	for _, want := range m.licenses {
		got, err := h.Service().Get(ctx, want.ID)
		is.NoErr(err)
		is.Equal(got, want)
		verdict, err := h.Service().Validate(ctx, api.ValidateKeyParams{Key: want.Key})
		is.NoErr(err)
		is.Equal(verdict.License.ID, want.ID)
	}

	// The subscriber received every event, once and in order, whichever
	// store it happened in.
	feed := m.feed(h)
	is.Equal(len(feed), len(m.handled))
	for i, e := range feed {
		is.Equal(e.ID, m.handled[i].ID)
		is.Equal(e.Type, m.handled[i].Type)
	}

	r := httptest.NewRequestWithContext(ctx, "POST", "/oauth/token", bytes.NewBufferString("grant_type=client_credentials"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(m.client.ID, m.secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &answer))
	r = httptest.NewRequestWithContext(ctx, "GET", "/license/"+m.licenses[0].ID, nil)
	r.Header.Set("Authorization", "Bearer "+answer.AccessToken)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)

	// The secret of a webhook works, and its pending deliveries are kept.
	webhooks, err := h.Webhooks().List(ctx, api.ListWebhooksParams{})
	is.NoErr(err)
	is.Equal(len(webhooks.Data), 1)
	deliveries, err := h.Webhooks().Deliveries(ctx, api.ListDeliveriesParams{WebhookID: webhooks.Data[0].ID})
	is.NoErr(err)
	is.True(len(deliveries.Data) > 0)
	_, err = h.Webhooks().Test(ctx, webhooks.Data[0].ID)
	is.NoErr(err)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var running sync.WaitGroup
	sender := mountMoved(st) // without the subscriber, which receives the test event only if st stays in use
	running.Go(func() { sender.Run(ctx) })
	var attempts []api.Attempt
	for len(attempts) == 0 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		if page, err := h.Webhooks().Deliveries(ctx, api.ListDeliveriesParams{WebhookID: webhooks.Data[0].ID}); err == nil {
			for _, d := range page.Data { // the receiver fails, so the newest may have to wait
				attempts = append(attempts, d.Attempts...)
			}
		}
	}
	cancel()
	running.Wait()
	is.True(len(attempts) > 0)
	is.Equal(attempts[0].StatusCode, http.StatusNotFound) // it was signed and sent
}

// feed returns all events.
func (m *mover) feed(h *licensing.Handler) (all []api.Event) {
	for cursor := ""; ; {
		page, err := h.Service().Events(m.t.Context(), api.ListEventsParams{After: cursor, Limit: 200})
		is.New(m.t).NoErr(err)
		all = append(all, page.Data...)
		if !page.HasMore {
			return all
		}
		cursor = page.NextCursor
	}
}

// move copies from one store to another, by way of an archive in a new file.
func move(ctx context.Context, from, to store.Store, name string) error {
	archive, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // it holds keys and digests
	if err != nil {
		return err
	}
	defer archive.Close()
	err = from.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, archive) })
	if err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return store.Import(ctx, to, archive)
}
