package licensing_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// healthCode is a condition that is a code of Health, and not a kind of
// observation or event.
var healthCode = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)

// TestAlertsReadTheMetrics compares the rules for Prometheus, and the series of
// their tests, with the gauge that each condition sets.
func TestAlertsReadTheMetrics(t *testing.T) {
	is := is.New(t)
	selectors := func(name string) []string {
		file, err := os.ReadFile("docs/" + name)
		is.NoErr(err)
		found := regexp.MustCompile(`licensing_problem\{code="\w+"`).FindAllString(string(file), -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	var gauges []string
	for _, condition := range slices.Sorted(maps.Keys(conditions)) {
		if !healthCode.MatchString(condition) || condition == "store_error" {
			continue
		}
		t.Run(condition, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gauge := `licensing_problem{code="` + condition + `"`
				gauges = append(gauges, gauge)
				require.Contains(t, strings.Join(healthMetrics(conditions[condition](newOutage(t)).Health(t.Context())), ""), gauge+`,subject="`)
			})
		})
	}
	is.Equal(selectors("alerts.yml"), gauges)
	is.Equal(selectors("alerts_test.yml"), gauges)

	lines := strings.Join(healthMetrics(licensing.Health{Status: "ready", WaitingPurchases: 3, Problems: []licensing.HealthProblem{
		{Code: licensing.HealthSecretsClear}, {Code: licensing.HealthSecretsClear}, // webhook secrets and signing keys
	}}), "")
	is.Equal(lines, "licensing_ready 1\nlicensing_waiting_purchases 3\nlicensing_problem{code=\"secrets_unencrypted\",subject=\"\"} 2\n")
	require.Contains(t, strings.Join(healthMetrics(licensing.Health{Status: "unavailable"}), ""), "licensing_ready 0\n")
}
