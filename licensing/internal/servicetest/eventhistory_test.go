package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// gone is an endpoint that wants no more deliveries.
type gone struct{}

func (gone) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusGone, Body: http.NoBody, Header: http.Header{}}, nil
}

// A world is a service to which everything happens once.
type world struct {
	*testing.T
	h     *licensing.Handler
	token string
}

// do sends a request that succeeds, and returns the members of its answer.
func (w *world) do(method, target, body string) (members map[string]any) {
	w.Helper()
	time.Sleep(time.Second)
	a := ask(w.T, w.h, method, target, w.token, body)
	if a.Code >= 300 {
		w.Fatalf("%s %s: %d %s", method, target, a.Code, a.Body)
	}
	_ = json.Unmarshal(a.Body.Bytes(), &members)
	return members
}

// license creates a license, and returns its path and key.
func (w *world) license(body string) (path, key string) {
	w.Helper()
	l := w.do("POST", "/license", body)
	return "/license/" + l["id"].(string), l["key"].(string)
}

func (w *world) must(err error) {
	w.Helper()
	if time.Sleep(time.Second); err != nil {
		w.Fatal(err)
	}
}

// history makes the service append an event of each type.
func (w *world) history() {
	ctx := w.Context()
	shop, secret, err := w.h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Shop", Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite, auth.ScopeWebhookWrite}})
	w.must(err)
	issued := ask(w.T, w.h, "GET", "/oauth/token?client_id="+shop.ID+"&client_secret="+secret, "", "")
	var token struct {
		Text string `json:"access_token"`
	}
	w.must(json.Unmarshal(issued.Body.Bytes(), &token))
	w.token = token.Text

	w.sold()
	w.used()
	w.customers()

	hook := w.do("POST", "/webhook", `{"url":"https://shop.example/licenses","description":"Shop","types":["license.*"]}`)["id"].(string)
	w.do("PATCH", "/webhook/"+hook, `{"description":"Shop and mail"}`)
	w.do("POST", "/webhook/"+hook+"/test", "")
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.h.Run(running) }()
	time.Sleep(4 * 24 * time.Hour) // the test is delivered; a license ends
	synctest.Wait()
	stop()
	w.must(<-done)
	w.must(w.h.Webhooks().Delete(ctx, hook))

	keys := w.h.Files()
	added, err := keys.AddKey(ctx, files.AddKeyParams{})
	w.must(err)
	_, err = keys.RotateKey(ctx, files.RotateKeyParams{Force: true})
	w.must(err)
	_, err = keys.RetireKey(ctx, w.retired(keys))
	w.must(err)
	_, err = keys.CondemnKey(ctx, files.CondemnKeyParams{ID: added.ID})
	w.must(err)

	disabled := true
	name := "Shop and support"
	_, err = w.h.Auth().UpdateClient(ctx, auth.UpdateClientParams{ID: shop.ID, Name: &name})
	w.must(err)
	_, _, err = w.h.Auth().RotateSecret(ctx, auth.RotateSecretParams{ClientID: shop.ID})
	w.must(err)
	_, err = w.h.Auth().UpdateClient(ctx, auth.UpdateClientParams{ID: shop.ID, Disabled: &disabled})
	w.must(err)
	w.must(w.h.Auth().DeleteClient(ctx, shop.ID))
	w.operators()
}

