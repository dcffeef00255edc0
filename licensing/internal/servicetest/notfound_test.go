package servicetest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/endpoints"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestErrorsNameWhatIsNotFound: an error has the kind of the record and its ID, and of a
// key, a code or a secret only the kind.
func TestErrorsNameWhatIsNotFound(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	h := newCaller(t, licensing.Options{Logger: discard}).Handler
	l, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada"})
	is.NoErr(err)
	const digits = "_00000000000000000000000000"
	for want, call := range map[string]func() error{
		`license "lic` + digits + `": not found`:     func() error { _, err := h.Service().Get(ctx, "lic"+digits); return err },
		`license: not found`:                         func() error { _, err := h.Service().Get(ctx, l.Key); return err },
		`activation "act` + digits + `": not found`:  func() error { return released(h, l.ID, "act"+digits) },
		`activation: not found`:                      func() error { return released(h, l.ID, l.Key) },
		`meter "exports": not found`:                 func() error { return corrected(h, l.ID, "exports") },
		`plan "pro": not found`:                      func() error { _, err := h.Selling().GetPlan(ctx, "pro"); return err },
		`delete plan: plan "pro": not found`:         func() error { return h.Selling().DeletePlan(ctx, api.DeletePlanParams{ID: "pro"}) },
		`purchase "in_1": not found`:                 func() error { _, err := h.Selling().GetPurchase(ctx, "in_1"); return err },
		`reopen: purchase "in_1": not found`:         func() error { return reopened(h, "in_1") },
		`webhook "whk` + digits + `": not found`:     func() error { _, err := h.Webhooks().Get(ctx, "whk"+digits); return err },
		`signing key "kid": not found`:               func() error { _, err := h.Files().RetireKey(ctx, "kid"); return err },
		`operator "opr` + digits + `": not found`:    func() error { _, err := h.Operators().Get(ctx, "opr"+digits); return err },
		`dead letter 7 of subscriber "x": not found`: func() error { return h.RetryDeadLetter(ctx, licensing.DeadLetter{Subscriber: "x", Seq: 7}) },
		`license key: not found`: func() error {
			_, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", Fingerprint: "pc-1"})
			return err
		},
		`claim license: license key: not found`: func() error {
			_, err := h.Service().Claim(ctx, api.ClaimLicenseParams{Key: "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", CustomerID: "ada"})
			return err
		},
	} {
		err := call()
		require.ErrorIs(t, err, api.ErrNotFound)
		require.Contains(t, err.Error()+"\n", want+"\n")
	}
}

func released(h *licensing.Handler, licenseID, id string) error {
	_, err := h.Service().ReleaseActivation(context.Background(), api.ReleaseActivationParams{LicenseID: licenseID, ActivationID: id})
	return err
}

func corrected(h *licensing.Handler, licenseID, meter string) error {
	_, err := h.Metering().CorrectUsage(context.Background(), api.CorrectUsageParams{LicenseID: licenseID, Meter: meter, Used: 1})
	return err
}

func reopened(h *licensing.Handler, reference string) error {
	_, err := h.Selling().ReopenPurchase(context.Background(), api.ReopenPurchaseParams{Reference: reference})
	return err
}

