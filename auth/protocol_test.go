package auth

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A row is a request and its complete answer: tok is the token endpoint, rev is
// revocation, int is introspection, bea is the use of tokens, and met is the
// metadata.
//
// Names in braces stand for values of the service of the row; see name. In the
// answer, credentials are masked.
type row struct {
	id, name string
	prepare  func(testing.TB, *issuer)
	options  func(*Options)

	method, target string   // "" is POST to the endpoint of the id's prefix
	send           []string // header lines; a form's Content-Type is added to a POST that has none
	body           string

	status int
	want   []string // header lines; one that ends in a colon must be absent
	answer string
}

const (
	grant = "grant_type=client_credentials"
	creds = "&client_id={id}&client_secret={secret}"

	tokenAnswer   = `{"access_token":"lat_*","token_type":"Bearer","expires_in":3600,"scope":"license:read license:write"}`
	badClient     = `{"error":"invalid_client","error_description":"The client ID or the client secret is wrong."}`
	badGrant      = `{"error":"unsupported_grant_type","error_description":"The grant_type must be client_credentials."}`
	beyondScope   = `{"error":"invalid_scope","error_description":"The scope exceeds the scopes of the client."}`
	badScope      = `{"error":"invalid_scope","error_description":"The scope must be names separated by single spaces."}`
	notObject     = `{"error":"invalid_request","error_description":"The body is not a JSON object."}`
	notForm       = `{"error":"invalid_request","error_description":"The parameters are not in the form application/x-www-form-urlencoded."}`
	twoWays       = `{"error":"invalid_request","error_description":"The request has credentials in more than one place; send them once."}`
	inURL         = `{"error":"invalid_request","error_description":"Send the parameters of a POST request in its body, not in the URL."}`
	wrongType     = `{"error":"invalid_request","error_description":"The Content-Type must be application/x-www-form-urlencoded or application/json."}`
	tooLarge      = `{"error":"invalid_request","error_description":"The body is larger than 16384 bytes."}`
	noGrantType   = `{"error":"invalid_request","error_description":"The parameter grant_type is missing; it must be client_credentials."}`
	noTokenParam  = `{"error":"invalid_request","error_description":"The parameter token is missing."}`
	unavailable   = `{"error":"temporarily_unavailable","error_description":"The service is temporarily unavailable; try again soon."}`
	tooMany       = `{"error":"rate_limited","error_description":"Too many failed attempts; check the credentials of the client and try again later."}`
	getOrPost     = `{"error":"invalid_request","error_description":"The method must be GET or POST."}`
	onlyPost      = `{"error":"invalid_request","error_description":"The method must be POST."}`
	inactive      = `{"active":false}`
	basicDemand   = `WWW-Authenticate: Basic realm="licensing", charset="UTF-8"`
	noDemand      = "WWW-Authenticate:"
	jsonType      = "Content-Type: application/json"
	problemAnswer = `{"type":"about:blank","title":"%s","status":%d,"detail":"%s","code":"%s"}`

	noToken     = "The request has no access token; get one from the token endpoint and send it in the Authorization header as Bearer."
	uselessOne  = "The access token is unknown, expired or revoked; get a new one."
	tokenTwice  = "The request also has an access token in its URL; send it in the Authorization header only."
	headerTwice = "The request has more than one Authorization header."
	lacksScope  = "The access token does not have the scope event:read."
)

func bearerDemand(code, detail string) string {
	return `WWW-Authenticate: Bearer realm="licensing", error="` + code + `", error_description="` + detail + `"`
}