// sold is what happens to a license between its plan and its end.
func (w *world) sold() {
	ctx := w.Context()
	w.do("PUT", "/plan/team_year", `{"product_id":"atlas","name":"Team, yearly","duration":"P1Y","max_activations":5,"entitlements":{"export":true}}`)
	w.do("PUT", "/plan/team_year", `{"product_id":"atlas","name":"Team, yearly","duration":"P1Y","max_activations":10,"entitlements":{"export":true}}`)
	w.do("PUT", "/plan/trial", `{"product_id":"atlas","duration":"P14D"}`)
	bought := w.do("PUT", "/purchase/stripe:sub_1042", `{"at":"2026-01-05T09:00:00Z","customer_id":"cus_1042","name":"Ada Lovelace","plan_id":"team_year","state":"active","until":"2027-01-05T09:00:00Z"}`)
	path := "/license/" + bought["license_id"].(string)
	key := bought["license"].(map[string]any)["key"].(string)
	w.do("PATCH", path, `{"metadata":{"order":"A-1001"}}`)
	w.do("POST", path+"/renew", `{"duration":"P1Y","reason":"thank you for waiting"}`)
	seat := w.do("POST", "/license/activate", `{"key":"`+key+`","fingerprint":"3f1c","name":"Build host","file":"P7D"}`)["activation"].(map[string]any)["id"].(string)
	w.do("DELETE", path+"/activation/"+seat+"?force=true", "")
	w.do("POST", path+"/file/void", `{"reason":"laptop stolen"}`)
	w.do("POST", path+"/suspend", `{"reason":"invoice 1001 is overdue"}`)
	w.do("POST", path+"/reinstate", `{"reason":"paid"}`)
	w.do("POST", path+"/rekey", `{"reason":"published by mistake"}`)
	w.do("POST", path+"/transfer", `{"customer_id":"cus_1815","name":"Grace Hopper","reason":"the team was sold"}`)
	w.do("POST", path+"/revoke", `{"reason":"chargeback"}`)
	w.do("DELETE", path, "")

	_, key = w.license(`{"name":"Spring bundle","product_id":"atlas","customer_id":"batch:spring"}`)
	_, err := w.h.Service().Customer("cus_1042").Claim(ctx, key)
	w.must(err)

	_, key = w.license(`{"name":"Ada Lovelace","product_id":"atlas","customer_id":"cus_1042","max_activations":1,"expires_at":"2026-01-07T00:00:00Z","grace_seconds":86400}`)
	w.do("POST", "/license/activate", `{"key":"`+key+`","fingerprint":"3f1c"}`)
	w.do("POST", "/license/activate", `{"key":"`+key+`","fingerprint":"77aa","take_over":"oldest"}`)
	if _, err := w.h.Service().Activate(ctx, api.ActivateKeyParams{Key: key, Fingerprint: "b2c4"}); !errors.Is(err, api.ErrDenied) {
		w.Fatal(err)
	}

	trial := w.do("POST", "/license/trial", `{"plan_id":"trial","customer_id":"cus_1043","subjects":["device:3f1c"]}`)["license"].(map[string]any)["id"].(string)
	w.must(w.h.Selling().AllowTrial(ctx, api.AllowTrialParams{LicenseID: trial, Reason: "asked for more time"}))
	w.do("DELETE", "/plan/trial", "")
}

// used counts what a license allows, past 80 and 100 %.
func (w *world) used() {
	_, key := w.license(`{"name":"Ada Lovelace","product_id":"atlas","customer_id":"cus_1042","meters":{"exports":{"limit":10,"per":"month"}}}`)
	for i, total := range []int{8, 2} {
		w.do("POST", "/license/usage", fmt.Sprintf(`{"key":%q,"usage":[{"meter":"exports","id":"run-%d","total":%d}]}`, key, i, total))
	}
}

// customers suspends, exports and erases customers.
func (w *world) customers() {
	ctx := w.Context()
	w.license(`{"name":"Alan Turing","product_id":"atlas","customer_id":"cus_1044"}`)
	path, _ := w.license(`{"name":"Ada Lovelace","product_id":"atlas","customer_id":"cus_1042","metadata":{"email":"ada@customer.example"}}`)
	support := w.h.Service().As(license.Caller{Actor: "operator:opr_01kcz3k5b0e9vbnwqmazkbdhfx"})
	ada, err := support.Get(ctx, strings.TrimPrefix(path, "/license/"))
	w.must(err)
	w.must(inner.Of(support).Licenses().MailLink(ctx, ada, func(context.Context, string) error { return nil }))
	w.do("POST", "/customer/cus_1042/suspend", `{"reason":"invoice 1002 is overdue"}`)
	w.do("POST", "/customer/cus_1042/reinstate", "")
	w.must(support.ExportCustomer(ctx, new(bytes.Buffer), "cus_1042"))
	_, err = w.h.Service().EraseCustomer(ctx, "cus_1044")
	w.must(err)
}

// operators signs operators in and out.
func (w *world) operators() {
	ctx, people := w.Context(), w.h.Operators()
	admin := operator.RoleAdmin
	op, err := people.Create(ctx, operator.CreateParams{Email: "ada@acme.example", Password: "nine purple engines hum"})
	w.must(err)
	_, err = people.Update(ctx, operator.UpdateParams{ID: op.ID, Role: &admin})
	w.must(err)
	signIn := func(password string) error {
		r := httptest.NewRequestWithContext(ctx, "POST", "/dashboard/sign-in", nil)
		_, err := inner.Of(people).SignIn(httptest.NewRecorder(), r, "ada@acme.example", password, false)
		return err
	}
	w.must(signIn("nine purple engines hum"))
	if signIn("a wrong password") == nil {
		w.Fatal("a wrong password was accepted")
	}
	w.must(people.SignOutEverywhere(ctx, op.ID))
}

// retired returns the ID of a key that may be retired.
func (w *world) retired(keys *files.Service) string {
	all, err := keys.Keys(w.Context())
	w.must(err)
	i := slices.IndexFunc(all, func(k files.Key) bool { return k.State == files.KeyVerify })
	return all[max(i, 0)].ID
}
