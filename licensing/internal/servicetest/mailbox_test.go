package servicetest

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// A mailHost is a host application whose visitors sign in by mail.
type mailHost struct{ linkHost }

func newMailHost(t *testing.T) mailHost {
	host := mailHost{newLinkHost(t, licensing.Options{}, licensing.Portal{Mailbox: mailbox})}
	host.user = "attacker@evil.example"
	return host
}

// sell creates a license with an address, by a client that is limited to its product.
func (h mailHost) sell(name, productID, customerID, email string) api.License {
	h.t.Helper()
	limited := h.Handler.Service().As(license.Caller{Products: []string{productID}})
	p := api.CreateLicenseParams{Name: name, ProductID: productID, CustomerID: customerID, Terms: api.Terms{MaxActivations: new(int64(2))}, Metadata: map[string]string{"email": email}}
	l, err := limited.Create(h.t.Context(), p)
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

func (h mailHost) list(query string) string {
	h.t.Helper()
	w := h.visit("GET", query, nil)
	if w.Code != http.StatusOK {
		h.t.Fatalf("the list answers %d", w.Code)
	}
	return w.Body.String()
}

// TestAddressOpensItsLicensesOnly: an address opens the licenses that have it, of all
// customers, and no other license of these customers, whoever gave them the address.
func TestAddressOpensItsLicensesOnly(t *testing.T) {
	is := is.New(t)
	host := newMailHost(t)
	rules := host.Handler.Service()
	victim := host.sell("License of the victim", "atlas", "cus_v", "Victim <Victim@customer.example>")
	guest := host.sell("Bought as a guest", "atlas", "guest_7", "victim@customer.example")
	own := host.sell("License of the attacker", "beacon", "cus_v", "attacker@evil.example")
	host.sell("Part of the address", "atlas", "cus_v", "attacker@evil.example.org")
	host.sell("Two addresses", "atlas", "cus_v", "attacker@evil.example, victim@customer.example")
	host.sell("attacker@evil.example", "atlas", "attacker@evil.example", "victim@customer.example.org")
	v, err := rules.Activate(t.Context(), api.ActivateKeyParams{Key: victim.Key, Fingerprint: "fp-victim", Name: "desk of the victim"})
	is.NoErr(err)
	seat := v.Activation.ID
	request, err := licensefile.NewRequest("", "fp-new").Text()
	is.NoErr(err)
	link := host.start("laptop of the victim")

	secrets := []string{victim.ID, victim.Name, victim.Key, seat, "desk of the victim", guest.Name}
	missing := func(method, path string, form url.Values) {
		t.Helper()
		w := host.visit(method, path, form)
		if w.Code != http.StatusNotFound {
			t.Errorf("%s %s answers %d", method, path, w.Code)
		}
		require.NotContains(t, w.Body.String(), secrets...)
	}
	page := host.list("")
	require.Contains(t, page, own.Name, own.Key) // the only one
	require.NotContains(t, page, append(secrets, "Part of", "Two addresses")...)
	require.NotContains(t, host.page(link).Body.String(), victim.Name, "Part of", "Two addresses") // has the device that asks
	require.Contains(t, host.page(link).Body.String(), "You have no valid license of this product")
	for _, path := range []string{"", "?linked", "?released", "?devices=x"} {
		missing("GET", victim.ID+path, nil)
	}
	missing("GET", victim.Key, nil)
	missing("POST", victim.ID+"/release", url.Values{"device": {seat}})
	missing("POST", victim.ID+"/file", url.Values{"device": {seat}})
	missing("POST", victim.ID+"/file", url.Values{"device": {""}})
	missing("POST", victim.ID+"/request", url.Values{"request": {request}})
	missing("POST", victim.ID+"/request", url.Values{"request": {""}})
	missing("POST", "link", url.Values{"code": {link.Code}, "decision": {"approve"}, "license": {victim.ID}})
	missing("POST", "link", url.Values{"code": {link.Code}, "decision": {"approve"}, "license": {victim.ID}, "device": {seat}})
	customer := rules.Mailbox("attacker@evil.example")
	_, err = customer.Verdict(t.Context(), victim.ID)
	is.True(err != nil)
	_, err = customer.Activations(t.Context(), api.ListActivationsParams{LicenseID: victim.ID, Key: victim.Key})
	is.True(err != nil)

	host.user = "VICTIM@customer.example"
	page = host.list("")
	require.Contains(t, page, victim.Name, guest.Name)
	require.NotContains(t, page, own.Name, "Two addresses", "Part of")
	page = host.visit("GET", victim.ID, nil).Body.String()
	require.Contains(t, page, victim.Key, "desk of the victim", "License created", "<bdi>desk of the victim</bdi> added") // the history, too
	is.Equal(host.visit("GET", own.ID, nil).Code, http.StatusNotFound)
	require.Contains(t, host.page(link).Body.String(), victim.Name, guest.Name)
	is.Equal(host.decide(link.Code, "approve", guest.ID).Header().Get("Location"), "./"+guest.ID+"?linked")
}

// TestAddressOfAnEmployee: of a customer with many licenses, each address sees its own: in the
// list, on its page, and when a program is activated.
func TestAddressOfAnEmployee(t *testing.T) {
	is := is.New(t)
	host := newMailHost(t)
	for i := range 250 {
		host.sell(fmt.Sprintf("Employee %d.", i+1), "atlas", "cus_acme", fmt.Sprintf("no%d@acme.example", i+1))
	}
	link := host.start("laptop")
	for _, n := range []int{1, 24, 241} {
		host.user = fmt.Sprintf("no%d@acme.example", n)
		page := host.list("")
		require.Contains(t, page, fmt.Sprintf("Employee %d.", n))
		is.Equal(strings.Count(page, "Employee "), 2) // in its title and its heading: the only one
		page = host.page(link).Body.String()
		require.Contains(t, page, fmt.Sprintf("Employee %d.", n))
		is.Equal(strings.Count(page, "Employee "), 1)
	}

	host.user = "it@acme.example" // has many: the list has pages
	for i := range 120 {
		host.sell(fmt.Sprintf("Server %d.", i+1), "atlas", fmt.Sprintf("cus_%d", i%3), "it@acme.example")
	}
	seen := 0
	for query := ""; ; {
		page := host.list(query)
		require.NotContains(t, page, "Employee ")
		seen += strings.Count(page, "Server ")
		_, next, more := strings.Cut(page, "?cursor=")
		if !more {
			break
		}
		next, _, _ = strings.Cut(next, `"`)
		query = "?cursor=" + next
		host.user = "no1@acme.example"
		is.Equal(host.visit("GET", query, nil).Code, http.StatusNotFound) // the cursor is of another list
		host.user = "it@acme.example"
	}
	is.Equal(seen, 120)
}

// TestAddressDuringASession: what an address opens follows the licenses at each request: a
// purchase, a correction of the address, a transfer, a deletion and an erasure.
func TestAddressDuringASession(t *testing.T) {
	is := is.New(t)
	host := newMailHost(t)
	rules := host.Handler.Service()
	host.user = "ada@customer.example"
	licenses := map[string]api.License{}
	for _, name := range []string{"corrected", "transferred", "deleted", "erased", "kept"} {
		licenses[name] = host.sell(name, "atlas", "cus_"+name, "ada@customer.example")
	}
	late := host.sell("given later", "atlas", "cus_late", "eve@customer.example")
	require.Contains(t, host.list(""), "corrected", "transferred", "deleted", "erased", "kept")
	require.NotContains(t, host.list(""), "bought now", "given later")

	_, err := host.Handler.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "year", Name: "Atlas yearly", ProductID: "atlas"})
	is.NoErr(err)
	bought, err := host.Handler.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{
		Reference: "shop:1", At: host.Clock.Now(), CustomerID: "guest_9", Name: "bought now", PlanID: "year", State: api.PurchaseActive, Metadata: map[string]*string{"email": new("Ada@customer.example")},
	})
	is.NoErr(err)
	_, err = rules.Update(t.Context(), api.UpdateLicenseParams{ID: late.ID, Metadata: api.To(map[string]*string{"email": new("ada@customer.example")})})
	is.NoErr(err)
	require.Contains(t, host.list(""), "bought now", "given later")
	is.Equal(host.visit("GET", bought.License.ID, nil).Code, http.StatusOK)

	_, err = rules.Update(t.Context(), api.UpdateLicenseParams{ID: licenses["corrected"].ID, Metadata: api.To(map[string]*string{"email": new("eve@customer.example")})})
	is.NoErr(err)
	_, err = rules.Transfer(t.Context(), api.TransferLicenseParams{ID: licenses["transferred"].ID, CustomerID: "cus_kept", Name: "Bob"})
	is.NoErr(err)
	is.NoErr(rules.Delete(t.Context(), api.DeleteLicenseParams{ID: licenses["deleted"].ID}))
	_, err = rules.EraseCustomer(t.Context(), "cus_erased")
	is.NoErr(err)
	page := host.list("")
	require.Contains(t, page, "kept", "bought now", "given later")
	for _, name := range []string{"corrected", "transferred", "deleted", "erased"} {
		require.NotContains(t, page, licenses[name].ID)
		is.Equal(host.visit("GET", licenses[name].ID, nil).Code, http.StatusNotFound)
	}
}

