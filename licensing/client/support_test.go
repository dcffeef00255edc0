package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
)

// TestSupportTool does what operators do in the dashboard.
func TestSupportTool(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, _ := newService(t, licensing.Options{})
	f, err := c.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "shop:1", At: time.Now(), CustomerID: "ada@example.com/1", PlanID: "team", State: api.PurchaseActive})
	is.NoErr(err)
	is.Equal(f.Waiting, api.WaitingUnknownPlan)
	plan, err := c.PutPlan(ctx, api.PutPlanParams{ID: "team", ProductID: "atlas", Duration: api.Duration{Days: 7}})
	is.NoErr(err)
	is.Equal(plan.Waiting, 1)
	taken, err := c.TakeUpWaiting(ctx, api.TakeUpWaitingParams{ID: "team"})
	is.NoErr(err)
	is.Equal(taken, api.PlanTakeUp{Object: "plan_take_up", Licensed: 1})

	other, err := c.CreateLicense(ctx, atlas("cus_2"))
	is.NoErr(err)
	page, err := c.ListLicensesPage(ctx, api.ListLicensesParams{NewestFirst: true, Limit: 1})
	is.NoErr(err)
	is.True(page.HasMore)
	next, err := c.ListLicensesPage(ctx, api.ListLicensesParams{NewestFirst: true, Limit: 1, Cursor: page.NextCursor})
	is.NoErr(err)
	is.True(!next.HasMore)
	l := page.Data[0]
	if l.ID == other.ID { // made in the same millisecond, perhaps
		l = next.Data[0]
	}
	is.Equal(l.Reference, "shop:1")
	page, err = c.ListLicensesPage(ctx, api.ListLicensesParams{Only: "due", PlanID: "team", Search: "ada"})
	is.NoErr(err)
	is.Equal([]any{len(page.Data), page.Data[0].ID, page.HasMore}, []any{1, l.ID, false})

	_, err = c.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "shop:1", At: time.Now(), State: api.PurchaseRefunded})
	is.NoErr(err)
	f, err = c.ReopenPurchase(ctx, api.ReopenPurchaseParams{Reference: "shop:1", Reason: "by mistake"})
	is.NoErr(err)
	is.Equal(f.Result, api.PurchaseResultChanged)
	trial, err := c.StartTrial(ctx, api.StartTrialParams{PlanID: "team", CustomerID: "bob"})
	is.NoErr(err)
	is.NoErr(c.AllowTrial(ctx, api.AllowTrialParams{LicenseID: trial.License.ID}))
	require.ErrorIs(t, c.AllowTrial(ctx, api.AllowTrialParams{LicenseID: l.ID}), api.CodeNotFound)
	sold, err := c.GetSales(ctx, "week")
	is.NoErr(err)
	is.Equal([]int64{sold.Total.New, sold.Total.Trials, sold.Active}, []int64{1, 1, 3})
	_, err = c.GetSales(ctx, "decade")
	require.ErrorIs(t, err, api.CodeInvalidParameters)

	var out bytes.Buffer
	is.NoErr(c.ExportLicensesCSV(ctx, &out, api.ExportLicensesParams{CustomerID: "bob"}))
	require.Contains(t, out.String(), trial.License.Key)
	renamed, err := c.RenameCustomer(ctx, api.ChangeCustomerIDParams{CustomerID: "ada@example.com/1", To: "50%"})
	is.NoErr(err)
	is.Equal(renamed.Licenses, 1)
	_, err = c.Once("key").RenameCustomer(ctx, api.ChangeCustomerIDParams{CustomerID: "50%", To: "cus_1"})
	is.True(err != nil) // has no idempotency key
	out.Reset()
	is.NoErr(c.ExportCustomer(ctx, &out, "50%"))
	is.True(json.Valid(out.Bytes()))
	require.Contains(t, out.String(), l.Key)
	erased, err := c.EraseCustomer(ctx, "50%")
	is.NoErr(err)
	is.Equal(erased.Licenses, 1)

	ready, err := c.GetReady(ctx, true)
	is.NoErr(err)
	is.Equal(ready.Status, "ready")
	is.True(ready.Problems != nil)
	ready, err = c.GetReady(ctx, false)
	is.NoErr(err)
	is.Equal(ready, client.Ready{Status: "ready"})
	list, err := c.GetFileRevocations(ctx, "atlas", trial.License.ID)
	is.NoErr(err)
	is.Equal(strings.Count(list, "."), 2) // a signed list
	_, err = c.GetFileRevocations(ctx, "globe", trial.License.ID)
	require.ErrorIs(t, err, api.CodeNotFound)
}

// A cutResponse is a response that ends after some bytes.
type cutResponse struct{ calls int }

func (r *cutResponse) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/oauth/token" {
		return respond(200, "application/json", `{"access_token":"lat_1","expires_in":3600}`), nil
	}
	r.calls++
	resp := respond(200, "application/json", "")
	resp.Body = cutBody{strings.NewReader(`{"object":`)}
	return resp, nil
}

type cutBody struct{ text *strings.Reader }

func (b cutBody) Read(p []byte) (int, error) {
	if b.text.Len() == 0 {
		return 0, errors.New("cut")
	}
	return b.text.Read(p)
}

func (cutBody) Close() error { return nil }

// TestADownloadIsNotRepeated once it has written: the output would have its beginning twice.
func TestADownloadIsNotRepeated(t *testing.T) {
	is := is.New(t)
	r := &cutResponse{}
	c, err := client.New(client.Options{URL: "http://licensing.test", ClientID: "cid_1", ClientSecret: "csk_1", HTTPClient: &http.Client{Transport: r}})
	is.NoErr(err)
	var out bytes.Buffer
	err = c.ExportCustomer(t.Context(), &out, "cus_1")
	is.True(err != nil)
	is.Equal(r.calls, 1)
	is.Equal(out.String(), `{"object":`)
	err = c.ExportLicensesCSV(t.Context(), &out, api.ExportLicensesParams{}) // JSON is not CSV
	require.ErrorIs(t, err, client.CodeUnexpectedResponse)
}
