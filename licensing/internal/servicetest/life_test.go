package servicetest

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// lives are the situations of a license's life: moves, verdicts, seats, and the
// way in and out.
var lives = map[string]string{
	"life-01": "a move answers with the license and its new ETag",
	"life-02": "a move that the state forbids: 409 with from and to",
	"life-03": "a move obeys If-Match and Idempotency-Key",
	"life-04": "renewing needs one later end, by date or by calendar",
	"life-05": "a replaced key opens nothing",
	"life-06": "validating asks for no token, and is 200 for every key",
	"life-07": "an unknown key: the same bytes after the same calls of the store, and up to three look-ups more by the text alone",
	"life-08": "too many requests with one key, known or not, or from one address: 429",
	"life-09": "activating again is the same seat; a full license is 409 with the verdict",
	"life-10": "deactivating frees the seat, once; what holds none is 404",
	"life-11": "a client lists seats and frees them",
	"life-12": "with a key, all seats are seen and freed only where the options allow it",
	"life-13": "a verdict at any instant writes nothing",
	"life-14": "import and export go line by line, within bounds",
	"life-15": "the three specified fields make a usable license",
	"life-16": "no key goes into a log or an event",
	"life-17": "what narrows a question or a change may be left out, and not be empty: 422",
}

func init() {
	maps.Copy(situations, lives)
	protocolCases = append(protocolCases, lifeCases...)
}

// keyOf returns the key of a license.
func (c *caller) keyOf(id string) string {
	c.t.Helper()
	return c.do("GET", "/license/"+id, "").json["key"].(string)
}

// withKey sends a request that has nothing to show but a license key.
func (c *caller) withKey(path, key, more string) answer {
	c.t.Helper()
	return c.do("POST", path, `{"key":"`+key+`"`+more+`}`, "Authorization", "")
}