// TestAddressOfAPurchase: a purchase that waits for its license is shown to the address that it
// names, not to others that have a license of its customer; and a reference that is an address
// hides no license from that address.
func TestAddressOfAPurchase(t *testing.T) {
	is := is.New(t)
	host := newMailHost(t)
	own := host.sell("License of the attacker", "beacon", "cus_v", "attacker@evil.example")
	host.sell("License of the victim", "atlas", "cus_v", "victim@customer.example")
	fulfill := func(reference, planID, email string) {
		t.Helper()
		_, err := host.Handler.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{
			Reference: reference, At: host.Clock.Now(), CustomerID: "cus_v", Name: "Attacker", PlanID: planID, State: api.PurchaseActive, Metadata: map[string]*string{"email": &email},
		})
		is.NoErr(err)
	}
	fulfill("shop:1", "no_plan_yet", "victim@customer.example")
	_, err := host.Handler.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "year", ProductID: "beacon"})
	is.NoErr(err)
	fulfill("victim@customer.example", "year", "attacker@evil.example")
	const waits = "We have your purchase of"
	page := host.list("")
	require.Contains(t, page, own.Name)
	require.NotContains(t, page, waits)
	host.user = "victim@customer.example"
	require.Contains(t, host.list(""), waits, "License of the victim")
}

