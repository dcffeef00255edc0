package servicetest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

var claimable = licensing.Options{ClaimFrom: []string{"batch:", "mail:"}}

// batch creates licenses that no customer has yet.
func (host *portalHost) batch(count int, customerID, email string) []api.License {
	host.t.Helper()
	metadata := map[string]string{"deal": "bundle"}
	if email != "" {
		metadata["email"] = email
	}
	b, err := host.Handler.Service().CreateBatch(host.t.Context(), api.CreateBatchParams{Count: count, CreateLicenseParams: api.CreateLicenseParams{
		Name: "Spring bundle", ProductID: "atlas", CustomerID: customerID, Metadata: metadata,
	}})
	if err != nil {
		host.t.Fatal(err)
	}
	return b.Data
}

func (host *portalHost) mustGet(id string) api.License {
	host.t.Helper()
	l, err := host.Handler.Service().Get(host.t.Context(), id)
	if err != nil {
		host.t.Fatal(err)
	}
	return l
}

func keyForm(key string) url.Values { return url.Values{"key": {key}} }

// TestClaim: a customer adds a license with its key. What the holder of the key has used
// stays.
func TestClaim(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	name := ""
	host := newPortalHost(t, claimable, licensing.Portal{
		Name: func(*http.Request) string { return name }, Email: func(*http.Request) string { return "ada@example.com" },
	})
	s := host.Handler.Service()
	some := host.batch(4, "batch:spring", "")
	l := some[0]
	v, err := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "fp-1", Name: "laptop"})
	is.NoErr(err)
	file, err := s.Customer("batch:spring").LicenseFile(ctx, l.ID, v.Activation.ID)
	is.NoErr(err)

	require.Contains(t, host.visit("GET", "", nil).Body.String(), `href="./claim"`)
	require.Contains(t, host.visit("GET", "claim", nil).Body.String(), "License key")
	w := host.visit("POST", "claim", keyForm(strings.ToLower(strings.ReplaceAll(l.Key, "-", " "))))
	is.Equal(w.Code, http.StatusSeeOther)
	is.Equal(w.Header().Get("Location"), "./"+l.ID+"?claimed")
	shown := host.visit("GET", l.ID+"?claimed", nil).Body.String()
	require.Contains(t, shown, "The license was added.", l.Key, "laptop", "License received")
	require.NotContains(t, shown, "batch:spring")
	require.Contains(t, host.visit("GET", "", nil).Body.String(), l.Key, `href="./claim"`) // the page of an only license

	// The key, the seat, the file, the name and the metadata stay; the generation too.
	after := host.mustGet(l.ID)
	is.Equal(after.CustomerID+after.Key+after.Name+after.Metadata["deal"], "cus_ada"+l.Key+"Spring bundlebundle")
	is.Equal(after.Metadata["email"], "ada@example.com")
	is.Equal(after.Generation, file.FileClaims().Generation)
	events, err := s.Events(ctx, api.ListEventsParams{Subject: l.ID, NewestFirst: true, Limit: 1})
	is.NoErr(err)
	e := events.Data[0]
	data, err := e.Decode()
	is.NoErr(err)
	is.Equal(e.Type+" "+e.Actor+" "+e.CustomerID, "license.claimed customer:cus_ada cus_ada")
	is.Equal(data.Changes, map[string]api.FieldChange{"customer_id": {From: "batch:spring", To: "cus_ada"}})

	// Again by the same customer: nothing is written. By another one: it is refused.
	name = "Ada"
	is.Equal(host.visit("POST", "claim", keyForm(l.Key)).Code, http.StatusSeeOther)
	is.Equal(host.mustGet(l.ID), after)
	again, err := s.Events(ctx, api.ListEventsParams{Subject: l.ID, NewestFirst: true, Limit: 1})
	is.NoErr(err)
	is.Equal(again.Data[0].ID, e.ID)
	host.user = "cus_bo"
	w = host.visit("POST", "claim", keyForm(l.Key))
	is.Equal(w.Code, http.StatusConflict)
	require.Contains(t, w.Body.String(), "is in another account", `value="`+l.Key+`"`)
	w = host.visit("POST", "claim", keyForm("no such key at all"))
	is.Equal(w.Code, http.StatusConflict)
	require.Contains(t, w.Body.String(), "No license has this key")
	require.Contains(t, host.visit("POST", "claim", keyForm("")).Body.String(), "No license has this key")
	require.NotContains(t, host.visit("GET", "", nil).Body.String(), l.ID)

	// The name of the customer, if the host knows it.
	host.user = "cus_ada"
	is.Equal(host.visit("POST", "claim", keyForm(some[1].Key)).Code, http.StatusSeeOther)
	is.Equal(host.mustGet(some[1].ID).Name, "Ada")

	// A suspended batch cannot be claimed away, and a customer who is suspended gets nothing valid.
	_, err = s.SuspendCustomer(ctx, api.ChangeCustomerStateParams{CustomerID: "batch:spring", Reason: "stolen"})
	is.NoErr(err)
	w = host.visit("POST", "claim", keyForm(some[2].Key))
	is.Equal(w.Code, http.StatusConflict)
	require.Contains(t, w.Body.String(), "is not valid, so it cannot be added")
	_, err = s.ReinstateCustomer(ctx, api.ChangeCustomerStateParams{CustomerID: "batch:spring"})
	is.NoErr(err)
	_, err = s.SuspendCustomer(ctx, api.ChangeCustomerStateParams{CustomerID: "cus_bo", Reason: "unpaid"})
	is.NoErr(err)
	got, err := s.Customer("cus_bo").Claim(ctx, some[2].Key)
	is.NoErr(err)
	is.Equal(got.Status, api.LicenseSuspended)
	_, err = s.Revoke(ctx, api.ChangeStateParams{ID: some[3].ID})
	is.NoErr(err)
	_, err = s.Customer("cus_ada").Claim(ctx, some[3].Key)
	require.ErrorIs(t, err, api.ErrStateForbids)

	// An expired or scheduled license can be claimed.
	for _, p := range []api.CreateLicenseParams{{ExpiresAt: new(host.Clock.Now().Add(-time.Hour))}, {StartsAt: new(host.Clock.Now().Add(time.Hour))}} {
		p.Name, p.ProductID, p.CustomerID = "Gift", "atlas", "batch:gift"
		l, err := s.Create(ctx, p)
		is.NoErr(err)
		got, err := s.Customer("cus_ada").Claim(ctx, l.Key)
		is.NoErr(err)
		is.Equal(got.CustomerID, "cus_ada")
		is.Equal(got.Status, l.Status)
	}
}