var tokenRows = []row{
	{id: "tok-01", name: "POST form with Basic", send: []string{"Authorization: {basic}"}, body: grant, status: 200, want: []string{noDemand, "Allow:"}, answer: tokenAnswer},
	{id: "tok-02", name: "POST form with credentials in the body", body: grant + creds, status: 200, answer: tokenAnswer},
	{id: "tok-03", name: "POST JSON object", send: []string{jsonType}, body: `{"grant_type":"client_credentials","client_id":"{id}","client_secret":"{secret}"}`, status: 200, answer: tokenAnswer},
	{id: "tok-04", name: "POST JSON object with Basic", send: []string{jsonType, "Authorization: {basic}"}, body: `{"grant_type":"client_credentials"}`, status: 200, answer: tokenAnswer},
	{id: "tok-05", name: "GET with credentials in the query, as specified", method: "GET", target: "/oauth/token?client_id={id}&client_secret={secret}", status: 200, want: []string{"Referrer-Policy: no-referrer"}, answer: tokenAnswer},
	{id: "tok-06", name: "GET with Basic", method: "GET", target: "/oauth/token", send: []string{"Authorization: {basic}"}, status: 200, want: []string{"Referrer-Policy: no-referrer"}, answer: tokenAnswer},
	{id: "tok-07", name: "GET with grant_type", method: "GET", target: "/oauth/token?" + grant + creds, status: 200, answer: tokenAnswer},
	{id: "tok-08", name: "GET with another grant_type", method: "GET", target: "/oauth/token?grant_type=password" + creds, status: 400, want: []string{"Referrer-Policy: no-referrer"}, answer: badGrant},
	{id: "tok-09", name: "GET with Basic and credentials in the query", method: "GET", target: "/oauth/token?client_id={id}&client_secret={secret}", send: []string{"Authorization: {basic}"}, status: 400, answer: twoWays},
	{id: "tok-10", name: "GET that is disabled", options: func(o *Options) { o.Tokens.DisableGET = true }, method: "GET", target: "/oauth/token?client_id={id}&client_secret={secret}", status: 405, want: []string{"Allow: POST"}, answer: onlyPost},
	{id: "tok-11", name: "HEAD issues nothing", method: "HEAD", target: "/oauth/token?client_id={id}&client_secret={secret}", status: 405, want: []string{"Allow: GET, POST"}},
	{id: "tok-12", name: "PUT", method: "PUT", target: "/oauth/token", body: grant + creds, status: 405, want: []string{"Allow: GET, POST"}, answer: getOrPost},
	{id: "tok-13", name: "OPTIONS, without CORS headers", method: "OPTIONS", target: "/oauth/token", send: []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, status: 405, want: []string{"Allow: GET, POST", "Access-Control-Allow-Origin:"}, answer: getOrPost},
	{id: "tok-14", name: "POST with the secret in the URL", target: "/oauth/token?client_secret={secret}", body: grant + "&client_id={id}", status: 400, answer: inURL},
	{id: "tok-15", name: "POST with Basic and a client_id in the URL", target: "/oauth/token?client_id={id}", send: []string{"Authorization: {basic}"}, body: grant, status: 400, answer: inURL},
	{id: "tok-16", name: "POST with Basic and a secret in the body", send: []string{"Authorization: {basic}"}, body: grant + creds, status: 400, answer: twoWays},
	{id: "tok-17", name: "POST with Basic and the same client_id in the body", send: []string{"Authorization: {basic}"}, body: grant + "&client_id={id}", status: 200, answer: tokenAnswer},
	{id: "tok-18", name: "POST with Basic and another client_id in the body", send: []string{"Authorization: {basic}"}, body: grant + "&client_id={unknown}", status: 400, answer: `{"error":"invalid_request","error_description":"The client_id differs from the one in the Authorization header."}`},
	{id: "tok-19", name: "two Authorization lines", send: []string{"Authorization: {basic}", "Authorization: {basic}"}, body: grant, status: 400, answer: twoWays},
	{id: "tok-20", name: "a known parameter twice in a form", body: grant + "&scope=license:read&scope=license:read" + creds, status: 400, answer: `{"error":"invalid_request","error_description":"The parameter scope must not be repeated."}`},
	{id: "tok-21", name: "a known parameter twice in JSON", send: []string{jsonType}, body: `{"grant_type":"client_credentials","client_id":"{id}","client_id":"{id}","client_secret":"{secret}"}`, status: 400, answer: `{"error":"invalid_request","error_description":"The parameter client_id must not be repeated."}`},
	{id: "tok-22", name: "a known parameter twice in the query", method: "GET", target: "/oauth/token?client_id={id}&client_secret={secret}&client_id={id}", status: 400, answer: `{"error":"invalid_request","error_description":"The parameter client_id must not be repeated."}`},
	{id: "tok-23", name: "POST without grant_type", body: creds[1:], status: 400, answer: noGrantType},
	{id: "tok-24", name: "an empty grant_type counts as absent", body: "grant_type=" + creds, status: 400, answer: noGrantType},
	{id: "tok-25", name: "another grant_type", body: "grant_type=authorization_code&code=x" + creds, status: 400, answer: badGrant},
	{id: "tok-26", name: "an unknown client", body: grant + "&client_id={unknown}&client_secret={secret}", status: 400, want: []string{noDemand}, answer: badClient},
	{id: "tok-27", name: "a wrong secret", body: grant + "&client_id={id}&client_secret={wrong}", status: 400, want: []string{noDemand}, answer: badClient},
	{id: "tok-28", name: "an expired secret", prepare: rotated(time.Minute, time.Minute), body: grant + creds, status: 400, want: []string{noDemand}, answer: badClient},
	{id: "tok-29", name: "a disabled client", prepare: disabled, body: grant + creds, status: 400, want: []string{noDemand}, answer: badClient},
	{id: "tok-30", name: "no credentials", body: grant, status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-31", name: "a client_id alone", body: grant + "&client_id={id}", status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-32", name: "an empty secret counts as absent", body: grant + "&client_id={id}&client_secret=", status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-33", name: "Basic that is not base64", send: []string{"Authorization: Basic !!!"}, body: grant, status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-34", name: "Basic without a colon", send: []string{"Authorization: Basic {nocolon}"}, body: grant, status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-35", name: "Basic with a broken percent-escape", send: []string{"Authorization: Basic {badescape}"}, body: grant, status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-36", name: "Basic that is percent-encoded throughout", send: []string{"Authorization: Basic {encoded}"}, body: grant, status: 200, answer: tokenAnswer},
	{id: "tok-37", name: "the scheme in another case", send: []string{"Authorization: {bASIC}"}, body: grant, status: 200, answer: tokenAnswer},
	{id: "tok-38", name: "another scheme", send: []string{"Authorization: Bearer {token}"}, body: grant, status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-39", name: "GET without credentials", method: "GET", target: "/oauth/token", status: 401, want: []string{basicDemand, "Referrer-Policy: no-referrer"}, answer: badClient},
	{id: "tok-40", name: "a part of the scope", body: grant + "&scope=license:read" + creds, status: 200, answer: `{"access_token":"lat_*","token_type":"Bearer","expires_in":3600,"scope":"license:read"}`},
	{id: "tok-41", name: "the scope in another order and repeated", body: grant + "&scope=license:write+license:read+license:write" + creds, status: 200, answer: tokenAnswer},
	{id: "tok-42", name: "an empty scope counts as absent", body: grant + "&scope=" + creds, status: 200, answer: tokenAnswer},
	{id: "tok-43", name: "a scope beyond the client's", body: grant + "&scope=license:read+event:read" + creds, status: 400, want: []string{noDemand}, answer: beyondScope},
	{id: "tok-44", name: "a scope that does not exist", body: grant + "&scope=everything" + creds, status: 400, answer: beyondScope},
	{id: "tok-45", name: "a scope with two spaces", body: grant + "&scope=license:read++license:write" + creds, status: 400, answer: badScope},
	{id: "tok-46", name: "a scope with a quotation mark", body: grant + "&scope=%22" + creds, status: 400, answer: badScope},
	{id: "tok-47", name: "unknown parameters are ignored", body: grant + "&resource=x&resource=y" + creds, status: 200, answer: tokenAnswer},
	{id: "tok-48", name: "unknown members are ignored", send: []string{jsonType}, body: `{"resource":[1,{"a":null}],"resource":2,"Scope":"x","grant_type":"client_credentials","client_id":"{id}","client_secret":"{secret}"}`, status: 200, answer: tokenAnswer},
	{id: "tok-49", name: "unknown parameters in the URL of a POST are ignored", target: "/oauth/token?v=2", body: grant + creds, status: 200, answer: tokenAnswer},
	{id: "tok-50", name: "another content type", send: []string{"Content-Type: text/plain"}, body: grant + creds, status: 400, answer: wrongType},
	{id: "tok-51", name: "no content type", send: []string{"Content-Type: "}, body: grant + creds, status: 400, answer: wrongType},
	{id: "tok-52", name: "a charset parameter is fine", send: []string{formType + "; charset=UTF-8"}, body: grant + creds, status: 200, answer: tokenAnswer},
	{id: "tok-53", name: "a charset parameter on JSON is fine", send: []string{jsonType + ";charset=utf-8"}, body: `{"grant_type":"client_credentials","client_id":"{id}","client_secret":"{secret}"}`, status: 200, answer: tokenAnswer},
	{id: "tok-54", name: "a body over 16 KiB", body: grant + creds + "&pad=" + strings.Repeat("x", 16<<10), status: 413, answer: tooLarge},
	{id: "tok-55", name: "a body coding", send: []string{"Content-Encoding: gzip"}, body: grant + creds, status: 400, answer: `{"error":"invalid_request","error_description":"The body must not have a Content-Encoding."}`},
	{id: "tok-56", name: "a broken form", body: grant + creds + "&x=%zz", status: 400, answer: notForm},
	{id: "tok-57", name: "broken JSON", send: []string{jsonType}, body: `{"grant_type":`, status: 400, answer: notObject},
	{id: "tok-58", name: "a JSON array", send: []string{jsonType}, body: `["grant_type"]`, status: 400, answer: notObject},
	{id: "tok-59", name: "JSON followed by more data", send: []string{jsonType}, body: `{"grant_type":"client_credentials"}{}`, status: 400, answer: notObject},
	{id: "tok-60", name: "a known member that is no string", send: []string{jsonType}, body: `{"grant_type":null}`, status: 400, answer: `{"error":"invalid_request","error_description":"The member grant_type must be a string."}`},
	{id: "tok-61", name: "JSON that is not UTF-8", send: []string{jsonType}, body: "{\"x\":\"\xff\"}", status: 400, answer: notObject},
	{id: "tok-62", name: "an empty JSON body", send: []string{jsonType}, status: 400, answer: notObject},
	{id: "tok-63", name: "too many failures", prepare: failing("{id}"), body: grant + "&client_id={id}&client_secret={wrong}", status: 429, want: []string{"Retry-After: 3", noDemand}, answer: tooMany},
	{id: "tok-64", name: "too many failures of a client that does not exist", prepare: failing("{unknown}"), body: grant + "&client_id={unknown}&client_secret={wrong}", status: 429, want: []string{"Retry-After: 3", noDemand}, answer: tooMany},
	{id: "tok-65", name: "the right secret after too many failures", prepare: failing("{id}"), body: grant + creds, status: 200, answer: tokenAnswer},
	{id: "tok-66", name: "the store is down", prepare: storeDown, body: grant + creds, status: 503, want: []string{"Retry-After: 5", noDemand}, answer: unavailable},
	{id: "tok-67", name: "the old secret while a rotation overlaps", prepare: rotated(time.Hour, time.Minute), body: grant + creds, status: 200, answer: tokenAnswer},
	{id: "tok-68", name: "the old secret after a rotation without overlap", prepare: rotated(0, 0), body: grant + creds, status: 400, want: []string{noDemand}, answer: badClient},
	{id: "tok-69", name: "a wrong secret in JSON", send: []string{jsonType}, body: `{"grant_type":"client_credentials","client_id":"{id}","client_secret":"{wrong}"}`, status: 400, want: []string{noDemand}, answer: badClient},
	{id: "tok-70", name: "a wrong secret in Basic", send: []string{"Authorization: Basic {wrongbasic}"}, body: grant, status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "tok-71", name: "a wrong secret in the query", method: "GET", target: "/oauth/token?client_id={id}&client_secret={wrong}", status: 401, want: []string{basicDemand}, answer: badClient},
}

var revokeRows = []row{
	{id: "rev-01", name: "an own token", body: "token={token}" + creds, status: 200, answer: "{}"},
	{id: "rev-02", name: "an own token, with Basic", send: []string{"Authorization: {basic}"}, body: "token={token}", status: 200, answer: "{}"},
	{id: "rev-03", name: "a token that was revoked before", prepare: revoked, body: "token={token}" + creds, status: 200, answer: "{}"},
	{id: "rev-04", name: "an unknown token", body: "token={nottoken}" + creds, status: 200, answer: "{}"},
	{id: "rev-05", name: "garbage", body: "token=garbage" + creds, status: 200, answer: "{}"},
	{id: "rev-06", name: "another client's token", body: "token={foreign}" + creds, status: 200, answer: "{}"},
	{id: "rev-07", name: "no token", body: creds[1:], status: 400, answer: noTokenParam},
	{id: "rev-08", name: "an empty token", body: "token=" + creds, status: 400, answer: noTokenParam},
	{id: "rev-09", name: "a type hint, good or bad, is ignored", body: "token={token}&token_type_hint=nonsense" + creds, status: 200, answer: "{}"},
	{id: "rev-10", name: "a wrong secret", body: "token={token}&client_id={id}&client_secret={wrong}", status: 400, want: []string{noDemand}, answer: badClient},
	{id: "rev-11", name: "no credentials", body: "token={token}", status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "rev-12", name: "GET", method: "GET", target: "/oauth/revoke?token={token}" + creds, status: 405, want: []string{"Allow: POST"}, answer: onlyPost},
	{id: "rev-13", name: "the token in the URL", target: "/oauth/revoke?token={token}", body: creds[1:], status: 400, answer: inURL},
	{id: "rev-14", name: "two tokens", body: "token={token}&token={foreign}" + creds, status: 400, answer: `{"error":"invalid_request","error_description":"The parameter token must not be repeated."}`},
	{id: "rev-15", name: "JSON", send: []string{jsonType}, body: `{"token":"{token}","client_id":"{id}","client_secret":"{secret}"}`, status: 200, answer: "{}"},
	{id: "rev-16", name: "too many failures", prepare: failing("{id}"), body: "token={token}&client_id={id}&client_secret={wrong}", status: 429, want: []string{"Retry-After: 3"}, answer: tooMany},
	{id: "rev-17", name: "the store is down", prepare: storeDown, body: "token={token}" + creds, status: 503, want: []string{"Retry-After: 5"}, answer: unavailable},
}

var introspectRows = []row{
	{id: "int-01", name: "an own live token", body: "token={token}" + creds, status: 200, answer: `{"active":true,"scope":"license:read license:write","client_id":"cid_*","sub":"cid_*","token_type":"Bearer","exp":1767326645,"iat":1767323045}`},
	{id: "int-02", name: "an expired token", prepare: after(time.Hour), body: "token={token}" + creds, status: 200, answer: inactive},
	{id: "int-03", name: "a revoked token", prepare: revoked, body: "token={token}" + creds, status: 200, answer: inactive},
	{id: "int-04", name: "another client's token", body: "token={foreign}" + creds, status: 200, answer: inactive},
	{id: "int-05", name: "another client's token, with the scope for it", body: "token={token}&client_id={auditor}&client_secret={auditorsecret}", status: 200, answer: `{"active":true,"scope":"license:read license:write","client_id":"cid_*","sub":"cid_*","token_type":"Bearer","exp":1767326645,"iat":1767323045}`},
	{id: "int-06", name: "an unknown token", body: "token={nottoken}" + creds, status: 200, answer: inactive},
	{id: "int-07", name: "garbage", body: "token=%00garbage" + creds, status: 200, answer: inactive},
	{id: "int-08", name: "no token", body: creds[1:], status: 400, answer: noTokenParam},
	{id: "int-09", name: "a wrong secret", body: "token={token}&client_id={id}&client_secret={wrong}", status: 400, want: []string{noDemand}, answer: badClient},
	{id: "int-10", name: "a bearer token for credentials", send: []string{"Authorization: Bearer {token}"}, body: "token={token}", status: 401, want: []string{basicDemand}, answer: badClient},
	{id: "int-11", name: "GET", method: "GET", target: "/oauth/introspect", status: 405, want: []string{"Allow: POST"}, answer: onlyPost},
	{id: "int-12", name: "the store is down", prepare: storeDown, body: "token={token}" + creds, status: 503, want: []string{"Retry-After: 5"}, answer: unavailable},
	{id: "int-13", name: "a token of a client that is disabled", prepare: disabled, body: "token={token}&client_id={auditor}&client_secret={auditorsecret}", status: 200, answer: inactive},
}

var bearerRows = []row{
	{id: "bea-01", name: "a good token", send: []string{"Authorization: Bearer {token}"}, status: 200, answer: "true cid_* [license:read license:write] []"},
	{id: "bea-02", name: "no Authorization", status: 401, want: []string{`WWW-Authenticate: Bearer realm="licensing"`}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, noToken, "unauthorized")},
	{id: "bea-03", name: "another scheme", send: []string{"Authorization: {basic}"}, status: 401, want: []string{`WWW-Authenticate: Bearer realm="licensing"`}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, noToken, "unauthorized")},
	{id: "bea-04", name: "the bare token", send: []string{"Authorization: {token}"}, status: 200, answer: "true cid_* [license:read license:write] []"},
	{id: "bea-05", name: "an unknown token", send: []string{"Authorization: Bearer {nottoken}"}, status: 401, want: []string{bearerDemand("invalid_token", uselessOne)}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, uselessOne, "invalid_token")},
	{id: "bea-06", name: "a malformed token", send: []string{"Authorization: Bearer {token}x"}, status: 401, want: []string{bearerDemand("invalid_token", uselessOne)}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, uselessOne, "invalid_token")},
	{id: "bea-07", name: "the scheme without a token", send: []string{"Authorization: Bearer"}, status: 401, want: []string{bearerDemand("invalid_token", uselessOne)}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, uselessOne, "invalid_token")},
	{id: "bea-08", name: "an expired token", prepare: after(time.Hour), send: []string{"Authorization: Bearer {token}"}, status: 401, want: []string{bearerDemand("invalid_token", uselessOne)}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, uselessOne, "invalid_token")},
	{id: "bea-09", name: "a token in its last millisecond", prepare: after(time.Hour - time.Millisecond), send: []string{"Authorization: Bearer {token}"}, status: 200, answer: "true cid_* [license:read license:write] []"},
	{id: "bea-10", name: "a revoked token", prepare: revoked, send: []string{"Authorization: Bearer {token}"}, status: 401, want: []string{bearerDemand("invalid_token", uselessOne)}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, uselessOne, "invalid_token")},
	{id: "bea-11", name: "a token of a disabled client", prepare: disabled, send: []string{"Authorization: Bearer {token}"}, status: 401, want: []string{bearerDemand("invalid_token", uselessOne)}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, uselessOne, "invalid_token")},
	{id: "bea-12", name: "a scope is missing", target: "/events", send: []string{"Authorization: Bearer {token}"}, status: 403, want: []string{bearerDemand("insufficient_scope", lacksScope) + `, scope="event:read"`}, answer: fmt.Sprintf(problemAnswer, "Forbidden", 403, lacksScope, "insufficient_scope")},
	{id: "bea-13", name: "two Authorization lines", send: []string{"Authorization: Bearer {token}", "Authorization: Bearer {token}"}, status: 400, want: []string{bearerDemand("invalid_request", headerTwice)}, answer: fmt.Sprintf(problemAnswer, "Bad Request", 400, headerTwice, "invalid_request")},
	{id: "bea-14", name: "the token also in the query", target: "/read?access_token={token}", send: []string{"Authorization: Bearer {token}"}, status: 400, want: []string{bearerDemand("invalid_request", tokenTwice)}, answer: fmt.Sprintf(problemAnswer, "Bad Request", 400, tokenTwice, "invalid_request")},
	{id: "bea-15", name: "the token also in the query, its name encoded", target: "/read?access%5Ftoken={token}", send: []string{"Authorization: Bearer {token}"}, status: 400, want: []string{bearerDemand("invalid_request", tokenTwice)}, answer: fmt.Sprintf(problemAnswer, "Bad Request", 400, tokenTwice, "invalid_request")},
	{id: "bea-16", name: "the token only in the query", target: "/read?access_token={token}", status: 401, want: []string{`WWW-Authenticate: Bearer realm="licensing"`}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, noToken, "unauthorized")},
	{id: "bea-17", name: "the token only in a form", method: "POST", target: "/read", body: "access_token={token}", status: 401, want: []string{`WWW-Authenticate: Bearer realm="licensing"`}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, noToken, "unauthorized")},
	{id: "bea-18", name: "bearer", send: []string{"Authorization: bearer {token}"}, status: 200, answer: "true cid_* [license:read license:write] []"},
	{id: "bea-19", name: "BEARER and more spaces", send: []string{"Authorization: BEARER   {token}"}, status: 200, answer: "true cid_* [license:read license:write] []"},
	{id: "bea-20", name: "a secret for a token", send: []string{"Authorization: Bearer {secret}"}, status: 401, want: []string{bearerDemand("invalid_token", uselessOne)}, answer: fmt.Sprintf(problemAnswer, "Unauthorized", 401, uselessOne, "invalid_token")},
	{id: "bea-21", name: "the store is down", prepare: storeDown, send: []string{"Authorization: Bearer {token}"}, status: 503, want: []string{"Retry-After: 5", noDemand}, answer: fmt.Sprintf(problemAnswer, "Service Unavailable", 503, "The service is temporarily unavailable; try again soon.", "unavailable")},
}

