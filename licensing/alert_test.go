package licensing_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestAlertsReadTheMetrics compares the rules for Prometheus, and the series of
// their tests, with the gauge that each code of Health in docs/errors.md sets.
// TestConditionsOfTheGuide makes Health report each of them.
func TestAlertsReadTheMetrics(t *testing.T) {
	is := is.New(t)
	read := func(name string) string {
		text, err := os.ReadFile("docs/" + name)
		is.NoErr(err)
		return string(text)
	}
	all := func(pattern, text string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	_, problems, _ := strings.Cut(read("errors.md"), "## Problems that Health reports\n")
	var gauges []string
	for _, code := range all("(?m)^\\| `([a-z_]+)`", problems) {
		problem := licensing.HealthProblem{Code: licensing.HealthCode(code)}
		gauges = append(gauges, healthMetrics(licensing.Health{Problems: []licensing.HealthProblem{problem}})[2])
	}
	const gauge = `(licensing_problem\{code="\w+")`
	gauges = all(gauge, strings.Join(gauges, ""))
	is.True(len(gauges) > 10)
	is.Equal(all(gauge, read("alerts.yml")), gauges)
	is.Equal(all(gauge, read("alerts_test.yml")), gauges)

	lines := strings.Join(healthMetrics(licensing.Health{Status: "ready", WaitingPurchases: 3, Problems: []licensing.HealthProblem{
		{Code: licensing.HealthSecretsClear}, {Code: licensing.HealthSecretsClear}, // webhook secrets and signing keys
	}}), "")
	is.Equal(lines, "licensing_ready 1\nlicensing_waiting_purchases 3\nlicensing_problem{code=\"secrets_unencrypted\",subject=\"\"} 2\n")
	require.Contains(t, strings.Join(healthMetrics(licensing.Health{Status: "unavailable"}), ""), "licensing_ready 0\n")
}
