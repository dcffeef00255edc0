package dashboard

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestOperatorWorkflow sets up the dashboard, creates an API client, uses it in a
// program, and manages a license from its creation to its deletion.
func TestOperatorWorkflow(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			b := newBrowser(t, h, script)
			setUp(t, h, b, script)
			id, secret := createAPIClient(t, b)
			licenseID := createLicenseOverAPI(t, h, id, secret)
			manageLicense(t, b, licenseID, script)
			b.press("Sign out")
			b.see("Sign in")
			b.open("licenses")
			b.see("Sign in")
			is.New(t).Equal(b.policyErrors(), nil) // no policy violation, no exception
			require.NotContains(t, h.log.String(), secret)
		})
	}
}

// setUp creates the first admin with the code from the log, then signs out and
// in again.
func setUp(t *testing.T, h *host, b *browser, script bool) {
	is := is.New(t)
	b.open("")
	b.see("Set up the dashboard")
	logged := regexp.MustCompile(`code=([A-Z2-7]{26})`).FindStringSubmatch(h.log.String())
	is.True(logged != nil) // the page writes a code to the log
	if script {
		b.open("sign-out") // another page first, so that the next URL is not a fragment navigation
		b.open("setup#code=" + logged[1])
	} else {
		b.fill("Setup code", logged[1])
	}
	b.fill("Email", adminEmail)
	b.fill("Password", "too short")
	b.press("Create admin account")
	b.see("Must have at least 15 characters")
	b.fill("Password", adminPassword)
	b.press("Create admin account")
	b.see("No licenses yet")
	b.press("Sign out")
	b.signIn(adminEmail, adminPassword)
	b.see("No licenses yet")
}

// createAPIClient creates an API client and reads its secret from the page.
func createAPIClient(t *testing.T, b *browser) (id, secret string) {
	b.press("API credentials")
	b.press("New API client")
	b.fill("Name", "Web shop")
	b.press("Create API client")
	id, secret = b.read("#client-id"), b.read("#client-secret")
	require.HasPrefix(t, id, "cid_")
	require.HasPrefix(t, secret, "csk_")
	b.press("I have copied it")
	b.see("Web shop")
	b.missing(secret)
	b.see(secret[len(secret)-4:]) // the last characters are shown
	return id, secret
}

// createLicenseOverAPI gets a token with its secret and creates a license.
func createLicenseOverAPI(t *testing.T, h *host, id, secret string) (licenseID string) {
	is := is.New(t)
	var token struct {
		AccessToken string `json:"access_token"`
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.base+"/oauth/token", strings.NewReader(url.Values{"grant_type": {"client_credentials"}}.Encode()))
	is.NoErr(err)
	req.SetBasicAuth(id, secret)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer(t, req, &token)
	req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, h.base+"/license",
		strings.NewReader(`{"name":"Ordered in the shop","product_id":"atlas","customer_id":"north-wind-bakery"}`))
	is.NoErr(err)
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	req.Header.Set("Content-Type", "application/json")
	var license struct {
		ID string `json:"id"`
	}
	answer(t, req, &license)
	return license.ID
}

func answer(t *testing.T, req *http.Request, v any) {
	t.Helper()
	is := is.New(t)
	resp, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	require.Less(t, resp.StatusCode, 300)
	is.NoErr(json.Unmarshal(body, v))
}

// manageLicense creates, finds, edits, suspends, reinstates, revokes and deletes
// a license.
func manageLicense(t *testing.T, b *browser, apiLicenseID string, script bool) {
	b.press("Licenses")
	b.see("Ordered in the shop")
	b.press("Ordered in the shop")
	b.see(apiLicenseID)
	b.see("by Web shop") // the history shows the API client

	b.press("Licenses")
	b.press("New license")
	b.fill("Name", "Atlas for the harbour")
	b.fill("Product", "atlas")
	b.press("Create license")
	b.see("Fix 1 error")
	b.fill("Customer", "harbour-pilots")
	b.unfold("More")
	b.fillNamed("Entitlement 1, name", "export")
	b.fillNamed("Entitlement 2, name", "projects")
	b.fillNamed("Entitlement 2, value", "250")
	b.press("Add rows to Entitlements")
	b.fillNamed("Entitlement 3, name", "tier")
	b.enter("Entitlement 3, value", "gold")
	b.see("The license has been created.")
	b.see("Atlas for the harbour")
	b.see("250")

	b.press("Licenses")
	b.fill("Search", "HARBOUR atlas")
	b.apply(script)
	b.see("harbour-pilots")
	b.missing("north-wind-bakery")
	b.press("Atlas for the harbour")

	b.press("Edit")
	b.fill("Name", "Atlas for the whole harbour")
	b.unfold("More")
	b.fill("Grace period", "14")
	b.press("Save changes")
	b.see("Your changes have been saved.")
	b.see("14 days")
	b.see("Atlas for the harbour → Atlas for the whole harbour")

	b.openMenu(script, "Suspend")
	b.fill("Reason", "The invoice of March is open")
	b.press("Suspend license")
	b.see("The license has been suspended.")
	b.see("The invoice of March is open")
	b.ask(script, "Reinstate")
	b.press("Reinstate license")
	b.see("The license has been reinstated.")
	b.openMenu(script, "Revoke")
	b.fill("Last group of the license key", "wrong")
	b.press("Revoke license")
	b.see("This is not the last group of the key.")
	key := b.read("form .hint#f-key-hint")
	b.fill("Last group of the license key", strings.Fields(key)[1])
	b.press("Revoke license")
	b.see("The license has been revoked.")
	b.missing("Reinstate license")

	b.openMenu(script, "Delete")
	b.fill("Last group of the license key", strings.Fields(key)[1])
	b.press("Delete license")
	b.see("The license has been deleted.")
	b.missing("whole harbour")
}