var metadataRows = []row{
	{id: "met-01", name: "the document", status: 200, want: []string{jsonType, "Cache-Control: public, max-age=3600"}, answer: `{"issuer":"https://host.example/licensing","token_endpoint":"https://host.example/licensing/oauth/token","revocation_endpoint":"https://host.example/licensing/oauth/revoke","introspection_endpoint":"https://host.example/licensing/oauth/introspect","grant_types_supported":["client_credentials"],"response_types_supported":[],"scopes_supported":["license:read","license:write","event:read","webhook:write","customer:write","sales:read","token:introspect"],"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post"],"revocation_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post"],"introspection_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post"]}`},
	{id: "met-02", name: "HEAD", method: "HEAD", target: "/metadata", status: 200, want: []string{jsonType}},
	{id: "met-03", name: "POST", method: "POST", target: "/metadata", status: 405, want: []string{"Allow: GET, HEAD"}, answer: fmt.Sprintf(problemAnswer, "Method Not Allowed", 405, "The method must be GET or HEAD.", "method_not_allowed")},
	{id: "met-04", name: "without a public address", target: "/nowhere", status: 404, answer: fmt.Sprintf(problemAnswer, "Not Found", 404, "There is no metadata because the public URL of the service is not set.", "not_found")},
	{id: "met-05", name: "an unknown parameter", target: "/metadata?unknown=1", status: 400, answer: fmt.Sprintf(problemAnswer, "Bad Request", 400, "This request has no parameters; omit the query.", "invalid_request")},
	{id: "met-06", name: "a body", body: "{}", status: 400, answer: fmt.Sprintf(problemAnswer, "Bad Request", 400, "This request does not take a body; omit it.", "unexpected_body")},
}

