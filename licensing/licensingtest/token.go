package licensingtest

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// anonymous sends no token.
var anonymous = headers{"Authorization": ""}

// form sends an HTML form body without a token.
var form = headers{"Authorization": "", "Content-Type": "application/x-www-form-urlencoded"}

func basic(id, secret string) headers {
	return headers{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))}
}

// testTokens requests access tokens in every supported way.
func testTokens(a *site) {
	id, secret := a.Client.ID, a.Secret
	inQuery := url.Values{"client_id": {id}, "client_secret": {secret}}.Encode()
	grant := "grant_type=client_credentials"

	ways := []struct {
		name   string
		method string
		path   string
		body   string
		header headers
	}{
		{"GET with the credentials in the query", "GET", "oauth/token?" + inQuery, "", anonymous},
		{"GET with a grant type as well", "GET", "oauth/token?" + inQuery + "&" + grant, "", anonymous},
		{"GET with Basic", "GET", "oauth/token", "", basic(id, secret)},
		{"POST of a form with Basic", "POST", "oauth/token", grant, merge(form, basic(id, secret))},
		{"POST of a form with everything", "POST", "oauth/token", grant + "&" + inQuery, form},
		{"POST of JSON", "POST", "oauth/token", object("grant_type", "client_credentials", "client_id", id, "client_secret", secret), anonymous},
	}
	for _, way := range ways {
		a.test(way.name, func(a *site) {
			got := a.call(way.method, way.path, way.body, way.header).is(http.StatusOK).
				has("token_type", "Bearer").
				has("expires_in", 3600).
				has("refresh_token", nil).
				hasHeader("Cache-Control", "no-store").
				hasHeader("Pragma", "no-cache").
				hasHeader("Content-Type", "application/json")
			if scope := strings.Fields(got.text("scope")); len(scope) != len(auth.Scopes()) {
				got.errorf("scope should be all that the client has")
			}
			a.as(got.text("access_token")).get("license").is(http.StatusOK)
		})
	}

	a.test("a narrower scope", func(a *site) {
		got := a.post("oauth/token", grant+"&scope=license:read", merge(form, basic(id, secret))).is(http.StatusOK).
			has("scope", "license:read")
		reader := a.as(got.text("access_token"))
		reader.get("license").is(http.StatusOK)
		reader.post("license", licenseBody("n", "p", "c")).is(http.StatusForbidden)
	})

	refusals := []struct {
		name   string
		method string
		path   string
		body   string
		header headers
		status int
		code   string
	}{
		{"a wrong secret", "GET", "oauth/token?client_id=" + id + "&client_secret=wrong", "", anonymous, 401, "invalid_client"},
		{"an unknown client", "GET", "oauth/token?client_id=unknown&client_secret=wrong", "", anonymous, 401, "invalid_client"},
		{"no credentials", "GET", "oauth/token", "", anonymous, 401, "invalid_client"},
		{"a wrong secret in Basic", "POST", "oauth/token", grant, merge(form, basic(id, "wrong")), 401, "invalid_client"},
		{"a wrong secret in the body", "POST", "oauth/token", grant + "&client_id=" + id + "&client_secret=wrong", form, 400, "invalid_client"},
		{"Basic that is not base64", "POST", "oauth/token", grant, merge(form, headers{"Authorization": "Basic ?"}), 401, "invalid_client"},
		{"two methods of authentication", "POST", "oauth/token", grant + "&" + inQuery, merge(form, basic(id, secret)), 400, "invalid_request"},
		{"POST with the secret in the URL", "POST", "oauth/token?" + inQuery, grant, form, 400, "invalid_request"},
		{"a parameter twice", "GET", "oauth/token?" + inQuery + "&client_id=" + id, "", anonymous, 400, "invalid_request"},
		{"POST without a grant type", "POST", "oauth/token", inQuery, form, 400, "invalid_request"},
		{"another grant type", "POST", "oauth/token", "grant_type=password&" + inQuery, form, 400, "unsupported_grant_type"},
		{"an unknown scope", "POST", "oauth/token", grant + "&scope=everything&" + inQuery, form, 400, "invalid_scope"},
		{"a body that is not a form", "POST", "oauth/token", "hello", headers{"Authorization": "", "Content-Type": "text/plain"}, 400, "invalid_request"},
		{"JSON that is not an object", "POST", "oauth/token", "[]", anonymous, 400, "invalid_request"},
	}
	for _, refusal := range refusals {
		a.test(refusal.name, func(a *site) {
			got := a.call(refusal.method, refusal.path, refusal.body, refusal.header).is(refusal.status).
				has("error", refusal.code).
				has("access_token", nil).
				hasHeader("Cache-Control", "no-store")
			got.text("error_description")
			if strings.Contains(string(got.body), secret) {
				got.errorf("the answer repeats the secret")
			}
		})
	}

	a.test("an unknown client and a wrong secret look the same", func(a *site) {
		unknown := a.get("oauth/token?client_id=unknown&client_secret=wrong", anonymous)
		wrong := a.get("oauth/token?client_id="+id+"&client_secret=wrong", anonymous)
		if string(unknown.body) != string(wrong.body) {
			wrong.errorf("the body for an unknown client is %s", unknown.body)
		}
	})
	a.test("HEAD mints nothing", func(a *site) {
		a.call(http.MethodHead, "oauth/token?"+inQuery, "", anonymous).is(http.StatusMethodNotAllowed)
	})
}

