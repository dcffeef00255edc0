package keymail

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/smtpsink"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestKeysAreMailed: a new license and a new key are mailed, once each; a license
// without an address and an imported one are not; a refused address is a dead letter,
// which does not delay the others and can be retried.
func TestKeysAreMailed(t *testing.T) {
	is := is.New(t)
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	s := smtpsink.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licensing.db"))
	is.NoErr(err)
	defer st.Close()
	var h *licensing.Handler
	get := func(ctx context.Context, id string) (api.License, error) { return h.Service().Get(ctx, id) }
	sub := Subscriber(get, Server{Addr: s.Addr, From: "keys@vendor.example"}.Send)
	sub.MaxAttempts, sub.FromStart = 1, true
	h = licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler), Subscribers: []licensing.Subscriber{sub}})
	s.Refuse("gone@customer.example")

	create := func(name, email string) api.License {
		p := api.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: "ada", Metadata: map[string]string{}}
		if email != "" {
			p.Metadata["email"] = email
		}
		l, err := h.Service().Create(t.Context(), p)
		is.NoErr(err)
		return l
	}
	rows := `{"name":"Old","product_id":"atlas","customer_id":"ada","key":"KEY-OF-ANOTHER-SYSTEM-1","created_at":"2024-01-01T00:00:00Z","metadata":{"email":"old@customer.example"}}
		{"name":"Without time","product_id":"atlas","customer_id":"ada","key":"KEY-OF-ANOTHER-SYSTEM-2","metadata":{"email":"old@customer.example"}}`
	is.NoErr(h.Service().Import(t.Context(), strings.NewReader(rows), func(r api.RowResult) error {
		is.Equal(r.Result, api.ImportCreated)
		return nil
	}))
	silent := create("No address", "")
	create("Gone", "gone@customer.example")
	create("Broken", "not an address")
	ada := create("Ada Lövelace\u202e", "Ada <ada@customer.example>")

	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	defer work.Wait()
	defer cancel()

	m, body := s.Next(t)
	is.Equal(m.Header.Get("To"), `"Ada" <ada@customer.example>`)
	require.Contains(t, m.Header.Get("Message-ID"), "evt_")
	require.Contains(t, body, "The license key of Ada Lövelace\ufffd is:", ada.Key)
	again, err := h.Service().Rekey(t.Context(), api.RekeyLicenseParams{ID: ada.ID})
	is.NoErr(err)
	_, body = s.Next(t)
	require.Contains(t, body, again.Key)
	require.NotContains(t, body, ada.Key)

	letters, err := h.DeadLetters(t.Context(), "mail")
	is.NoErr(err)
	is.Equal(len(letters), 2)
	s.Refuse("")
	is.NoErr(h.RetryDeadLetter(t.Context(), letters[0]))
	m, _ = s.Next(t)
	is.Equal(m.Header.Get("To"), "<gone@customer.example>")
	is.Equal(s.Waiting(), 0)
	cancel()
	work.Wait()
	require.Contains(t, log.String(), "level=WARN", "license_id="+silent.ID)
	is.Equal(strings.Count(log.String(), "license_id="), 1)
}