// TestKeysAndCodesAreNotRepeated: whatever door a license key, a code or a secret comes to
// that opens nothing, no error, no problem and no line of the log has it, or half of it.
func TestKeysAndCodesAreNotRepeated(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	admin := operator.Operator{ID: "ada", Email: "ada@example.com", Role: operator.RoleAdmin}
	c := newCaller(t, licensing.Options{
		Logger: logger, KeyHolderSeats: true, PortalURL: "https://acme.example/account/licenses/",
		Dashboard: licensing.DashboardOptions{Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { return admin, true }},
	})
	l, err := c.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada"})
	is.New(t).NoErr(err)
	portal := http.StripPrefix("/account", c.Handler.Portal(licensing.Portal{Customer: func(http.ResponseWriter, *http.Request) (string, bool) { return "ada", true }}))

	for _, value := range []string{"K7QXM-2VHTR-9WBND-4FZPJ-C8YGA", "WXKB-7MQT", "csk_Zq4mT8wVx2Lp9RkN6bYd3HfJ7sGc5QaE1uXo0iWv"} {
		hidden := func(door, text string) {
			t.Helper()
			for _, part := range []string{value[:len(value)/2], value[len(value)/2:]} {
				if strings.Contains(text, part) {
					t.Errorf("%s repeats %s: %s", door, part, text)
				}
			}
		}
		asked := 0
		ask := func(mount http.Handler, method, path, body, contentType string, header ...string) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+c.token)
			if body != "" {
				r.Header.Set("Content-Type", contentType)
			}
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			mount.ServeHTTP(w, r)
			asked++
			if w.Code >= 400 && contentType == "application/json" {
				hidden(method+" "+path, w.Body.String())
			}
			hidden("the log of "+method+" "+path, log.String())
			log.Reset()
		}

		parameter := regexp.MustCompile(`\{[^}]+\}`)
		for _, route := range endpoints.Routes(endpoints.Config{Auth: auth.New(memory.New(), auth.Options{}), Metadata: http.NotFoundHandler()}) {
			if strings.HasPrefix(route.Path, "/oauth") {
				continue
			}
			path := parameter.ReplaceAllLiteralString(route.Path, url.PathEscape(value))
			ask(c.mount, route.Method, path, "", "application/json")
			ask(c.mount, route.Method, path, `{}`, "application/json")
			ask(c.mount, route.Method, path, "", "application/json", "Authorization", "Bearer "+value)
			ask(c.mount, route.Method, strings.Replace(path, url.PathEscape(value), l.ID, 1), "", "application/json") // the ID of a part
		}
		for path, rest := range map[string]string{
			"validate": ``, "activate": `,"fingerprint":"pc-1"`, "deactivate": `,"fingerprint":"pc-1"`, "file": `,"fingerprint":"pc-1"`,
			"usage": `,"usage":[{"meter":"exports","id":"a","total":1}]`, "activation": ``,
		} {
			ask(c.mount, "POST", "/license/"+path, `{"key":"`+value+`"`+rest+`}`, "application/json", "Authorization", "")
		}
		ask(c.mount, "POST", "/license/link/poll", `{"secret":"`+value+`"}`, "application/json")
		ask(c.mount, "POST", "/license/link", `{"product_id":"atlas","fingerprint":"pc-1","code":"`+value+`"}`, "application/json")
		for _, path := range []string{"token", "revoke", "introspect"} {
			form := url.Values{"grant_type": {"client_credentials"}, "client_id": {value}, "client_secret": {value}, "token": {value}}.Encode()
			ask(c.mount, "POST", "/oauth/"+path, form, "application/x-www-form-urlencoded", "Authorization", "")
			ask(c.mount, "GET", "/oauth/token?"+form, "", "application/json", "Authorization", "")
		}

		escaped := url.PathEscape(value)
		for _, path := range []string{
			"licenses/" + escaped, "licenses/" + l.ID + "/activations/" + escaped + "/release", "settings/credentials/" + escaped, "settings/operators/" + escaped,
			"settings/webhooks/" + escaped, "settings/keys/" + escaped, "settings/plans/" + escaped, "setup?code=" + escaped, "invite?code=" + escaped, "licenses?q=" + escaped,
		} {
			ask(c.mount, "GET", "/dashboard/"+path, "", "")
			ask(c.mount, "POST", "/dashboard/"+path, url.Values{"key": {value}, "code": {value}}.Encode(), "application/x-www-form-urlencoded")
		}
		for _, path := range []string{escaped, "link?code=" + escaped} {
			ask(portal, "GET", "/account/"+path, "", "")
		}
		for _, path := range []string{"link", escaped + "/release", l.ID + "/release", l.ID + "/file", l.ID + "/request"} {
			form := url.Values{"code": {value}, "decision": {"approve"}, "license": {l.ID}, "activation": {value}, "request": {value}}
			ask(portal, "POST", "/account/"+path, form.Encode(), "application/x-www-form-urlencoded")
		}
		require.Greater(t, asked, 250)

		h, ctx := c.Handler, t.Context()
		for door, call := range map[string]func() error{
			"Get": func() error { _, err := h.Service().Get(ctx, value); return err },
			"Activate": func() error {
				_, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: value, Fingerprint: "pc-1"})
				return err
			},
			"Deactivate": func() error {
				_, err := h.Service().Deactivate(ctx, api.DeactivateKeyParams{Key: value, Fingerprint: "pc-1"})
				return err
			},
			"IssueFile": func() error {
				_, err := h.Service().IssueFile(ctx, api.IssueFileParams{Key: value, Fingerprint: "pc-1"})
				return err
			},
			"ListActivations": func() error {
				_, err := h.Service().ListActivations(ctx, api.ListActivationsParams{Key: value})
				return err
			},
			"ReleaseActivation": func() error { return released(h, l.ID, value) },
			"CountUsage": func() error {
				_, err := h.Metering().CountUsage(ctx, api.CountUsageParams{Key: value, Usage: []api.UsageReport{{Meter: "exports", ID: "a", Total: 1}}})
				return err
			},
			"Link": func() error { _, err := h.Service().Customer("ada").Link(ctx, value); return err },
			"ApproveLink": func() error {
				_, err := h.Service().Customer("ada").ApproveLink(ctx, api.ApproveLinkParams{Code: value, LicenseID: l.ID})
				return err
			},
			"DeclineLink":      func() error { return h.Service().Customer("ada").DeclineLink(ctx, value) },
			"AnswerRequest":    func() error { _, err := h.Service().Customer("ada").AnswerRequest(ctx, l.ID, value); return err },
			"GetClient":        func() error { _, err := h.Auth().GetClient(ctx, value); return err },
			"RevokeSecret":     func() error { _, err := h.Auth().RevokeSecret(ctx, c.client(t), value); return err },
			"Operator":         func() error { _, err := h.Operators().Get(ctx, value); return err },
			"RevokeInvitation": func() error { return h.Operators().RevokeInvitation(ctx, value) },
			"Webhook":          func() error { _, err := h.Webhooks().Get(ctx, value); return err },
		} {
			if err := call(); err == nil {
				t.Errorf("%s: no error", door)
			} else {
				hidden(door, err.Error())
			}
		}
		hidden("the log", log.String())
	}
}

// client returns the ID of a client.
func (c *caller) client(t *testing.T) string {
	client, _ := c.NewClient(auth.CreateClientParams{Name: "shop", Scopes: auth.Scopes()})
	return client.ID
}
