package servicetest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A closedNetwork carries the requests of programs to the handler of their office.
type closedNetwork struct {
	office atomic.Pointer[licensing.Handler]
}

func (n *closedNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	n.office.Load().ServeHTTP(w, r)
	return w.Result(), nil
}

// TestOfficeLendsToPrograms: programs that have the keys of the vendor only run with an
// office, which a renewal and a revocation list reach as texts.
func TestOfficeLendsToPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is, ctx := is.New(t), t.Context()
		quiet := slog.New(slog.DiscardHandler)
		vendor := licensing.NewHandler(memory.New(), licensing.Options{Logger: quiet})
		pinned, err := vendor.Files().KeySet(ctx)
		is.NoErr(err)
		jwks, err := json.Marshal(pinned)
		is.NoErr(err)
		l, err := vendor.Service().Create(ctx, api.CreateLicenseParams{
			Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1",
			Terms: api.Terms{MaxActivations: new(int64(5)), Entitlements: map[string]any{"users": 25}},
		})
		is.NoErr(err)

		key := officeKey('o')
		request := officeRequest(t, l.Key, 3, key)
		answer := func() string {
			t.Helper()
			f, err := vendor.Service().IssueFile(ctx, api.IssueFileParams{LicenseID: l.ID, Request: request, Lifetime: api.Duration{Days: 10}})
			is.NoErr(err)
			text, err := vendor.Files().Sign(ctx, *f.FileClaims())
			is.NoErr(err)
			return text
		}
		st, network := memory.New(), &closedNetwork{}
		run := func(answer string) {
			network.office.Store(licensing.NewHandler(st, licensing.Options{Logger: quiet, SigningKeys: []files.SigningKey{{Signer: key, Office: answer}}}))
		}
		first := answer()
		run(first)
		row := fmt.Sprintf(`{"id":%q,"key":%q,"name":"Acme Ltd","product_id":"atlas","customer_id":"office","max_activations":3,"lease_seconds":86400}`, l.ID, l.Key)
		is.NoErr(network.office.Load().Service().Import(ctx, strings.NewReader(row), func(r api.RowResult) error {
			is.Equal(len(r.Errors), 0)
			return nil
		}))

		open := func(machine string) *program.License {
			t.Helper()
			p, err := program.Open(program.Options{
				URL: "http://office.test", Keys: jwks, ProductID: "atlas", Key: l.Key, Fingerprint: machine,
				Dir: filepath.Join(t.TempDir(), "license"), HTTPClient: &http.Client{Transport: network},
			})
			is.NoErr(err)
			t.Cleanup(func() { p.Close() })
			return p
		}
		programs := []*program.License{open("pc-1"), open("pc-2"), open("pc-3")}
		run3 := func(users float64) {
			t.Helper()
			for i, p := range programs {
				s := p.Status()
				if !s.Valid || s.Entitlements["users"] != users || s.LicensedTo != "Acme Ltd" || len(s.Warnings) > 0 {
					t.Errorf("program %d has %+v", i+1, s)
				}
			}
		}
		run3(25)
		fourth := open("pc-4")
		is.Equal(fourth.Status().Code, api.VerdictActivationLimit)

		// What is changed in the store of the office has no effect.
		_, err = network.office.Load().Service().Update(ctx, api.UpdateLicenseParams{
			ID: l.ID, Entitlements: api.To(map[string]any{"users": 999, "export": true}), Name: new("Somebody"),
		})
		is.NoErr(err)
		time.Sleep(3 * time.Hour)
		run3(25)
		is.Equal(programs[0].Status().Entitlements, map[string]any{"users": 25.0})

		// A seat that is free again is lent to the fourth.
		is.NoErr(programs[2].Release(ctx))
		time.Sleep(3 * time.Hour)
		is.True(fourth.Status().Valid)
		programs[2] = fourth

		// The same request, carried to the vendor again, renews the file. The list that came
		// with the first was valid for seven days.
		time.Sleep(8 * 24 * time.Hour)
		run3(25)
		_, err = vendor.Service().Update(ctx, api.UpdateLicenseParams{ID: l.ID, Entitlements: api.To(map[string]any{"users": 30})})
		is.NoErr(err)
		second := answer()
		run(second)
		time.Sleep(2 * time.Hour)
		run3(30)
		time.Sleep(2 * 24 * time.Hour) // past the end of the first
		run3(30)

		// An answer of another office is refused, and so is what is no answer.
		for _, wrong := range []string{"x", strings.Fields(second)[1]} {
			err = licensing.Options{SigningKeys: []files.SigningKey{{Signer: key, Office: wrong}}}.Validate()
			require.Contains(t, fmt.Sprint(err), "Options.SigningKeys[0].Office must be")
		}
		err = licensing.Options{SigningKeys: []files.SigningKey{{Signer: officeKey('p'), Office: second}}}.Validate()
		require.Contains(t, fmt.Sprint(err), "another key")

		// A revocation list is carried to the office, too.
		_, err = vendor.Service().Suspend(ctx, api.MoveLicenseParams{ID: l.ID})
		is.NoErr(err)
		list, err := vendor.Files().LicenseRevocations(ctx, "atlas", l.ID)
		is.NoErr(err)
		run(strings.Fields(second)[0] + "\n" + list)
		time.Sleep(24 * time.Hour)
		for _, p := range programs {
			is.Equal(p.Status().Code, api.VerdictRevoked)
		}
	})
}
