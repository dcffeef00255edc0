package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestEventsArePrinted creates a license, twice over a restart.
func TestEventsArePrinted(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "kept.db")
	for range 2 {
		ex := start(t, "-db", file, "-new-client", "Shop")
		createLicense(t, ex, "n")
		is.True(ex.out.waitFor("event  license.created  lic_"))
		ex.end()
	}
}

// createLicense creates a license of this name over HTTP.
func createLicense(t *testing.T, ex *running, name string) {
	is := is.New(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", ex.field("base address")+"/license",
		strings.NewReader(fmt.Sprintf(`{"name":%q,"product_id":"atlas","customer_id":"c"}`, name)))
	is.NoErr(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token(t, ex))
	resp, err := http.DefaultClient.Do(r)
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.StatusCode, http.StatusCreated)
}

// TestForgedEvents sends events that are not signed with the secret.
func TestForgedEvents(t *testing.T) {
	ex := start(t)
	hook := ex.field("application") + "hook"
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for name, header := range map[string][]string{
		"nothing":             {},
		"a made-up signature": {"webhook-id", "evt_1", "webhook-timestamp", now, "webhook-signature", "v1,AAAA"},
		"an empty signature":  {"webhook-id", "evt_1", "webhook-timestamp", now, "webhook-signature", ""},
		"an old time":         {"webhook-id", "evt_1", "webhook-timestamp", "1", "webhook-signature", "v1,AAAA"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			r, err := http.NewRequestWithContext(t.Context(), "POST", hook, strings.NewReader(fmt.Sprintf(`{"type":%q}`, "forged")))
			is.NoErr(err)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			resp, err := http.DefaultClient.Do(r)
			is.NoErr(err)
			resp.Body.Close()
			is.Equal(resp.StatusCode, http.StatusUnauthorized)
		})
	}
	require.NotContains(t, ex.out.String(), "forged")
}