// TestAddressThatIsNone: what is not an email address opens nothing, and the log says why; the
// log of a page names no address.
func TestAddressThatIsNone(t *testing.T) {
	is := is.New(t)
	var log bytes.Buffer
	host := mailHost{newLinkHost(t, licensing.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, licensing.Portal{Mailbox: mailbox})}
	host.user = "ada@customer.example"
	host.sell("No address", "atlas", "cus_v", "")
	l := host.sell("License of Ada", "atlas", "ada@customer.example", "ada@customer.example")
	require.Contains(t, host.list(""), l.Name)
	require.NotContains(t, log.String(), "ada@customer.example")
	for _, text := range []string{"", "cus_v", "ada@", "Ada <ada@customer.example>", "ada@customer.example, eve@customer.example", strings.Repeat("a", 400) + "@customer.example"} {
		host.user = text
		for _, path := range []string{"", l.ID} {
			log.Reset()
			is.Equal(host.visit("GET", path, nil).Code, http.StatusForbidden)
			require.Contains(t, log.String(), "Portal.Mailbox returned true with what is not an email address")
		}
	}
}

// TestEmailKey: Options.EmailKey is what has the address, of a license and of a purchase that
// waits for one.
func TestEmailKey(t *testing.T) {
	is := is.New(t)
	host := mailHost{newLinkHost(t, licensing.Options{EmailKey: "contact"}, licensing.Portal{Mailbox: mailbox})}
	host.user = "ada@customer.example"
	for key, name := range map[string]string{"contact": "License of Ada", "email": "Not of Ada"} {
		_, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: "cus_a", Metadata: map[string]string{key: "ada@customer.example"}})
		is.NoErr(err)
	}
	require.NotContains(t, host.list(""), "Not of Ada", "We have your purchase of")
	_, err := host.Handler.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{
		Reference: "shop:1", At: host.Clock.Now(), CustomerID: "cus_a", Name: "Ada", PlanID: "no_plan_yet", State: api.PurchaseActive, Metadata: map[string]*string{"contact": new("ada@customer.example")},
	})
	is.NoErr(err)
	require.Contains(t, host.list(""), "License of Ada", "We have your purchase of")
	require.NotContains(t, host.list(""), "Not of Ada")
}

// TestProductNames: customers see the name of a product, on its page, in the list and when a
// program asks to be activated.
func TestProductNames(t *testing.T) {
	host := mailHost{newLinkHost(t, licensing.Options{ProductNames: map[string]string{"atlas": "Atlas for Desktop"}}, licensing.Portal{Mailbox: mailbox})}
	host.user = "ada@customer.example"
	l := host.sell("License of Ada", "atlas", "cus_a", "ada@customer.example")
	host.sell("Another", "beacon", "cus_a", "ada@customer.example")
	link := host.start("laptop")
	require.Contains(t, host.list(""), "Atlas for Desktop", "beacon")
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), `<dd dir="auto">Atlas for Desktop</dd>`)
	require.Contains(t, host.page(link).Body.String(), `<dd dir="auto">Atlas for Desktop</dd>`)
}