// endpoints has the default endpoint for the rows of a prefix, and the headers of
// each of their answers.
var endpoints = map[string]struct {
	method, target string
	always         []string
}{
	"tok": {"POST", "/oauth/token", []string{jsonType, "Cache-Control: no-store", "Pragma: no-cache"}},
	"rev": {"POST", "/oauth/revoke", []string{jsonType, "Cache-Control: no-store", "Pragma: no-cache"}},
	"int": {"POST", "/oauth/introspect", []string{jsonType, "Cache-Control: no-store", "Pragma: no-cache"}},
	"bea": {"GET", "/read", nil},
	"met": {"GET", "/metadata", nil},
}

func TestProtocol(t *testing.T) {
	rows := slices.Concat(tokenRows, revokeRows, introspectRows, bearerRows, metadataRows)
	for i, row := range rows {
		prefix, number, _ := strings.Cut(row.id, "-")
		if want := "01"; (i == 0 || !strings.HasPrefix(rows[i-1].id, prefix)) && number != want {
			t.Errorf("%s: the rows of a table begin with %s", row.id, want)
		} else if number != want && rows[i-1].id >= row.id {
			t.Errorf("%s comes after %s", row.id, rows[i-1].id)
		}
		t.Run(row.id+" "+row.name, func(t *testing.T) { row.run(t, prefix) })
	}
}

