package admin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestMoveInFromKeygen: a check stores nothing; then licenses come with the keys that
// customers hold and with their plans, once, and what cannot come is listed.
func TestMoveInFromKeygen(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	s := newDatabase(t, path, 0)
	const report = `left out  licenses whose key is not in the export, such as encrypted ones: 1
left out  licenses with encrypted true: 1
left out  licenses with maxUses 10: 1
left out  licenses with scheme ED25519_SIGN: 1
left out  licenses without an owner, whose customer_id is the id of the license: 2
left out  machines, whose programs activate again: 1
left out  policies with maxCores 8: 1
left out  policies with metadata: 1
`
	out, err := run(t, "move-in", path, "testdata/keygen", "check")
	is.NoErr(err)
	is.Equal(out, "plans     1\nlicenses  2 new, 0 already here, 0 refused\n"+report+"Nothing was stored. Run it with write instead of check.\n")
	is.Equal(licensesIn(t, path), 0)
	_, err = selling.New(s).GetPlan(t.Context(), "pol-uuid-1")
	is.True(err != nil)

	for _, counts := range []string{"2 new, 0 already here", "0 new, 2 already here"} {
		out, err = run(t, "move-in", path, "testdata/keygen", "write")
		is.NoErr(err)
		is.Equal(out, "plans     1\nlicenses  "+counts+", 0 refused\n"+report)
	}
	plan, err := selling.New(s).GetPlan(t.Context(), "pol-uuid-1")
	is.NoErr(err)
	is.Equal(plan.ProductID, "atlas")
	is.Equal(plan.Name, "Team")
	is.Equal(*plan.MaxActivations, int64(5))
	is.Equal(plan.Duration, api.Duration{Days: 365})

	v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: "C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3", ProductID: "atlas"})
	is.NoErr(err)
	is.True(v.Valid)
	l := v.License
	is.Equal(l.Name, "Ada Lovelace")
	is.Equal(l.CustomerID, "user-uuid-1")
	is.Equal(l.PlanID, "pol-uuid-1")
	is.Equal(*l.MaxActivations, int64(3))
	is.Equal(*l.ExpiresAt, time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))
	is.Equal(l.CreatedAt, time.Date(2024, 2, 3, 4, 5, 6, 789e6, time.UTC))
	is.Equal(l.Metadata, map[string]string{
		"keygen_id": "b18e3f3a-3a36-4a4c-b3a0-5f7b6ad0a001", "email": "ada@customer.example", "order": "4711", "seats": "3", "vip": "true",
	})
	v, err = s.Validate(t.Context(), api.ValidateKeyParams{Key: "key/eyJhIjoxfQ==.c2lnbmF0dXJl"})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictSuspended)

	_, err = selling.New(s).PutPlan(t.Context(), api.PutPlanParams{ID: plan.ID, Name: "Team, corrected", ProductID: plan.ProductID})
	is.NoErr(err)
	_, err = run(t, "move-in", path, "testdata/keygen", "write")
	is.NoErr(err)
	plan, err = selling.New(s).GetPlan(t.Context(), plan.ID)
	is.NoErr(err)
	is.Equal(plan.Name, "Team, corrected")
}

// TestMoveInExpirations: what an expiry ends follows from the policy, and what cannot
// be said here is in the report.
func TestMoveInExpirations(t *testing.T) {
	is := is.New(t)
	type object map[string]any
	data := []object{{"id": "lost", "type": "licenses", "attributes": object{"key": "KEY-OF-lost-00000", "expiry": "2031-01-01T00:00:00Z"},
		"relationships": object{"policy": object{"data": object{"id": "unknown"}}, "product": object{"data": object{"id": "atlas"}}}}}
	add := func(id string, expiry any, attributes object) {
		attributes["duration"] = 86400
		product := object{"data": object{"id": "atlas"}}
		data = append(data,
			object{"id": "policy-" + id, "type": "policies", "attributes": attributes, "relationships": object{"product": product}},
			object{"id": id, "type": "licenses", "attributes": object{"key": "KEY-OF-" + id + "-00000", "expiry": expiry},
				"relationships": object{"policy": object{"data": object{"id": "policy-" + id}}, "owner": object{"data": object{"id": "ada"}}}})
	}
	const expiry = "2031-01-01T00:00:00Z"
	for _, strategy := range []string{"RESTRICT_ACCESS", "REVOKE_ACCESS", "MAINTAIN_ACCESS", "ALLOW_ACCESS"} {
		add(strategy, expiry, object{"expirationStrategy": strategy, "expirationBasis": "FROM_CREATION"})
	}
	add("unused", nil, object{"expirationStrategy": "REVOKE_ACCESS", "expirationBasis": "FROM_FIRST_VALIDATION"})
	add("boxed", nil, object{"expirationStrategy": "REVOKE_ACCESS", "expirationBasis": "FROM_FIRST_ACTIVATION"})
	dir := t.TempDir()
	path, file := filepath.Join(dir, "licenses.db"), filepath.Join(dir, "keygen.json")
	text, err := json.Marshal(object{"data": data})
	is.NoErr(err)
	is.NoErr(os.WriteFile(file, text, 0o600))
	s := newDatabase(t, path, 0)
	out, err := run(t, "move-in", path, file, "write")
	is.NoErr(err)
	is.Equal(out, `plans     6
licenses  7 new, 0 already here, 0 refused
left out  licenses whose policy is not in the export, which expire at their expiry: 1
left out  licenses whose time has not begun (FROM_FIRST_VALIDATION), which never end here until you set expires_at: 1
left out  licenses with an expiry that ends nothing (ALLOW_ACCESS), which is metadata now: 1
left out  licenses without an owner, whose customer_id is the id of the license: 1
left out  policies with expirationBasis FROM_FIRST_VALIDATION: the duration of their plans begins with the purchase: 1
left out  policies with expirationStrategy ALLOW_ACCESS, whose plans have no duration: 1
`)
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	for id, want := range map[string][3]string{ // expires_at, updates_until, and what ends with the plan
		"lost": {expiry, "", ""}, "RESTRICT_ACCESS": {expiry, "", "license"}, "REVOKE_ACCESS": {expiry, "", "license"},
		"MAINTAIN_ACCESS": {"", expiry, "updates"}, "ALLOW_ACCESS": {"", "", "license"}, "unused": {"", "", "license"}, "boxed": {"", "", "license"},
	} {
		v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: "KEY-OF-" + id + "-00000"})
		is.NoErr(err)
		plan := api.Plan{}
		if want[2] != "" {
			plan, err = selling.New(s).GetPlan(t.Context(), "policy-"+id)
			is.NoErr(err)
		}
		is.Equal([3]string{at(v.License.ExpiresAt), at(v.License.UpdatesUntil), string(plan.UntilEnds)}, want)
		is.Equal(v.License.Starts, plan.Starts)
		is.Equal(plan.Starts != "", id == "boxed")
	}
}