var lifeCases = []protocolCase{
	{id: "life-01", method: "POST", target: "/license/{id}/suspend", body: `{"reason":"unpaid"}`, status: 200, want: []string{`ETag: "2.suspended"`, "Location:"}},
	{id: "life-01", method: "POST", target: "/license/{id}/revoke", status: 200, want: []string{`ETag: "2.revoked"`}},
	{id: "life-01", method: "POST", target: "/license/{id}/suspend", body: `{"reason":5,"why":"x"}`, status: 422, code: "invalid_parameters"},
	{id: "life-01", method: "POST", target: "/license/{id}/suspend?reason=unpaid", status: 400, code: "invalid_request"},
	{id: "life-01", method: "POST", target: "/license/" + nobody + "/suspend", status: 404, code: "not_found"},
	{id: "life-01", method: "POST", target: "/license/" + nobody + "/suspend", body: `{"reason":5}`, status: 422, code: "invalid_parameters"}, // before the license is read
	{id: "life-01", method: "GET", target: "/license/{id}/suspend", status: 405, code: "method_not_allowed", want: []string{"Allow: OPTIONS, POST"}},
	{id: "life-01", method: "POST", target: "/license/{id}/suspend", header: []string{"Authorization", ""}, status: 401, code: "unauthorized"},
	{id: "life-02", method: "POST", target: "/license/{id}/reinstate", status: 409, code: "state_forbidden"},
	{id: "life-02", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("POST", "/license/"+id+"/revoke", `{"reason":"refunded"}`).json["status_reason"], "refunded")
		for _, move := range []string{"suspend", "reinstate", "revoke", "renew", "rekey"} {
			body := ""
			if move == "renew" {
				body = `{"duration":"P1Y"}`
			}
			a := c.do("POST", "/license/"+id+"/"+move, body)
			is.Equal(a.Code, 409)
			is.Equal(a.json["code"], "state_forbidden")
			is.Equal(a.json["from"], "revoked")
			is.True(a.json["to"] != nil)
		}
	}},
	{id: "life-03", method: "POST", target: "/license/{id}/revoke", header: []string{"If-Match", `"2.active"`}, status: 412, code: "stale", want: []string{`ETag: "1.active"`}},
	{id: "life-03", method: "POST", target: "/license/{id}/renew", body: `{"duration":"P1Y"}`, header: []string{"If-Match", `"2.active"`}, status: 412, code: "stale"}, // before what is wrong with the renewal of this license
	{id: "life-03", method: "POST", target: "/license/{id}/revoke", header: []string{"If-None-Match", "*"}, status: 400, code: "invalid_request"},
	{id: "life-03", run: func(is *is.I, c *caller, id string) {
		first := c.do("POST", "/license/"+id+"/rekey", "", "Idempotency-Key", "k")
		again := c.do("POST", "/license/"+id+"/rekey", "", "Idempotency-Key", "k")
		is.Equal(first.Code, 200)
		is.Equal(again.Body.String(), first.Body.String()) // one new key
		is.Equal(again.Header().Get("Idempotency-Replayed"), "true")
		is.Equal(c.do("POST", "/license/"+id+"/suspend", "", "Idempotency-Key", "k").json["code"], "idempotency_key_reused")
	}},
	{id: "life-04", method: "POST", target: "/license/{id}/renew", body: `{"duration":"P1Y"}`, status: 422, code: "invalid_parameters"}, // which has no end
	{id: "life-04", method: "POST", target: "/license/{id}/renew", status: 422, code: "invalid_parameters"},
	{id: "life-04", method: "POST", target: "/license/{id}/renew", body: `{"duration":"P1Y","expires_at":"2030-01-01T00:00:00Z"}`, status: 422, code: "invalid_parameters"},
	{id: "life-04", method: "POST", target: "/license/{id}/renew", body: `{"duration":"P-1Y"}`, status: 422, code: "invalid_parameters"},
	{id: "life-04", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("PATCH", "/license/"+id, `{"expires_at":"2028-02-29T00:00:00Z"}`).Code, 200)
		zero := c.do("POST", "/license/"+id+"/renew", `{"duration":"P0D"}`)
		is.Equal(zero.Code, 422)
		is.Equal(zero.json["errors"].([]any)[0].(map[string]any)["pointer"], "#/duration") // and not a word of another member
		a := c.do("POST", "/license/"+id+"/renew", `{"duration":"P1Y"}`)
		is.Equal(a.json["expires_at"], "2029-02-28T00:00:00Z")
		is.Equal(a.Header().Get("ETag"), `"3.active"`)
	}},
	{id: "life-05", run: func(is *is.I, c *caller, id string) {
		leaked := c.keyOf(id)
		fresh := c.do("POST", "/license/"+id+"/rekey", `{"reason":"leaked"}`).json["key"].(string)
		is.Equal(c.withKey("/license/validate", leaked, "").json["code"], "not_found")
		is.Equal(c.withKey("/license/validate", fresh, "").json["code"], "valid")
	}},
	{id: "life-06", method: "POST", target: "/license/validate", body: `{"key":"x"}`, header: []string{"Authorization", ""}, status: 200},
	{id: "life-06", method: "POST", target: "/license/validate", body: `{"key":""}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-06", method: "POST", target: "/license/validate", body: `["x"]`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-06", method: "POST", target: "/license/validate?key=x", body: `{"key":"x"}`, header: []string{"Authorization", ""}, status: 400, code: "invalid_request"},
	{id: "life-06", method: "POST", target: "/license/validate", header: []string{"Authorization", ""}, status: 415, code: "unsupported_media_type"},
	{id: "life-06", run: func(is *is.I, c *caller, id string) {
		key := c.keyOf(id)
		is.Equal(c.do("POST", "/license/"+id+"/suspend", `{"reason":"unpaid"}`).Code, 200)
		a := c.withKey("/license/validate", key, `,"product_id":"q","fingerprint":"pc","entitlements":["sso"]`)
		is.Equal(a.Code, 200)
		is.Equal(a.json["valid"], false)
		var codes []string
		for _, r := range a.json["reasons"].([]any) {
			codes = append(codes, r.(map[string]any)["code"].(string))
		}
		is.Equal(codes, []string{"suspended", "product_mismatch", "not_activated", "entitlement_missing"})
		is.Equal(a.json["license"].(map[string]any)["key"], nil)
	}},
	{id: "life-07", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("PATCH", "/license/"+id, `{"max_activations":1}`).Code, 200)
		tracing := &tracingStore{Store: c.Store}
		c.mount = licensing.NewHandler(tracing, licensing.Options{Now: c.Clock.Now, Logger: discard})
		for _, path := range []string{"/license/validate", "/license/activate", "/license/deactivate"} {
			key, more := c.keyOf(id), `,"fingerprint":"pc"`
			if path == "/license/activate" {
				more += `,"product_id":"q"` // denied, as the unknown key is
			}
			tracing.calls()
			c.withKey(path, key, more)
			known := tracing.calls()
			require.Greater(c.t, len(known), 0)
			first := slices.Index(known, "LicenseByKey") + 1
			var bodies []string
			for unknown, others := range map[string]int{
				"00000-00000-00000-00000-00000": 0, strings.ToLower(license.NewKey()): 0, "x": 0, strings.Repeat("long ", 500): 0,
				"ABCDE-ABCDE-ABCDE-ABCDE-ABCDE": 1, id: 1, "Abcde-Abcde-Abcde-Abcde": 2, "<Abcde-Abcde-Abcde-Abcde>": 3,
			} {
				a := c.do("POST", path, `{"key":"`+unknown+`"`+more+`}`, "Authorization", "", "X-Request-Id", "same")
				bodies = append(bodies, a.Body.String())
				want := slices.Repeat([]string{"LicenseByKey"}, others)
				if others > 0 && known[0] == "LicenseByKey" { // on no snapshot yet
					want = slices.Insert(want, 0, "View")
				}
				is.Equal(tracing.calls(), slices.Insert(slices.Clone(known), first, want...))
			}
			is.Equal(len(slices.Compact(bodies)), 1)
		}
	}},
	{id: "life-08", run: func(is *is.I, c *caller, id string) {
		key := c.keyOf(id)
		c.mount = licensing.NewHandler(c.Store, licensing.Options{Now: c.Clock.Now, Limits: licensing.LimitOptions{KeyRate: 1}, Logger: discard})
		for _, typed := range [][3]string{{key, strings.ToLower(key), strings.ReplaceAll(key, "-", "")}, {"unknown", "unknown", "unknown"}} {
			is.Equal(c.withKey("/license/validate", typed[0], "").Code, 200)
			is.Equal(c.withKey("/license/validate", typed[1], "").Code, 200)
			for _, path := range []string{"/license/validate", "/license/activate", "/license/deactivate", "/license/activation"} {
				a := c.withKey(path, typed[2], `,"fingerprint":"pc"`)
				is.Equal(a.Code, 429)
				is.Equal(a.json["code"], "rate_limited")
				is.True(a.Header().Get("Retry-After") != "")
			}
		}
		is.Equal(c.withKey("/license/validate", "another", "").Code, 200)
		c.Clock.Advance(time.Second)
		is.Equal(c.withKey("/license/validate", key, "").Code, 200)
	}},
	{id: "life-08", run: func(is *is.I, c *caller, _ string) {
		c.mount = licensing.NewHandler(c.Store, licensing.Options{Now: c.Clock.Now, Limits: licensing.LimitOptions{AddressRate: 1}, Logger: discard,
			ClientIP: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }})
		for _, key := range []string{"one", "another"} {
			is.Equal(c.withKey("/license/validate", key, "").Code, 200)
		}
		is.Equal(c.withKey("/license/validate", "a third", "").Code, 429) // guessing keys from one address
	}},
	{id: "life-08", run: func(is *is.I, c *caller, id string) {
		seen := &keptLimiter{}
		c.mount = licensing.NewHandler(c.Store, licensing.Options{Now: c.Clock.Now, Limiter: seen, Logger: discard})
		key := c.keyOf(id)
		is.Equal(c.withKey("/license/validate", key, "").Code, 200)
		last := seen.keys[len(seen.keys)-1]
		require.HasPrefix(c.t, last, "key:")
		require.NotContains(c.t, last, key[:5]) // a digest
	}},
	{id: "life-09", method: "POST", target: "/license/activate", body: `{"key":"x","fingerprint":"pc"}`, header: []string{"Authorization", ""}, status: 404, code: "not_found"},
	{id: "life-09", method: "POST", target: "/license/activate", body: `{"key":"x"}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-09", method: "POST", target: "/license/activate", body: `{"key":"x","fingerprint":"pc","take_over":"mine"}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-09", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("PATCH", "/license/"+id, `{"max_activations":1,"lease_seconds":60}`).Code, 200)
		key := c.keyOf(id)
		first := c.withKey("/license/activate", key, `,"fingerprint":"pc-1"`)
		again := c.withKey("/license/activate", key, `,"fingerprint":"pc-1"`)
		is.Equal(first.Code, 200)
		is.Equal(again.Body.String(), first.Body.String())
		full := c.withKey("/license/activate", key, `,"fingerprint":"pc-2"`)
		is.Equal(full.Code, 409)
		is.Equal(full.json["code"], "activation_limit")
		is.Equal(full.json["verdict"].(map[string]any)["valid"], false)
		c.Clock.Advance(time.Minute) // the lease has ended, and nothing has run
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc-2"`).Code, 200)
		is.Equal(c.withKey("/license/validate", key, `,"fingerprint":"pc-1"`).json["code"], "lease_ended")
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc-1","take_over":"oldest"`).Code, 200)
		is.Equal(c.withKey("/license/validate", key, `,"fingerprint":"pc-2"`).json["code"], "evicted")
	}},
	{id: "life-10", method: "POST", target: "/license/deactivate", body: `{"key":"x","fingerprint":"pc"}`, header: []string{"Authorization", ""}, status: 404, code: "not_found"},
	{id: "life-10", run: func(is *is.I, c *caller, id string) {
		key := c.keyOf(id)
		is.Equal(c.withKey("/license/deactivate", key, `,"fingerprint":"pc"`).Code, 404)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).Code, 200)
		is.Equal(c.do("POST", "/license/"+id+"/revoke", "").Code, 200)
		before := len(c.Events())
		for range 2 { // whatever the state of the license
			a := c.withKey("/license/deactivate", key, `,"fingerprint":"pc"`)
			is.Equal(a.Code, 200)
			is.Equal(a.json["status"], "released")
		}
		is.Equal(len(c.Events()), before+1)
	}},
	{id: "life-11", method: "GET", target: "/license/{id}/activation?fingerprint=pc", status: 400, code: "invalid_request"},
	{id: "life-11", method: "DELETE", target: "/license/{id}/activation/act_00000000000000000000000000", status: 404, code: "not_found"},
	{id: "life-11", method: "DELETE", target: "/license/{id}/activation/x", header: []string{"If-Match", `"1.active"`}, status: 400, code: "invalid_request"},
	{id: "life-11", run: func(is *is.I, c *caller, id string) {
		seat := c.withKey("/license/activate", c.keyOf(id), `,"fingerprint":"pc"`).json["activation"].(map[string]any)
		list := c.do("GET", "/license/"+id+"/activation?limit=1", "")
		is.Equal(list.json["data"], []any{seat})
		is.Equal(list.json["has_more"], false)
		path := "/license/" + id + "/activation/" + seat["id"].(string)
		reader, secret := c.NewClient(auth.CreateClientParams{Name: "reader", Scopes: []string{auth.ScopeLicenseRead}})
		readOnly, _ := c.NewToken(reader.ID, secret)
		is.Equal(c.do("DELETE", path, "", "Authorization", "Bearer "+readOnly).Code, 403)
		limited, secret := c.NewClient(auth.CreateClientParams{Name: "limited", Products: []string{"q"}})
		foreign, _ := c.NewToken(limited.ID, secret)
		is.Equal(c.do("DELETE", path, "", "Authorization", "Bearer "+foreign).Code, 404)
		is.Equal(c.do("GET", "/license/"+id+"/verdict", "", "Authorization", "Bearer "+foreign).Code, 404)
		is.Equal(c.do("DELETE", path, "").json["status"], "released")
		is.Equal(c.do("GET", "/license/"+id+"/activation", "").json["data"], []any{})
	}},
	{id: "life-12", method: "POST", target: "/license/activation", body: `{"key":"x"}`, header: []string{"Authorization", ""}, status: 403, code: "forbidden"},
	{id: "life-12", method: "POST", target: "/license/deactivate", body: `{"key":"x","activation_id":"y"}`, header: []string{"Authorization", ""}, status: 403, code: "forbidden"},
	{id: "life-12", run: func(is *is.I, c *caller, id string) {
		c.mount = licensing.NewHandler(c.Store, licensing.Options{Now: c.Clock.Now, KeyHolderSeats: true, Logger: discard})
		key := c.keyOf(id)
		var seats []any
		for _, pc := range []string{"1", "2", "3"} {
			c.Clock.Advance(time.Millisecond)
			seats = append(seats, c.withKey("/license/activate", key, `,"fingerprint":"`+pc+`"`).json["activation"])
		}
		page := c.withKey("/license/activation", key, `,"limit":2`)
		is.Equal(page.json["data"], seats[:2])
		is.Equal(page.Header().Get("Link"), "")
		is.Equal(c.withKey("/license/activation", key, `,"limit":0`).Code, 422)
		page = c.withKey("/license/activation", key, `,"limit":2,"cursor":"`+page.json["next_cursor"].(string)+`"`)
		is.Equal(page.json["data"], seats[2:])
		second := seats[1].(map[string]any)["id"].(string)
		is.Equal(c.withKey("/license/deactivate", key, `,"activation_id":"`+second+`","reason":"laptop lost"`).json["status"], "released")
		is.Equal(c.withKey("/license/validate", key, `,"fingerprint":"2"`).json["code"], "not_activated")
		is.Equal(len(c.withKey("/license/activation", key, `,"ended":true`).json["data"].([]any)), 3)
		is.Equal(c.withKey("/license/activation", "x", "").Code, 404)
		is.Equal(c.withKey("/license/deactivate", "x", `,"activation_id":"`+second+`"`).Code, 404)
		events := c.Events()
		is.Equal(events[len(events)-1].Actor, "license:"+id)
		require.Contains(c.t, string(events[len(events)-1].Data), `"reason":"laptop lost"`)
	}},
	{id: "life-13", method: "GET", target: "/license/{id}/verdict?at=2040-01-01", status: 400, code: "invalid_request"},
	{id: "life-13", method: "GET", target: "/license/{id}/verdict?key=x", status: 400, code: "invalid_request"},
	{id: "life-13", method: "GET", target: "/license/p/verdict", status: 404, code: "not_found"},
	{id: "life-13", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("PATCH", "/license/"+id, `{"expires_at":"2030-01-01T00:00:00Z","lease_seconds":60}`).Code, 200)
		seat := c.withKey("/license/activate", c.keyOf(id), `,"fingerprint":"pc"`).json["activation"]
		counting := &countingStore{Store: c.Store}
		c.mount = licensing.NewHandler(counting, licensing.Options{Now: c.Clock.Now, Logger: discard})
		is.Equal(c.do("GET", "/license/"+id+"/verdict?fingerprint=pc", "").json["activation"], seat)
		is.Equal(c.do("GET", "/license/"+id+"/verdict?at=2031-01-01T00:00:00%2B01:00", "").json["code"], "expired")
		is.Equal(c.do("GET", "/license/"+id+"/verdict?entitlements=sso&entitlements=api", "").json["code"], "entitlement_missing")
		is.Equal(counting.calls()[3], int64(0)) // updates
	}},
	{id: "life-14", method: "POST", target: "/import/license", body: `{"name":"n","product_id":"p","customer_id":"c","key":"AN-OLD-KEY-NUMBER-1"}`, header: []string{"Content-Type", "application/x-ndjson"}, status: 200, want: []string{"Content-Type: application/x-ndjson"}},
	{id: "life-14", method: "POST", target: "/import/license", body: `{"name":"n"}`, status: 415, code: "unsupported_media_type", want: []string{"Accept: application/x-ndjson"}},
	{id: "life-14", method: "GET", target: "/export/license?customer_id=c&status=active", status: 200, want: []string{"Content-Type: application/x-ndjson"}},
	{id: "life-14", method: "GET", target: "/export/license?search=n", status: 400, code: "invalid_request"},
	{id: "life-14", method: "GET", target: "/license/export", status: 404, code: "not_found"}, // the customer of that name
	{id: "life-14", run: func(is *is.I, c *caller, _ string) {
		c.mount = licensing.NewHandler(c.Store, licensing.Options{Now: c.Clock.Now, Limits: licensing.LimitOptions{MaxImport: 1024}, Logger: discard})
		row := `{"name":"n","product_id":"p","customer_id":"in","key":"AN-OLD-KEY-NUMBER-1"}` + "\n"
		before := len(c.Events())
		a := c.do("POST", "/import/license", row+strings.Repeat(" ", 1024), "Content-Type", "application/x-ndjson")
		is.Equal(a.Code, 413)
		is.Equal(len(c.Events()), before) // nothing of it
	}},
	{id: "life-14", run: func(is *is.I, c *caller, id string) {
		var rows strings.Builder
		for i := range 150 { // more than one Update
			rows.WriteString(`{"name":"n","product_id":"p","customer_id":"in","key":"AN-OLD-KEY-NUMBER-` + strings.Repeat("X", i+1) + `"}` + "\n")
		}
		failing := &failingLater{Store: c.Store, after: 1}
		broken := *c
		broken.mount = licensing.NewHandler(failing, licensing.Options{Now: c.Clock.Now, Logger: discard})
		func() {
			defer func() { is.Equal(recover(), http.ErrAbortHandler) }() // half an answer must not look whole
			broken.do("POST", "/import/license", rows.String(), "Content-Type", "application/x-ndjson")
		}()
		a := c.do("POST", "/import/license", rows.String(), "Content-Type", "application/x-ndjson")
		is.Equal(strings.Count(a.Body.String(), `"result":"exists"`), 100)
		is.Equal(strings.Count(a.Body.String(), `"result":"created"`), 50)
		a = c.do("GET", "/export/license?customer_id=in", "")
		is.Equal(strings.Count(a.Body.String(), "\n"), 150)
	}},
	{id: "life-15", run: func(is *is.I, c *caller, _ string) {
		a := c.do("POST", "/license", specified)
		is.Equal(a.json["status"], "active")
		is.Equal(a.json["expires_at"], nil)
		is.Equal(a.json["max_activations"], nil)
		key, ok := license.ParseKey(a.json["key"].(string))
		is.True(ok)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).json["code"], "valid")
	}},
	{id: "life-16", run: func(is *is.I, c *caller, id string) {
		var log strings.Builder
		key := c.keyOf(id)
		c.mount = licensing.NewHandler(c.Store, licensing.Options{Now: c.Clock.Now, Logger: logTo(&log)})
		c.withKey("/license/activate", key, `,"fingerprint":"pc"`)
		c.withKey("/license/validate", key, `,"fingerprint":"pc","product_id":"q"`)
		fresh := c.do("POST", "/license/"+id+"/rekey", "").json["key"].(string)
		c.withKey("/license/deactivate", fresh, `,"fingerprint":"pc"`)
		c.do("GET", "/export/license", "")
		is.Equal(strings.Count(log.String(), "licensing: request"), 5)
		for _, secret := range []string{key, fresh} {
			require.NotContains(c.t, log.String(), secret)
			for _, e := range c.Events() {
				require.NotContains(c.t, string(e.Data), secret)
			}
		}
	}},
	{id: "life-17", method: "POST", target: "/license/validate", body: `{"key":"x","product_id":""}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-17", method: "POST", target: "/license/validate", body: `{"key":"x","customer_id":""}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-17", method: "POST", target: "/license/validate", body: `{"key":"x","fingerprint":""}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-17", method: "POST", target: "/license/activate", body: `{"key":"x","fingerprint":"pc","product_id":""}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-17", method: "POST", target: "/license/activate", body: `{"key":"x","fingerprint":"pc","take_over":""}`, header: []string{"Authorization", ""}, status: 422, code: "invalid_parameters"},
	{id: "life-17", method: "POST", target: "/license/{id}/rekey", body: `{"key":""}`, status: 422, code: "invalid_parameters"},
	{id: "life-17", run: func(is *is.I, c *caller, id string) {
		is.Equal(c.do("PATCH", "/license/"+id, `{"expires_at":"2030-01-01T00:00:00Z"}`).Code, 200)
		is.Equal(c.do("POST", "/license/"+id+"/renew", `{"duration":"P1D","from":""}`).Code, 422)
		is.Equal(c.do("POST", "/license/"+id+"/renew", `{"duration":"P1D","expires_at":null}`).Code, 200)
	}},
}

// A tracingStore keeps the names of the calls that a question with a key makes.
type tracingStore struct {
	store.Store
	mu    sync.Mutex
	trace []string
}

func (s *tracingStore) add(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, call)
}

// calls returns what has been called, and resets the list.
func (s *tracingStore) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	trace := s.trace
	s.trace = nil
	return trace
}

func (s *tracingStore) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	s.add("LicenseByKey")
	return s.Store.LicenseByKey(ctx, key)
}

func (s *tracingStore) View(ctx context.Context, fn func(store.Reader) error) error {
	s.add("View")
	return s.Store.View(ctx, func(r store.Reader) error { return fn(tracingReader{r, s}) })
}

func (s *tracingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.add("Update")
	return s.Store.Update(ctx, fn)
}

type tracingReader struct {
	store.Reader
	s *tracingStore
}

func (r tracingReader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	r.s.add("LicenseByKey")
	return r.Reader.LicenseByKey(ctx, key)
}

func (r tracingReader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	r.s.add("Activation")
	return r.Reader.Activation(ctx, licenseID, fingerprint)
}

func (r tracingReader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	r.s.add("Activations")
	return r.Reader.Activations(ctx, q)
}

// A failingLater is a store of which some Updates succeed and the rest fail.
type failingLater struct {
	store.Store
	after int
}

func (s *failingLater) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.after--; s.after < 0 {
		return store.ErrUnavailable
	}
	return s.Store.Update(ctx, fn)
}

// A keptLimiter lets everybody in, and keeps what it was asked.
type keptLimiter struct{ keys []string }

func (l *keptLimiter) Allow(_ context.Context, key string) (time.Duration, bool) {
	l.keys = append(l.keys, key)
	return 0, true
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