var printable = regexp.MustCompile(`^[ !#-[\]-~]*$`)

var credential = regexp.MustCompile(`(cid|csk|lat)_[0-9A-Za-z]{49}`)

func (row row) run(t *testing.T, prefix string) {
	is := is.New(t)
	edit := row.options
	if edit == nil {
		edit = func(*Options) {}
	}
	s := newIssuer(t, edit)
	s.name(t)
	if row.prepare != nil {
		row.prepare(t, s)
	}

	place := endpoints[prefix]
	method, target := row.method, row.target
	if method == "" {
		method = place.method
	}
	if target == "" {
		target = place.target
	}
	lines := slices.Clone(row.send)
	if method == "POST" && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Content-Type:") }) {
		lines = append(lines, formType)
	}
	for i := range lines {
		lines[i] = s.names.Replace(lines[i])
	}
	got := s.send(t, method, s.names.Replace(target), s.names.Replace(row.body), lines...)

	is.Equal(got.status, row.status)
	is.Equal(credential.ReplaceAllString(got.body, "${1}_*"), row.answer)
	for _, line := range append(slices.Clone(place.always), row.want...) {
		name, value, _ := strings.Cut(line, ":")
		is.Equal(name+": "+got.header.Get(name), name+": "+strings.TrimPrefix(value, " "))
	}
	if row.status >= 400 {
		_, description, _ := strings.Cut(got.body, `"error_description":"`)
		require.Matches(t, strings.TrimSuffix(description, `"}`), printable) // RFC 6749 section 5.2
		for _, secret := range credential.FindAllString(s.names.Replace(row.body+target+strings.Join(lines, " ")), -1) {
			require.NotContains(t, got.body+fmt.Sprint(got.header)+s.log.String(), secret) // nothing is echoed or logged
		}
	}
}

