package dashboard

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// dashboardPages returns the paths of all pages of the dashboard, from the source of
// its route table, so that tests of every page include new ones.
func dashboardPages(t *testing.T) (paths []string) {
	t.Helper()
	is := is.New(t)
	source, err := os.ReadFile("../../../licensing/internal/http/dashboard/route.go")
	is.NoErr(err)
	for _, m := range regexp.MustCompile(`\{(?:Method: get, )?Path: "([^"]*)"(.*)\},`).FindAllStringSubmatch(string(source), -1) {
		if !strings.Contains(m[2], "Download: true") && !strings.HasSuffix(m[1], ".json") {
			paths = append(paths, m[1])
		}
	}
	is.Equal(len(paths), strings.Count(string(source), "{Method: get, ")+strings.Count(string(source), "{Path: ")-7) // without three CSV files, two JSON files, the changes and the bulk changes
	changes, err := os.ReadFile("../../../licensing/internal/http/dashboard/changestate.go")
	is.NoErr(err)
	for _, m := range regexp.MustCompile(`\tName: "([^"]*)", Label:`).FindAllStringSubmatch(string(changes), -1) {
		if m[1] != "reinstate" { // which is for a suspended license
			paths = append(paths, "licenses/{id}/"+m[1])
		}
	}
	require.Greater(t, len(paths), 50)
	return paths
}

// addresses creates activations and webhooks. It returns a function that returns the
// address of a page about what exists, by the path of the page.
func (h *host) addresses(t *testing.T, operatorID, licenseID, clientID string) func(path string) string {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	l, err := h.Service().Get(ctx, licenseID)
	is.NoErr(err)
	_, err = h.Service().Update(ctx, api.UpdateLicenseParams{ID: l.ID, Meters: api.To(map[string]*api.MeterChange{"exports": {Limit: api.To[int64](1000), Per: api.To(api.PerMonth)}})})
	is.NoErr(err)
	_, err = h.Metering().CountUsage(ctx, api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: "1", Total: 900}}})
	is.NoErr(err)
	seat := h.seedActivations(t, licenseID)
	hook := h.seedWebhooks(t)
	sent, err := h.Webhooks().Test(ctx, hook)
	is.NoErr(err)
	client, err := h.Auth().GetClient(ctx, clientID)
	is.NoErr(err)
	keys, err := h.Files().Keys(ctx)
	is.NoErr(err)
	trial := h.seedSales(t)
	return func(path string) string {
		switch path {
		case "search":
			return "search?q=" + url.QueryEscape(l.CustomerID)
		case "customer/release":
			return "customer/release?customer=" + url.QueryEscape(l.CustomerID) + "&id=" + licenseID + "%2F" + seat
		case "customer", "customer/erase", "customer/id", "customer/devices", "customer/email", "customer/mail-link", "customer/suspend", "customer/reinstate":
			return path + "?id=" + url.QueryEscape(l.CustomerID)
		case "licenses/{id}/activations/release":
			return "licenses/" + licenseID + "/activations/release?id=" + seat
		}
		if path == "purchase/{reference}/allow-trial" {
			return trial + "/allow-trial"
		}
		return strings.NewReplacer(
			"plan/{id}", "plan/price_atlas_1", "{reference}", "shop:sub_1",
			"licenses/{id}", "licenses/"+licenseID, "{activation}", seat, "{meter}", "exports",
			"credentials/{id}", "credentials/"+clientID, "{secret}", client.Secrets[0].ID, "keys/{id}", "keys/"+keys[0].ID,
			"operators/{id}", "operators/"+operatorID, "webhooks/{id}", "webhooks/"+hook, "{delivery}", sent.ID,
		).Replace(path)
	}
}
