package firstrelease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// use uses every credential and cursor in the data.
func (o *observer) use() {
	o.useTokens()
	o.useThrottles()
	o.useBacklog()
	o.signIn()
	o.useSecrets()
}

// useTokens reads with access tokens and sessions, and repeats a request that
// has an Idempotency-Key.
func (o *observer) useTokens() {
	for _, name := range []string{"shop_second", "atlas"} {
		token := "Bearer " + o.known.Secrets["token_"+name]
		listed := o.request("GET", "/license?limit=200", "", "Authorization", token)
		o.add("token", name, []int{listed.Code, strings.Count(listed.Body.String(), `"object":"license"`)}, nil)
	}
	again := o.request("POST", "/license", `{"name":"Once only","product_id":"atlas","customer_id":"cus_ada"}`,
		"Authorization", "Bearer "+o.newToken("shop_second"), "Idempotency-Key", "order-4711")
	o.add("replay", again.Header().Get("Idempotency-Replayed"), fmt.Sprint(again.Code, " ", again.Body), nil)
	for _, name := range []string{"admin", "viewer"} {
		cookie := "licensing_session=" + o.known.Secrets["session_"+name]
		overview := o.request("GET", "/dashboard/", "", "Cookie", cookie)
		create := o.request("GET", "/dashboard/licenses/new", "", "Cookie", cookie)
		o.add("session", name, []int{overview.Code, create.Code}, nil)
	}
}

// newToken returns a new access token of a client.
func (o *observer) newToken(name string) string {
	var answer struct {
		Token string `json:"access_token"`
	}
	if w := o.tokenRequest(name); w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			o.t.Fatal(err)
		}
	}
	return answer.Token
}

func (o *observer) tokenRequest(name string) *httptest.ResponseRecorder {
	client := name
	if name == "shop_first" || name == "shop_second" {
		client = "shop"
	}
	body, err := json.Marshal(map[string]string{
		"grant_type": "client_credentials", "client_id": o.known.Clients[client], "client_secret": o.known.Secrets[name],
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return o.request("POST", "/oauth/token", string(body))
}

// useThrottles signs in too early.
func (o *observer) useThrottles() {
	if o.archive {
		return
	}
	for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
		o.address = netip.MustParseAddr(address)
		op, err := o.operators.SignIn(httptest.NewRecorder(), page(), "throttled@example.com", "a long enough password for throttled")
		var throttled *operator.ThrottledError
		if errors.As(err, &throttled) {
			err = nil
		} else {
			throttled = new(operator.ThrottledError)
			o.signedIn = "operator.signed_in " + op.ID
		}
		o.add("throttled", address, throttled.RetryAfter.String(), err)
	}
	o.address = netip.MustParseAddr("192.0.2.1")
}

func page() *http.Request {
	return httptest.NewRequest("POST", "http://localhost/dashboard/sign-in", nil)
}

// useBacklog does the background work from where the first release stopped:
// it gives notices, purges what a webhook left, and delivers events.
func (o *observer) useBacklog() {
	o.advance(2 * time.Hour)
	ctx, cancel := context.WithTimeout(o.t.Context(), 10*time.Second)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { o.handler.Run(ctx) })
	for ctx.Err() == nil && !o.settled() {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	running.Wait()
	page, err := o.service.Events(o.t.Context(), license.EventsParams{Type: "license.*", NewestFirst: true, Limit: 6})
	for _, e := range page.Data {
		o.add("notices", "", short(e), err)
	}
	slices.Sort(o.sent) // webhooks are called concurrently
	for _, line := range o.handled {
		section := "handled"
		if line == o.signedIn {
			section = "throttled"
		}
		o.add(section, "", line, nil)
	}
	for _, line := range o.sent {
		o.add("sent", "", line, nil)
	}
}

// settled reports whether nothing is left to do: the last notice has been
// given, the subscriber has the newest event, and no delivery to an active
// webhook is due.
func (o *observer) settled() bool {
	ctx := o.t.Context()
	expired, err := o.service.Events(ctx, license.EventsParams{Type: license.EventLicenseExpired, NewestFirst: true, Limit: 1})
	if err != nil || len(expired.Data) == 0 || expired.Data[0].Timestamp.Before(o.clock()) {
		return err != nil
	}
	newest, err := o.service.Events(ctx, license.EventsParams{NewestFirst: true, Limit: 1})
	if err != nil || len(newest.Data) == 0 {
		return true
	}
	o.mu.Lock()
	handled := len(o.handled) > 0 && o.handled[len(o.handled)-1] == short(newest.Data[0])
	o.mu.Unlock()
	if waiting, _ := o.overdue(); !handled || waiting {
		return false
	}
	webhooks, err := o.handler.Webhooks().List(ctx, webhook.ListParams{})
	if err != nil {
		return true
	}
	for _, w := range webhooks.Data {
		pending, err := o.handler.Webhooks().Deliveries(ctx, webhook.DeliveriesParams{WebhookID: w.ID, Status: webhook.DeliveryPending})
		if w.Status == webhook.StatusActive && (err != nil || len(pending.Data) > 0) {
			return err != nil
		}
	}
	return true
}

// short names an event without its id, which is new for some.
func short(e license.Event) string { return e.Type + " " + e.Subject }

func (o *observer) handle(_ context.Context, e license.Event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handled = append(o.handled, short(e))
	return nil
}

// RoundTrip implements [http.RoundTripper] in place of webhooks.
func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var e license.Event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, r.URL.String()+" "+short(e)+" "+r.Header.Get("webhook-signature"))
	return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody}, nil
}

// signIn signs in with the old passwords, and takes up the invitations.
func (o *observer) signIn() {
	for email, password := range map[string]string{
		"ada@example.com":      "a long enough password for ada",
		"viewer@example.com":   "a long enough password for viewer",
		"disabled@example.com": "a long enough password for disabled",
	} {
		op, err := o.operators.SignIn(httptest.NewRecorder(), page(), email, password)
		if errors.Is(err, operator.ErrCredentials) {
			op.ID, err = "refused", nil
		}
		o.add("sign-in", email, op.ID, err)
	}
	slices.Sort(o.lines[len(o.lines)-3:])
	for _, email := range []string{"ada@example.com", "viewer@example.com", "disabled@example.com", "throttled@example.com"} {
		_, err := o.operators.Invite(o.t.Context(), operator.InviteParams{Email: email})
		o.add("email taken", email, errors.Is(err, auth.ErrInvalid), nil)
	}
	for _, name := range []string{"invite_new", "invite_back"} {
		if o.archive {
			break
		}
		op, err := o.operators.AcceptInvitation(httptest.NewRecorder(), page(), o.known.Secrets[name], "another long enough password")
		o.add("invitation", name, op.Email+" "+string(op.Role), err)
	}
}

// useSecrets asks for an access token with each secret.
func (o *observer) useSecrets() {
	for _, name := range []string{"shop_first", "shop_second", "atlas", "disabled"} {
		o.add("secret", name, o.tokenRequest(name).Code, nil)
	}
}