// name creates the values of the names in braces.
func (s *issuer) name(t testing.TB) {
	t.Helper()
	is := is.New(t)
	other, otherSecret, err := s.CreateClient(t.Context(), CreateClientParams{Name: "other"})
	is.NoErr(err)
	auditor, auditorSecret, err := s.CreateClient(t.Context(), CreateClientParams{Name: "auditor", Scopes: []string{ScopeTokenIntrospect}})
	is.NoErr(err)
	encoded := ""
	for _, c := range []byte(s.client.ID + ":" + s.secret) {
		if c == ':' {
			encoded += ":"
		} else {
			encoded += fmt.Sprintf("%%%02x", c)
		}
	}
	b64 := base64.StdEncoding.EncodeToString
	values := map[string]string{
		"id": s.client.ID, "secret": s.secret, "token": s.token(t, s.client.ID, s.secret),
		"unknown": newCredential(clientPrefix), "wrong": newCredential(secretPrefix), "nottoken": newCredential(tokenPrefix),
		"foreign": s.token(t, other.ID, otherSecret),
		"auditor": auditor.ID, "auditorsecret": auditorSecret,
		"basic": basic(s.client.ID, s.secret), "bASIC": strings.Replace(basic(s.client.ID, s.secret), "Basic", "bASIC", 1),
		"wrongbasic": b64([]byte(s.client.ID + ":wrong")), "nocolon": b64([]byte(s.client.ID + s.secret)), "encoded": b64([]byte(encoded)),
		"badescape": b64([]byte(s.client.ID + ":" + s.secret + "%zz")),
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, "{"+name+"}", values[name])
	}
	s.names = strings.NewReplacer(pairs...)
}

