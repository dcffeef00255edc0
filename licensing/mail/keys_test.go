package mail

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/smtpsink"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestKeysAreMailed: a new license and a new key are mailed, once each; a license
// without an address and an imported one are not; a refused address is a dead letter,
// which does not delay the others and can be retried.
func TestKeysAreMailed(t *testing.T) {
	is := is.New(t)
	var log bytes.Buffer
	s := smtpsink.New(t)
	var h *licensing.Handler
	sub := Keys{
		Licenses: func() *license.Service { return h.Service() }, Send: Server{Addr: s.Addr, From: "Vendor <keys@vendor.example>"}.Send,
		Shop: "Vendor Ltd", Pages: "https://vendor.example/account/licenses/",
	}.Subscriber()
	sub.MaxAttempts, sub.FromStart = 1, true
	h = licensing.NewHandler(memory.New(), licensing.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Subscribers: []licensing.Subscriber{sub},
		EmailKey: "contact", ProductNames: map[string]string{"atlas": "Atlas for {name}"},
	})
	s.Refuse("gone@customer.example")

	create := func(name, email string) api.License {
		p := api.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: "ada", Metadata: map[string]string{}}
		if email != "" {
			p.Metadata["contact"] = email
		}
		l, err := h.Service().Create(t.Context(), p)
		is.NoErr(err)
		return l
	}
	rows := `{"name":"Old","product_id":"atlas","customer_id":"ada","key":"KEY-OF-ANOTHER-SYSTEM-1","created_at":"2024-01-01T00:00:00Z","metadata":{"contact":"old@customer.example"}}
		{"name":"Without time","product_id":"atlas","customer_id":"ada","key":"KEY-OF-ANOTHER-SYSTEM-2","metadata":{"contact":"old@customer.example"}}`
	is.NoErr(h.Service().Import(t.Context(), strings.NewReader(rows), func(r api.RowResult) error {
		is.Equal(r.Result, api.ImportCreated)
		return nil
	}))
	silent := create("No address", "")
	create("Gone", "gone@customer.example")
	create("Broken", "not an address")
	ada := create("Ada {key} Lövelace\u202e", "Ada <ada@customer.example>")

	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	defer work.Wait()
	defer cancel()

	m, body := s.Next(t)
	is.Equal(m.Header.Get("To"), `"Ada" <ada@customer.example>`)
	is.True(regexp.MustCompile(`^<evt_\w+@vendor\.example>$`).MatchString(m.Header.Get("Message-ID")))
	is.Equal(m.Header.Get("Auto-Submitted"), "auto-generated")
	is.Equal([]string{m.Header.Get("Subject"), m.Header.Get("From")}, []string{"Your license key for Atlas for {name}", `"Vendor" <keys@vendor.example>`})
	require.Contains(t, body, "Hello Ada {key} Lövelace\ufffd,\n", "\n    "+ada.Key+"\n", "\nVendor Ltd\n", "https://vendor.example/account/licenses/")
	again, err := h.Service().Rekey(t.Context(), api.RekeyLicenseParams{ID: ada.ID})
	is.NoErr(err)
	_, body = s.Next(t)
	require.Contains(t, body, again.Key)
	require.NotContains(t, body, ada.Key)
	other, err := h.Service().Transfer(t.Context(), api.TransferLicenseParams{ID: ada.ID, CustomerID: "bob", Name: "Bob", Metadata: map[string]string{"contact": "bob@customer.example"}})
	is.NoErr(err)
	m, body = s.Next(t)
	is.Equal(m.Header.Get("To"), "<bob@customer.example>")
	require.Contains(t, body, "Hello Bob,", other.Key)
	require.NotContains(t, body, again.Key)

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
	is.Equal(strings.Count(log.String(), "no mail of a key"), 1)
}
