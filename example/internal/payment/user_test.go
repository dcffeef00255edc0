package payment

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestStartTrial: the addresses of one mailbox have one trial.
func TestStartTrial(t *testing.T) {
	is := is.New(t)
	sales := selling.New(license.New(memory.New(), license.Options{}))
	_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: "trial", ProductID: "atlas", Duration: api.Duration{Days: 14}})
	is.NoErr(err)
	trial, err := StartTrial(t.Context(), sales, "cus_9", "Ada+2@Example.com", "pc-1")
	is.NoErr(err)
	is.True(trial.Started)
	_, err = StartTrial(t.Context(), sales, "cus_8", "ada@example.com", "pc-2")
	require.ErrorIs(t, err, api.ErrTrialTaken)
}

// TestEnsureLicense signs a user in twice, and once while the plan is missing.
func TestEnsureLicense(t *testing.T) {
	is := is.New(t)
	rules := license.New(memory.New(), license.Options{})
	sales := selling.New(rules)
	joined := time.Now().Add(-400 * 24 * time.Hour)
	none, err := EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(none, nil) // waits for the plan
	_, err = sales.PutPlan(t.Context(), api.PutPlanParams{ID: "free", ProductID: "atlas"})
	is.NoErr(err)
	first, err := EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(first.Status, api.LicenseActive)
	again, err := EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(again, first) // unchanged, with its revision
	page, err := rules.List(t.Context(), api.ListLicensesParams{CustomerID: "42"})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
	is.NoErr(rules.Delete(t.Context(), api.DeleteLicenseParams{ID: first.ID}))
	none, err = EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(none, nil) // deleted, and not created again
}