// TestMoveInFromCSV: other columns become metadata, and a row that the rules refuse is
// named by its line, before anything is stored.
func TestMoveInFromCSV(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	path, file := filepath.Join(dir, "licenses.db"), filepath.Join(dir, "shop.csv")
	s := newDatabase(t, path, 0)
	write := func(text string) { is.NoErr(os.WriteFile(file, []byte(text), 0o600)) }
	const header = "\ufeffkey,name,product_id,customer_id,expires_at,max_activations,updates_until,order no\n"
	write(header + "OLD-KEY-0000-0001,Ada,atlas,c-1,2031-01-31,2,2030-06-30,A17\nshort,\"Grace\nHopper\",atlas,c-2,,,,\nshort,Eve,atlas,c-3,,,,\n")
	out, err := run(t, "move-in", path, file, "check")
	is.True(err != nil)
	is.Equal(out, "metadata  order no\nplans     0\nlicenses  1 new, 0 already here, 3 refused\nrefused   row 3: name must be valid UTF-8 without control characters\n"+
		"refused   row 3: key must be 16 to 1,024 visible ASCII characters\nrefused   row 4: key must be 16 to 1,024 visible ASCII characters\n")
	is.Equal(licensesIn(t, path), 0)
	_, err = run(t, "move-in", path, file, "write") // stores what can be stored
	require.Contains(t, err.Error(), "some licenses were refused")
	is.Equal(licensesIn(t, path), 1)

	v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: "OLD-KEY-0000-0001"})
	is.NoErr(err)
	is.True(v.Valid)
	is.Equal(*v.License.MaxActivations, int64(2))
	is.Equal(v.License.UpdatesUntil.Format(time.DateOnly), "2030-07-01")
	is.Equal(v.License.Metadata, map[string]string{"order no": "A17"})

	newest := func() string { // event
		page, err := s.Events(t.Context(), api.ListEventsParams{NewestFirst: true, Limit: 1})
		is.NoErr(err)
		return page.Data[0].ID
	}
	var export strings.Builder
	is.NoErr(inner.Of(s).MoveIn().ExportCSV(t.Context(), &export, api.ListLicensesParams{}))
	write(export.String())
	before := newest()
	out, err = run(t, "move-in", path, file, "write") // an export changes nothing
	is.NoErr(err)
	is.Equal(out, "plans     0\nlicenses  0 new, 1 already here, 0 refused\n")
	is.Equal(newest(), before)

	write("key,name,product_id,customer_id,expire_at\nOLD-KEY-0000-0003,Ada,atlas,c-1,2031-01-31\n")
	_, err = run(t, "move-in", path, file, "write") // not a license without an end
	require.Contains(t, err.Error(), "“expire_at” may be meant as expires_at")
	is.Equal(licensesIn(t, path), 1)
	write("key;name\nx;y\n")
	_, err = run(t, "move-in", path, file, "check")
	is.True(err != nil)
	write(header + "OLD-KEY-0000-0002,Ada,atlas,c-1,31.1.2031,2,,A17\n")
	_, err = run(t, "move-in", path, file, "check")
	is.True(err != nil)
	_, err = run(t, "move-in", path, file, "now")
	is.True(err != nil)
}

// TestMoveInZone: a date in a cell is the last day in the zone of the configuration file.
func TestMoveInZone(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	path, file, config := filepath.Join(dir, "licenses.db"), filepath.Join(dir, "shop.csv"), filepath.Join(dir, "licensekit.json")
	s := newDatabase(t, path, 0)
	is.NoErr(os.WriteFile(file, []byte("key,name,product_id,customer_id,expires_at\nSHOP-KEY-0001-0001,Ada,atlas,ada,2031-01-31\n"), 0o600))
	is.NoErr(os.WriteFile(config, []byte(`{"Options": {"TimeZone": "Europe/Berlin"}}`), 0o600))
	_, err := run(t, "move-in", path, "--config", config, file, "write")
	is.NoErr(err)
	v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: "SHOP-KEY-0001-0001", ProductID: "atlas"})
	is.NoErr(err)
	is.Equal(*v.License.ExpiresAt, time.Date(2031, 1, 31, 23, 0, 0, 0, time.UTC))
	for _, zone := range []string{"", "Local", "Berlin"} {
		is.NoErr(os.WriteFile(config, []byte(`{"Options": {"TimeZone": "`+zone+`"}}`), 0o600))
		_, err := run(t, "move-in", path, "--config", config, file, "write")
		require.Contains(t, err.Error(), `Options.TimeZone must be the name of a time zone such as "Europe/Berlin"`)
	}
}