// testBearer calls operations with valid and invalid tokens.
func testBearer(a *site) {
	id := a.create("n", "p", "c")
	token := a.Token()
	good := map[string]string{
		"Bearer":           "Bearer " + token,
		"the scheme small": "bearer " + token,
		"the scheme large": "BEARER " + token,
		"the bare token":   token,
	}
	for _, name := range []string{"Bearer", "the scheme small", "the scheme large", "the bare token"} {
		a.test(name, func(a *site) {
			a.get("license/"+id, headers{"Authorization": good[name]}).is(http.StatusOK)
		})
	}

	operations := []struct{ method, path, body string }{
		{"POST", "license", licenseBody("n", "p", "c")},
		{"GET", "license/" + id, ""},
		{"GET", "license/c", ""},
		{"GET", "license?customer_id=c", ""},
		{"PATCH", "license", licenseBody("n", "p", "c")},
		{"PATCH", "license/" + id, object("name", "other")},
		{"DELETE", "license/" + id, ""},
	}
	bad := []struct {
		name, authorization string
		code                string // of the challenge; empty: none
	}{
		{"no token", "", ""},
		{"another scheme", "Basic " + base64.StdEncoding.EncodeToString([]byte("a:b")), ""},
		{"a token of no one", "Bearer lat_" + strings.Repeat("0", 49), "invalid_token"},
		{"no token at all", "Bearer hello", "invalid_token"},
		{"a token with more behind", "Bearer " + token + " and more", "invalid_token"},
	}
	c, secret := a.NewClient(auth.CreateClientParams{Name: "reader", Scopes: []string{auth.ScopeLicenseRead}})
	readerToken, _ := a.NewToken(c.ID, secret)
	before := a.snapshot()
	for _, b := range bad {
		a.test(b.name, func(a *site) {
			for _, op := range operations {
				got := a.call(op.method, op.path, op.body, headers{"Authorization": b.authorization}).is(http.StatusUnauthorized)
				challenge := got.header.Get("WWW-Authenticate")
				if !strings.HasPrefix(challenge, `Bearer realm="`) || strings.Contains(challenge, "error=") != (b.code != "") || !strings.Contains(challenge, b.code) {
					got.errorf("the challenge should be for Bearer with error %q", b.code)
				}
			}
		})
	}
	a.test("two Authorization lines", func(a *site) {
		a.get("license/"+id, headers{"Authorization": "Bearer " + token + "\nBearer " + token}).is(http.StatusBadRequest)
	})
	a.test("a token in the query", func(a *site) {
		a.get("license/"+id+"?access_token="+token, anonymous).is(http.StatusUnauthorized)
	})
	a.test("a missing scope", func(a *site) {
		reader := a.as(readerToken)
		reader.get("license/" + id).is(http.StatusOK)
		for _, op := range operations {
			if op.method == "GET" {
				continue
			}
			got := reader.call(op.method, op.path, op.body).is(http.StatusForbidden)
			challenge := got.header.Get("WWW-Authenticate")
			if !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, `scope="license:write"`) {
				got.errorf("the challenge should say that license:write is missing")
			}
		}
	})
	a.same(before)

	a.test("a token that has ended", func(a *site) {
		a.Clock.Advance(time.Hour)
		got := a.get("license/"+id, headers{"Authorization": "Bearer " + token}).is(http.StatusUnauthorized)
		if !strings.Contains(got.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
			got.errorf("the challenge should say invalid_token")
		}
	})
	a.test("a client that was disabled", func(a *site) {
		c, secret := a.NewClient(auth.CreateClientParams{Name: "leaver"})
		token, _ := a.NewToken(c.ID, secret)
		a.as(token).get("license/" + id).is(http.StatusOK)
		yes := true
		if _, err := a.Handler.Auth().UpdateClient(a.t.Context(), auth.UpdateClientParams{ID: c.ID, Disabled: &yes}); err != nil {
			a.t.Fatal(err)
		}
		a.as(token).get("license/" + id).is(http.StatusUnauthorized)
		a.get("oauth/token", basic(c.ID, secret)).is(http.StatusUnauthorized)
	})
}

// merge returns the headers of both; the second takes precedence.
func merge(first, second headers) headers {
	all := maps.Clone(first)
	maps.Copy(all, second)
	return all
}