// TestClaimOverHTTP is for hosts that are not in Go.
func TestClaimOverHTTP(t *testing.T) {
	is := is.New(t)
	opts := claimable
	opts.Limits.KeyRate = 8
	host := newPortalHost(t, opts, licensing.Portal{})
	some := host.batch(2, "batch:spring", "guest@example.com")
	claim := func(token, key, rest string) (int, string) {
		w := post(t, host.Handler, "/license/claim", token, `{"key":"`+key+`","customer_id":"cus_eve"`+rest+`}`)
		return w.Code, w.Body.String()
	}
	token := host.Token()
	code, body := claim(token, some[0].Key, `,"name":"Eve","email":"eve@example.com"`)
	is.Equal(code, http.StatusOK)
	var l api.License
	is.NoErr(json.Unmarshal([]byte(body), &l))
	is.Equal(l, host.mustGet(some[0].ID))
	is.Equal(l.CustomerID+l.Name+l.Metadata["email"], "cus_eveEveeve@example.com")
	code, body = claim(token, some[0].Key, `,"name":"Other"`)
	is.Equal(code, http.StatusOK)
	require.Contains(t, body, `"name":"Eve"`)
	code, _ = claim(token, some[0].Key, `,"customer_id":"cus_ada"`)
	is.Equal(code, http.StatusBadRequest) // the member is there twice
	code, body = claim(token, some[1].Key, `,"email":"nobody"`)
	is.Equal(code, http.StatusUnprocessableEntity)
	require.Contains(t, body, "#/email")
	code, body = claim(token, "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", "")
	is.Equal(code, http.StatusNotFound)
	require.NotContains(t, body, "AAAAA")
	other, _ := host.license("cus_bo", "Bo's license")
	code, body = claim(token, other.Key, "")
	is.Equal(code, http.StatusConflict)
	require.Contains(t, body, "license_claimed")
	require.NotContains(t, body, "cus_bo", other.ID)

	narrow, secret := host.NewClient(auth.CreateClientParams{Name: "Harbor only", Products: []string{"harbor"}})
	limited, _ := host.NewToken(narrow.ID, secret)
	code, _ = claim(limited, some[1].Key, "")
	is.Equal(code, http.StatusNotFound)
	reader, secret := host.NewClient(auth.CreateClientParams{Name: "Reader", Scopes: []string{auth.ScopeLicenseRead}})
	reading, _ := host.NewToken(reader.ID, secret)
	code, _ = claim(reading, some[1].Key, "")
	is.Equal(code, http.StatusForbidden)

	codes := map[int]int{}
	for range 40 { // the tries of one key count together, as those of validations do
		code, _ = claim(token, other.Key, "")
		codes[code]++
	}
	is.True(codes[http.StatusTooManyRequests] > 10) // codes
	code, _ = claim(token, some[1].Key, "")
	is.Equal(code, http.StatusOK) // another key
	is.Equal(host.mustGet(some[1].ID).Metadata, map[string]string{"deal": "bundle"})
}