// The functions that prepare the service of a row.

func disabled(t testing.TB, s *issuer) {
	is := is.New(t)
	_, err := s.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Disabled: new(true)})
	is.NoErr(err)
}

func rotated(overlap, wait time.Duration) func(testing.TB, *issuer) {
	return func(t testing.TB, s *issuer) {
		is := is.New(t)
		_, _, err := s.RotateSecret(t.Context(), RotateSecretParams{ClientID: s.client.ID, Overlap: overlap})
		is.NoErr(err)
		s.turn(wait)
	}
}

func after(d time.Duration) func(testing.TB, *issuer) {
	return func(_ testing.TB, s *issuer) { s.turn(d) }
}

func storeDown(_ testing.TB, s *issuer) {
	err := fmt.Errorf("disk: %w", store.ErrUnavailable)
	s.st.broken.Store(&err)
}

func revoked(t testing.TB, s *issuer) {
	form := url.Values{"token": {s.names.Replace("{token}")}, "client_id": {s.client.ID}, "client_secret": {s.secret}}
	if a := s.send(t, "POST", "/oauth/revoke", form.Encode(), formType); a.status != 200 {
		t.Fatal(a)
	}
}

// failing makes a client fail as often as it may.
func failing(id string) func(testing.TB, *issuer) {
	return func(t testing.TB, s *issuer) {
		for range 20 {
			if a := s.ask(t, s.names.Replace(id), s.names.Replace("{wrong}")); a.status != 400 {
				t.Fatal(a)
			}
		}
	}
}
