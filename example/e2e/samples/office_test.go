package samples

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestSamplesWithAnOffice: a program with the keys of the vendor runs with the URL of an
// office, on the terms of the vendor, and starts from its file without the office.
func TestSamplesWithAnOffice(t *testing.T) {
	each(t, func(t *testing.T, dir string, s sample) {
		is, ctx, quiet := is.New(t), t.Context(), slog.New(slog.DiscardHandler)
		vendor := licensing.NewHandler(memory.New(), licensing.Options{Logger: quiet})
		keys, err := vendor.Files().KeySet(ctx)
		is.NoErr(err)
		jwks, err := json.Marshal(keys)
		is.NoErr(err)
		is.NoErr(os.WriteFile(filepath.Join(dir, "keys.json"), jwks, 0o600))
		l, err := vendor.Service().Create(ctx, api.CreateLicenseParams{
			Name: "Ada Lovelace", ProductID: "atlas", CustomerID: "ada",
			Terms: api.Terms{MaxActivations: new(int64(5)), Entitlements: map[string]any{"export": true}},
		})
		is.NoErr(err)
		_, key, err := ed25519.GenerateKey(nil)
		is.NoErr(err)
		request, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: 1, KeyHash: licensefile.KeyHash(l.Key)}, key)
		is.NoErr(err)
		f, err := vendor.Service().IssueFile(ctx, api.IssueFileParams{LicenseID: l.ID, Request: request, Lifetime: api.Duration{Days: 10}})
		is.NoErr(err)
		answer, err := vendor.Files().Sign(ctx, *f.FileClaims())
		is.NoErr(err)

		office := licensing.NewHandler(memory.New(), licensing.Options{Logger: quiet, SigningKeys: []files.SigningKey{{Signer: key, Office: answer}}})
		row := fmt.Sprintf(`{"id":%q,"key":%q,"name":"Other","product_id":"atlas","customer_id":"office","max_activations":1,"lease_seconds":3600,"entitlements":{"users":99}}`, l.ID, l.Key)
		is.NoErr(office.Service().Import(ctx, strings.NewReader(row), func(r api.RowResult) error {
			is.Equal(len(r.Errors), 0)
			return nil
		}))
		server := httptest.NewServer(office)
		defer server.Close()
		run := func(machine, file string) (string, bool) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, s.command, s.program, "keys.json", file, machine)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "LICENSE_SERVER="+server.URL, "LICENSE_KEY="+l.Key)
			out, err := cmd.CombinedOutput()
			return strings.TrimSpace(string(out)), err == nil
		}
		const licensed = "licensed to Ada Lovelace: {\"export\":true}"
		out, ok := run("machine-1", "license.jws")
		is.Equal(out, licensed)
		is.True(ok)
		out, ok = run("machine-2", "other.jws")
		is.Equal(out, "no license: No seat is free; the license has 1.")
		is.True(!ok)
		server.Close()
		out, ok = run("machine-1", "license.jws")
		is.Equal(out, licensed)
		is.True(ok)
		_, ok = run("machine-2", "license.jws")
		is.True(!ok)
	})
}