// TestClaimedBatchIsErased: what was claimed stays, without the ID of the batch.
func TestClaimedBatchIsErased(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	host := newPortalHost(t, claimable, licensing.Portal{})
	s := host.Handler.Service()
	some := host.batch(3, "batch:spring", "")
	_, err := s.Customer("cus_ada").Claim(ctx, some[0].Key)
	is.NoErr(err)
	before := host.mustGet(some[0].ID)
	erased, err := s.EraseCustomer(ctx, "batch:spring")
	is.NoErr(err)
	is.Equal(erased.Licenses, 2)
	is.Equal(host.mustGet(some[0].ID), before)
	_, err = s.Get(ctx, some[1].ID)
	require.ErrorIs(t, err, api.ErrNotFound)
	for e, err := range s.AllEvents(ctx, api.ListEventsParams{}) {
		is.NoErr(err)
		require.NotContains(t, e.CustomerID+string(e.Data), "batch:spring")
	}
}

// TestClaimReplacesTheAddress: an address opens a license, and gets its new key. So that of
// the guest leaves with a claim, also from the purchase, and no later event of the guest
// brings it back.
func TestClaimReplacesTheAddress(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	host := newPortalHost(t, claimable, licensing.Portal{})
	s, sales := host.Handler.Service(), host.Handler.Selling()
	for id, d := range map[string]api.Duration{"pro": {Months: 1}, "trial": {Days: 14}} {
		_, err := sales.PutPlan(ctx, api.PutPlanParams{ID: id, ProductID: "atlas", Duration: d})
		is.NoErr(err)
	}
	now := host.Clock.Now()
	tell := func(p api.RecordPurchaseParams) api.Purchase {
		p.Reference, p.PlanID, p.State = "shop:1", "pro", api.PurchaseActive
		f, err := sales.RecordPurchase(ctx, p)
		is.NoErr(err)
		return f
	}
	guest := func(email string) map[string]*string {
		return map[string]*string{"email": &email, "order": new("17")}
	}
	sees := func(address, id string) bool {
		_, err := s.Mailbox(address).Get(ctx, id)
		page, wrong := s.Mailbox(address).List(ctx, api.ListLicensesParams{})
		is.NoErr(wrong)
		is.Equal(err == nil, len(page.Data) == 1)
		return err == nil
	}
	l := tell(api.RecordPurchaseParams{CustomerID: "mail:guest@example.com", At: now, Until: api.To(now.AddDate(0, 1, 0)), Metadata: guest("guest@example.com")}).License
	is.True(sees("guest@example.com", l.ID))
	_, err := s.Claim(ctx, api.ClaimLicenseParams{Key: l.Key, CustomerID: "cus_ada", Email: "ada@example.com"})
	is.NoErr(err)
	is.True(!sees("guest@example.com", l.ID))
	is.True(sees("ada@example.com", l.ID))
	f, err := sales.GetPurchase(ctx, "shop:1")
	is.NoErr(err)
	is.Equal(f.CustomerID, "cus_ada")

	// Later events of the guest reach the license: all but the address.
	for i, customer := range []string{"mail:guest@example.com", "", "mail:guest@example.com"} {
		address := []string{"guest@example.com", "guest@example.com", "guest.new@example.com"}[i]
		at := now.Add(time.Duration(i+1) * time.Hour)
		f := tell(api.RecordPurchaseParams{CustomerID: customer, At: at, Until: api.To(now.AddDate(0, i+2, 0)), Metadata: guest(address)})
		is.Equal(f.License.ID+f.License.CustomerID+f.License.Key, l.ID+"cus_ada"+l.Key)
		is.Equal(*f.License.ExpiresAt, now.AddDate(0, i+2, 0))
		is.Equal(f.License.Metadata, map[string]string{"email": "ada@example.com", "order": "17"})
	}
	is.True(!sees("guest@example.com", l.ID))
	is.True(!sees("guest.new@example.com", l.ID))
	_, err = s.Rekey(ctx, api.RekeyLicenseParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(host.mustGet(l.ID).Metadata["email"], "ada@example.com") // which gets the key
	f = tell(api.RecordPurchaseParams{CustomerID: "cus_ada", At: now.Add(9 * time.Hour), Metadata: guest("ada.new@example.com")})
	is.Equal(f.License.Metadata["email"], "ada.new@example.com")
	_, err = s.Customer("cus_ada").Claim(ctx, host.mustGet(l.ID).Key) // again
	is.NoErr(err)
	f = tell(api.RecordPurchaseParams{CustomerID: "mail:guest@example.com", At: now.Add(10 * time.Hour), Quantity: new(int64(2))})
	is.Equal(f.License.Metadata["email"], "ada.new@example.com")

	// The export of the customer who claimed it has the address of the guest only in the ID.
	var export strings.Builder
	is.NoErr(s.ExportCustomer(ctx, &export, "cus_ada"))
	require.NotContains(t, strings.ReplaceAll(export.String(), "mail:guest@example.com", ""), "guest")

	// A trial counts for the account, too.
	trial, err := sales.StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "mail:guest@example.com"})
	is.NoErr(err)
	_, err = s.Customer("cus_ada").Claim(ctx, trial.License.Key)
	is.NoErr(err)
	again, err := sales.StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "cus_ada"})
	is.NoErr(err)
	is.True(!again.Started)
	is.Equal(again.License.ID, trial.License.ID)
}

// TestMailboxClaims: a visitor who signs in by mail claims a license, also without one, and
// sees it immediately.
func TestMailboxClaims(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	host := newPortalHost(t, claimable, licensing.Portal{Mailbox: mailbox})
	some := host.batch(4, "batch:spring", "reseller@example.com")
	host.user = "Ada@Example.com"
	require.Contains(t, host.visit("GET", "", nil).Body.String(), "You have no licenses yet", `href="./claim"`)
	is.Equal(host.visit("POST", "claim", keyForm(some[0].Key)).Header().Get("Location"), "./"+some[0].ID+"?claimed")
	l := host.mustGet(some[0].ID)
	is.Equal(l.CustomerID+" "+l.Metadata["email"], "mail:ada@example.com ada@example.com")
	require.Contains(t, host.visit("GET", "", nil).Body.String(), l.Key)
	is.Equal(host.visit("POST", "claim", keyForm(some[0].Key)).Code, http.StatusSeeOther)
	is.Equal(host.mustGet(l.ID), l)

	// The customer of its licenses, if they all have one.
	create := func(customerID string) {
		_, err := host.Handler.Service().Create(ctx, api.CreateLicenseParams{Name: "Bo", ProductID: "atlas", CustomerID: customerID, Metadata: map[string]string{"email": "Bo <bo@example.com>"}})
		is.NoErr(err)
	}
	host.user = "bo@example.com"
	create("batch:autumn") // no customer has it yet
	create("cus_bo")
	is.Equal(host.visit("POST", "claim", keyForm(some[1].Key)).Code, http.StatusSeeOther)
	is.Equal(host.mustGet(some[1].ID).CustomerID, "cus_bo")
	create("cus_bo_and_sons")
	is.Equal(host.visit("POST", "claim", keyForm(some[2].Key)).Code, http.StatusSeeOther)
	is.Equal(host.mustGet(some[2].ID).CustomerID, "mail:bo@example.com")

	// A license that it sees already stays, whoever is its customer.
	before := host.mustGet(some[1].ID)
	is.Equal(host.visit("POST", "claim", keyForm(before.Key)).Code, http.StatusSeeOther)
	is.Equal(host.mustGet(before.ID), before)
	host.user = "eve@example.com"
	is.Equal(host.visit("POST", "claim", keyForm(before.Key)).Code, http.StatusConflict)
	host.user = "not an address"
	is.Equal(host.visit("POST", "claim", keyForm(some[3].Key)).Code, http.StatusForbidden)
	is.Equal(host.mustGet(some[3].ID).CustomerID, "batch:spring")
}

// TestClaimOnTheWayToAProgram: a customer without a license types the key on the page of a
// program, and continues there.
func TestClaimOnTheWayToAProgram(t *testing.T) {
	is := is.New(t)
	host := newLinkHost(t, claimable, licensing.Portal{})
	some := host.batch(1, "batch:spring", "")
	link := host.start("laptop")
	page := host.visit("GET", "link?code="+link.Code, nil).Body.String()
	require.Contains(t, page, "You have no valid license", `href="./claim?code=`+link.Code+`"`)
	require.Contains(t, host.visit("GET", "claim?code="+link.Code, nil).Body.String(), `name="code" value="`+link.Code+`"`)

	other, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Gift", ProductID: "beacon", CustomerID: "batch:gift"})
	is.NoErr(err)
	w := host.visit("POST", "claim", url.Values{"key": {"wrong"}, "code": {link.Code}})
	require.Contains(t, w.Body.String(), `name="code" value="`+link.Code+`"`)
	w = host.visit("POST", "claim", url.Values{"key": {other.Key}, "code": {link.Code}})
	page = host.visit("GET", strings.TrimPrefix(w.Header().Get("Location"), "./"), nil).Body.String()
	require.Contains(t, page, "The license was added. It is for another product than this program.", "You have no valid license")
	is.Equal(host.mustGet(other.ID).CustomerID, "cus_ada")

	w = host.visit("POST", "claim", url.Values{"key": {some[0].Key}, "code": {link.Code}})
	page = host.visit("GET", strings.TrimPrefix(w.Header().Get("Location"), "./"), nil).Body.String()
	require.Contains(t, page, "The license was added.", some[0].ID)
	require.NotContains(t, page, "another product")
	w = host.visit("POST", "link", url.Values{"code": {link.Code}, "license": {some[0].ID}, "decision": {"approve"}})
	is.Equal(w.Header().Get("Location"), "./"+some[0].ID+"?linked")
}

// TestNoClaims: without ClaimFrom there is no such page, and nothing can be claimed.
func TestNoClaims(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	some := host.batch(1, "batch:spring", "")
	require.NotContains(t, host.visit("GET", "", nil).Body.String(), "claim")
	is.Equal(host.visit("GET", "claim", nil).Code, http.StatusNotFound)
	is.Equal(host.visit("POST", "claim", keyForm(some[0].Key)).Code, http.StatusNotFound)
	_, err := host.Handler.Service().Customer("cus_ada").Claim(t.Context(), some[0].Key)
	require.ErrorIs(t, err, api.ErrClaimed)
	for _, wrong := range []string{"", ":", "batch", "cus_"} {
		is.True(licensing.Options{ClaimFrom: []string{wrong}}.Validate() != nil) // wrong
	}
	is.NoErr(claimable.Validate())
}

// TestClaimsAreLimited: keys cannot be tried faster than codes of programs, by a customer and
// from an address.
func TestClaimsAreLimited(t *testing.T) {
	for name, opts := range map[string]licensing.Options{
		"customer": {Limits: licensing.LimitOptions{KeyRate: 1}},
		"address":  {Limits: licensing.LimitOptions{AddressRate: 1}, ClientIP: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			opts.ClaimFrom = claimable.ClaimFrom
			host := newPortalHost(t, opts, licensing.Portal{})
			codes := map[int]int{}
			for i := range 20 {
				if name == "address" {
					host.user = fmt.Sprint("cus_", i)
				}
				codes[host.visit("POST", "claim", keyForm(fmt.Sprint("no such key at all", i))).Code]++
			}
			is.True(codes[http.StatusTooManyRequests] >= 10) // codes
			is.True(codes[http.StatusConflict] >= 1)         // codes
		})
	}
}

// TestClaimWithWrongAnswers: the log says what the host returned wrong, and nothing is
// claimed.
func TestClaimWithWrongAnswers(t *testing.T) {
	for _, tt := range []struct{ name, email, log string }{
		{"\x00", "", "Portal.Name returned a name that no license can have"},
		{"", "nobody", "Portal.Email returned what is not an email address"},
	} {
		is := is.New(t)
		var log strings.Builder
		opts := claimable
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		host := newPortalHost(t, opts, licensing.Portal{
			Name: func(*http.Request) string { return tt.name }, Email: func(*http.Request) string { return tt.email },
		})
		l := host.batch(1, "batch:spring", "")[0]
		is.Equal(host.visit("POST", "claim", keyForm(l.Key)).Code, http.StatusForbidden)
		require.Contains(t, log.String(), tt.log)
		is.Equal(host.mustGet(l.ID).CustomerID, "batch:spring")
	}
}
