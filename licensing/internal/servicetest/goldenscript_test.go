package servicetest

import (
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// script calls every endpoint with success, and meets the refusals that depend
// on what is stored.
func (g *golden) script() {
	g.oauth()
	id := g.licenses()
	g.keys()
	g.moves(id)
	g.transfer()
	g.webhooks()
	g.call("GET", "/event?limit=3", "")
	g.call("GET", "/event?type=license.created&subject="+id, "")
	g.call("GET", "/event?limit=0", "")
	g.call("GET", "/event?after=wrong", "")
	g.call("GET", "/health", "")
	g.call("GET", "/ready", "")
	g.call("GET", "/ready?verbose", "")
	description := g.call("GET", "/openapi.json", "")
	g.call("GET", "/openapi.json", "", "If-None-Match", description.Header().Get("ETag"))
	g.call("GET", "/.well-known/oauth-authorization-server", "")
	keys := g.call("GET", "/file/keys", "", "Authorization", "")
	g.call("GET", "/file/keys", "", "Authorization", "", "If-None-Match", keys.Header().Get("ETag"))
	g.call("GET", "/file/keys", "", "Authorization", "", "If-None-Match", "wrong")
	g.licenseFiles()
	g.selling()
	g.usage()
	g.links()
	g.reach()
	g.call("POST", "/license/lic_"+noID+"/renew", `{"duration":"P1Y"}`)
	g.call("GET", "/nothing", "")
}

// licenseFiles issues license files, and reads the revocation list.
func (g *golden) licenseFiles() {
	l := g.call("POST", "/license", `{"name":"Team","product_id":"files","customer_id":"cus_7","key":"FILE-KEY-0001-0001","max_activations":1,"offline_seconds":86400}`)
	path, key := "/license/"+l.json["id"].(string), `"key":"FILE-KEY-0001-0001"`
	issued := g.call("POST", path+"/file", `{"fingerprint":"host-1","lifetime":"P1Y","nonce":"n"}`, "Idempotency-Key", "f")
	g.call("POST", path+"/file", `{"fingerprint":"host-1","lifetime":"P1Y","nonce":"n"}`, "Idempotency-Key", "f")
	g.call("POST", path+"/file", "")
	g.call("POST", path+"/file", `{"lifetime":"P11Y","fingerprint":"host-1","request":"x","nonce":"no spaces"}`)
	g.call("POST", path+"/file", `{"fingerprint":"host-2"}`)
	g.call("POST", "/license/file", `{`+key+`,"fingerprint":"host-1","lifetime":"P7D"}`, "Authorization", "")
	g.call("POST", "/license/file", `{`+key+`}`, "Authorization", "")
	g.call("POST", "/license/file", `{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA"}`, "Authorization", "")
	g.call("POST", "/license/validate", `{`+key+`,"fingerprint":"host-1","file":"P7D","nonce":"n"}`, "Authorization", "")
	g.call("POST", "/license/validate", `{`+key+`,"fingerprint":"host-1","file":"soon","nonce":"?"}`, "Authorization", "")
	g.call("POST", "/license/activate", `{`+key+`,"fingerprint":"host-1","file":"P7D"}`, "Authorization", "")
	g.call("POST", "/license/deactivate", `{`+key+`,"fingerprint":"host-1"}`, "Authorization", "")
	for _, host := range []string{"host-2", "host-3", "host-4"} { // seat_held for the last
		g.call("POST", "/license/activate", `{`+key+`,"fingerprint":"`+host+`","file":"P7D"}`, "Authorization", "")
		g.call("POST", "/license/deactivate", `{`+key+`,"fingerprint":"`+host+`"}`, "Authorization", "")
	}
	seat := issued.json["activation"].(map[string]any)["id"].(string)
	g.call("DELETE", path+"/activation/"+seat+"?force=true", "")
	g.call("POST", path+"/file/void", `{"reason":"laptop stolen"}`, "Idempotency-Key", "v")
	g.call("POST", path+"/file/void", `{"reason":"laptop stolen"}`, "Idempotency-Key", "v")
	g.call("POST", path+"/file/void", "", "If-Match", `"1.active"`)
	g.call("POST", path+"/file/void", `{"reason":5}`)
	g.call("POST", "/license/lic_"+noID+"/file/void", "")
	g.call("PATCH", path, `{"offline_seconds":0}`)
	g.call("POST", "/license/file", `{`+key+`,"fingerprint":"host-4"}`, "Authorization", "")
	g.call("POST", "/license/validate", `{`+key+`,"fingerprint":"host-4","file":"P7D"}`, "Authorization", "")
	g.call("POST", path+"/suspend", "")
	list := g.call("GET", "/file/revocations?product_id=files", "", "Authorization", "")
	g.call("GET", "/file/revocations?product_id=files", "", "Authorization", "", "If-None-Match", list.Header().Get("ETag"))
	g.call("GET", "/file/revocations?product_id=unknown", "", "Authorization", "")
	g.call("GET", "/file/revocations", "", "Authorization", "")
}

// selling makes plans, and sells and tries them.
func (g *golden) selling() {
	const terms = `{"product_id":"shop","duration":"P1M","max_activations":2,"entitlements":{"export":true}}`
	g.call("PUT", "/plan/price_1", terms)
	g.call("PUT", "/plan/price_1", terms)
	g.call("PUT", "/plan/price_1", `{"product_id":"shop","id":"x","duration":"soon"}`)
	g.call("PUT", "/plan/price_1", terms, "If-Match", `"7"`)
	g.call("GET", "/plan/price_1", "")
	g.call("GET", "/plan/price_2", "")
	g.call("GET", "/plan?product_id=shop", "")
	const paid = `{"at":"2026-01-01T00:00:00Z","customer_id":"cus_8","plan_id":"price_1","state":"active"}`
	bought := g.call("PUT", "/purchase/shop:1", paid)
	g.call("PUT", "/purchase/shop:1", paid)
	g.call("PUT", "/purchase/shop:1", `{"at":"2026-01-01T00:00:00Z","customer_id":"cus_9"}`)
	g.call("PUT", "/purchase/shop:1", `{"state":"past_due","quantity":0}`)
	g.call("PUT", "/purchase/shop:2", `{"at":"2026-01-01T00:00:00Z","customer_id":"cus_8","plan_id":"price_2","state":"active"}`)
	g.call("GET", "/purchase/shop:1", "")
	g.call("GET", "/purchase/shop:3", "")
	path := "/license/" + bought.json["license_id"].(string) + "/plan"
	g.call("POST", path, `{"plan_id":"price_1"}`)
	g.call("POST", path, `{"plan_id":"price_2"}`)
	g.call("POST", "/license/trial", `{"plan_id":"price_1","customer_id":"cus_8","subjects":["device:1"]}`)
	g.call("POST", "/license/trial", `{"plan_id":"price_1","customer_id":"cus_8"}`)
	g.call("POST", "/license/trial", `{"plan_id":"price_1","customer_id":"cus_9","subjects":["device:1"]}`)
	g.call("PUT", "/plan/price_1", `{"product_id":"shop","duration":"P1Y","max_activations":9}`)
	g.call("GET", "/plan/price_1/use", "")
	g.call("GET", "/plan/price_2/use", "")
	g.call("POST", "/plan/price_1/rollout", `{"reason":"more for everybody"}`)
	g.call("POST", "/plan/price_1/rollout", `{"cursor":"x"}`)
	g.call("POST", "/plan/price_2/rollout", "")
	g.call("DELETE", "/plan/price_1", "")
	g.call("GET", "/purchase?license_id="+bought.json["license_id"].(string), "")
	g.call("GET", "/purchase?waiting=unknown_plan", "")
	g.call("GET", "/purchase?waiting=money", "")
}

// usage counts usage of meters.
func (g *golden) usage() {
	l := g.call("POST", "/license", `{"name":"Metered","product_id":"metered","customer_id":"cus_10","key":"USAGE-KEY-0001-0001","meters":{"exports":{"limit":10,"per":"month"},"calls":{}}}`)
	id := l.json["id"].(string)
	const key = `"key":"USAGE-KEY-0001-0001"`
	g.call("POST", "/license/usage", `{`+key+`,"usage":[{"meter":"exports","id":"req-1","total":8},{"meter":"calls","id":"req-1","total":1}]}`, "Authorization", "")
	g.call("POST", "/license/usage", `{`+key+`,"usage":[{"meter":"exports","id":"req-1","total":8}]}`, "Authorization", "")
	g.call("POST", "/license/usage", `{`+key+`,"usage":[{"meter":"exports","id":"req-2","total":3}]}`, "Authorization", "")
	g.call("POST", "/license/usage", `{`+key+`,"usage":[{"meter":"other","id":"req-2","total":3}]}`, "Authorization", "")
	g.call("POST", "/license/usage", `{`+key+`,"usage":[{"meter":"exports","id":"","total":0},{"meter":"activations","id":"a","total":"1","at":"2020-01-01T00:00:00Z"}]}`, "Authorization", "")
	g.call("POST", "/license/usage", `{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA","usage":[{"meter":"exports","id":"a","total":1}]}`, "Authorization", "")
	report := `,"usage":[{"meter":"exports","id":"job-7","total":4}]}`
	g.call("POST", "/usage", `{"licenses":[{"license_id":"`+id+`"`+report+`,{"license_id":"lic_`+noID+`"`+report+`]}`)
	g.call("POST", "/usage", `{"licenses":[{"license_id":"1"`+report+`,{"license_id":"1","usage":[]}]}`)
	g.call("GET", "/license/"+id+"/usage?limit=1", "")
	g.call("GET", "/license/"+id+"/usage?cursor=wrong", "")
	g.call("GET", "/license/lic_"+noID+"/usage", "")
	g.call("PUT", "/license/"+id+"/meter/exports", `{"used":4,"reason":"failed"}`)
	g.call("PUT", "/license/"+id+"/meter/exports", `{"used":4,"from":"2026-01-01T00:00:01Z"}`)
	g.call("PUT", "/license/"+id+"/meter/exports", `{"reason":"failed"}`)
	g.call("PUT", "/license/"+id+"/meter/other", `{"used":4}`)
	g.call("POST", "/license/validate", `{`+key+`}`, "Authorization", "")
	g.call("GET", "/license/"+id+"/verdict", "")
}

// links activates a program in the browser of a customer.
func (g *golden) links() {
	l, err := g.Handler.Service().Create(g.t.Context(), api.CreateLicenseParams{Name: "Linked", ProductID: "linked", CustomerID: "cus_11"})
	if err != nil {
		g.t.Fatal(err)
	}
	started := g.call("POST", "/license/link", `{"product_id":"linked","fingerprint":"host-1","name":"Build host"}`, "Authorization", "").json
	poll := `{"secret":"` + started["secret"].(string) + `"}`
	g.call("POST", "/license/link/poll", poll, "Authorization", "")
	g.call("POST", "/license/link/poll", poll, "Authorization", "")
	if _, err = g.Handler.Service().Customer("cus_11").ApproveLink(g.t.Context(), api.ApproveLinkParams{Code: started["code"].(string), LicenseID: l.ID}); err != nil {
		g.t.Fatal(err)
	}
	g.Clock.Advance(5 * time.Second)
	g.call("POST", "/license/link/poll", poll, "Authorization", "")
	g.call("POST", "/license/link/poll", `{"secret":"unknown"}`, "Authorization", "")
	g.call("POST", "/license/link", `{"fingerprint":"","name":"`+strings.Repeat("x", 256)+`"}`, "Authorization", "")
}

// oauth calls the endpoints for access tokens.
func (g *golden) oauth() {
	const form = "application/x-www-form-urlencoded"
	client, secret := g.NewClient(auth.CreateClientParams{Name: "Shop"})
	credentials := `"client_id":"` + client.ID + `","client_secret":"` + secret + `"`
	issued := g.call("POST", "/oauth/token", `{"grant_type":"client_credentials",`+credentials+`}`, "Authorization", "")
	token := issued.json["access_token"].(string)
	query := "client_id=" + client.ID + "&client_secret=" + secret
	g.call("POST", "/oauth/token", "grant_type=client_credentials&scope=license:read&"+query, "Authorization", "", "Content-Type", form)
	g.call("POST", "/oauth/token", "grant_type=client_credentials&scope=event:read&"+query, "Authorization", "", "Content-Type", form)
	g.call("POST", "/oauth/token", "grant_type=password&"+query, "Authorization", "", "Content-Type", form)
	g.call("POST", "/oauth/token", "grant_type=client_credentials", "Authorization", "", "Content-Type", form)
	g.call("GET", "/oauth/token?"+query, "", "Authorization", "")
	g.call("GET", "/oauth/token?client_id="+client.ID+"&client_secret=wrong", "", "Authorization", "")
	g.call("POST", "/oauth/introspect", `{"token":"`+token+`",`+credentials+`}`, "Authorization", "")
	g.call("POST", "/oauth/introspect", `{"token":"unknown",`+credentials+`}`, "Authorization", "")
	g.call("POST", "/oauth/introspect", `{`+credentials+`}`, "Authorization", "")
	g.call("POST", "/oauth/revoke", `{"token":"`+token+`",`+credentials+`}`, "Authorization", "")
	g.call("POST", "/oauth/revoke", `{`+credentials+`}`, "Authorization", "")
	g.call("GET", "/license", "", "Authorization", "Bearer "+token) // revoked
}

// licenses creates, reads, changes and deletes licenses. It returns the id of
// one.
func (g *golden) licenses() string {
	const full = `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_1","key":"OWN-KEY-0001-0001","starts_at":"2026-01-01T00:00:00Z","expires_at":"2030-01-01T00:00:00Z","grace_seconds":86400,"max_activations":2,"lease_seconds":3600,"entitlements":{"users":10,"export":true,"tier":"gold"},"metadata":{"order":"A-1"}}`
	created := g.call("POST", "/license", full, "Idempotency-Key", "order-1")
	id := created.json["id"].(string)
	g.call("POST", "/license", full, "Idempotency-Key", "order-1")
	g.call("POST", "/license", `{"name":"Other","product_id":"atlas","customer_id":"cus_1"}`, "Idempotency-Key", "order-1")
	g.call("POST", "/license", full) // the key is taken
	g.call("POST", "/license", `{"name":"","product_id":1,"customer_id":"lic_1","grace_seconds":-1,"max_activations":-1,"entitlements":{"a":false},"metadata":{"a":1},"id":"x"}`)
	g.call("POST", "/license", `{}`)
	g.call("POST", "/license", `{"name":"`+strings.Repeat("n", 70_000)+`"}`)
	g.call("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c"}`, "If-Match", `"1.active"`)
	g.call("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c"}`, "Idempotency-Key", " ")
	g.call("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c"}`, "Content-Encoding", "gzip")
	second := g.call("POST", "/license", `{"name":"Harbor","product_id":"harbor","customer_id":"cus_1"}`).json["id"].(string)
	g.call("POST", "/license", `{"name":"Harbor again","product_id":"harbor","customer_id":"cus_1"}`)

	const batch = `{"count":2,"name":"Spring bundle","product_id":"bundle","customer_id":"batch:spring"}`
	g.call("POST", "/license/batch", batch, "Idempotency-Key", "spring")
	g.call("POST", "/license/batch", batch, "Idempotency-Key", "spring")
	g.call("POST", "/license/batch", `{"count":101,"name":"","key":"OWN-KEY-0002-0002"}`)
	g.call("POST", "/license", `{"name":"Spring bundle","product_id":"bundle","customer_id":"batch:spring","key":"OWN-KEY-0003-0003","metadata":{"email":"shop@example.com"}}`)
	const claim = `{"key":"OWN-KEY-0003-0003","customer_id":"cus_15","email":"ada@example.com"}`
	g.call("POST", "/license/claim", claim, "Idempotency-Key", "claim")
	g.call("POST", "/license/claim", claim)
	g.call("POST", "/license/claim", `{"key":"OWN-KEY-0003-0003","customer_id":"cus_16"}`)
	g.call("POST", "/license/claim", `{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA","customer_id":"cus_15"}`)
	g.call("POST", "/license/claim", `{"key":"","customer_id":"lic_1","name":"\u0000","email":"nobody"}`)

	narrow, secret := g.NewClient(auth.CreateClientParams{Name: "Harbor only", Products: []string{"harbor"}})
	token, _ := g.NewToken(narrow.ID, secret)
	g.call("POST", "/license", `{"name":"n","product_id":"atlas","customer_id":"c"}`, "Authorization", "Bearer "+token)
	g.call("GET", "/license/"+id, "", "Authorization", "Bearer "+token)

	g.call("GET", "/license/"+id, "")
	g.call("GET", "/license/"+id, "", "If-None-Match", created.Header().Get("ETag"))
	g.call("GET", "/license/"+id, "", "If-Match", `"9.active"`)
	g.call("HEAD", "/license/"+id, "")
	g.call("OPTIONS", "/license/"+id, "")
	g.call("GET", "/license/cus_1?limit=2", "")
	page := g.call("GET", "/license?limit=2", "")
	g.call("GET", "/license?limit=2&cursor="+page.json["next_cursor"].(string), "")
	g.call("GET", "/license?status=active&product_id=atlas", "")
	g.call("GET", "/license?status=wrong&limit=0", "")
	g.call("GET", "/license?limit=1&limit=2", "")
	g.call("PATCH", "/license", `{"name":"Atlas Team of Ten","product_id":"atlas","customer_id":"cus_1"}`)
	g.call("PATCH", "/license", `{"name":"n","product_id":"harbor","customer_id":"cus_1"}`) // ambiguous
	g.call("PATCH", "/license", `{"name":"n","product_id":"none","customer_id":"cus_1"}`)
	g.call("PATCH", "/license", `{"id":"`+id+`","max_activations":3}`, "Content-Type", "application/merge-patch+json")
	g.call("PATCH", "/license/"+id, `{"expires_at":"2031-01-01T00:00:00Z","metadata":{"order":null,"note":"n"}}`, "If-Match", `"3.active"`)
	g.call("PATCH", "/license/"+id, `{"name":"n"}`, "If-Match", `"1.active"`)
	g.call("PATCH", "/license/"+id, `{"name":null,"key":"k","status":"active"}`)
	g.call("PATCH", "/license/"+id, `{"id":"`+second+`","name":"n"}`)
	g.call("PATCH", "/license/"+id, `{"name":"n"}`, "If-Match", `1.active`)
	g.call("DELETE", "/license/"+second, "", "If-Match", `"9.active"`)
	g.call("DELETE", "/license/"+second, "")
	g.call("DELETE", "/license/"+second, "")
	return id
}

// marks stores characters that JSON encoders may escape.
func (g *golden) marks() {
	id := g.call("POST", "/license", `{"name":"<b>&","product_id":"marks","customer_id":"cus_<>","entitlements":{"<b>":"R&D","line":"a\u2028b\u2029c"},"metadata":{"&":"<i>\u2028</i>"}}`).json["id"].(string)
	g.call("GET", "/license/"+id, "")
	g.call("GET", "/license?product_id=marks", "")
	g.call("PATCH", "/license/"+id, `{"metadata":{"<":">"}}`)
	g.call("GET", "/event?subject="+id, "")
	g.call("POST", "/customer/cus_%3C%3E/suspend", `{"reason":"<unpaid>"}`, "Idempotency-Key", "held")
	g.call("POST", "/customer/cus_%3C%3E/suspend", `{"reason":""}`)
	g.call("POST", "/license/"+id+"/reinstate", "")
	g.call("POST", "/customer/cus_%3C%3E/reinstate", "")
	g.call("POST", "/customer/lic_%0A/reinstate", "")
	g.call("DELETE", "/license/"+id, "")
}

// keys does what licensed programs do with a key.
func (g *golden) keys() {
	const key = `"key":"OWN-KEY-0001-0001"`
	unknown := `{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA","fingerprint":"host-1"}`
	g.call("POST", "/license/validate", `{`+key+`}`, "Authorization", "")
	g.call("POST", "/license/validate", `{`+key+`,"product_id":"other","customer_id":"cus_2","fingerprint":"host-1","entitlements":["none"]}`, "Authorization", "")
	g.call("POST", "/license/validate", unknown, "Authorization", "")
	first := g.call("POST", "/license/activate", `{`+key+`,"fingerprint":"host-1","name":"Build host","metadata":{"os":"linux"}}`, "Authorization", "", "Idempotency-Key", "a")
	id := first.json["license"].(map[string]any)["id"].(string)
	g.call("POST", "/license/activate", `{`+key+`,"fingerprint":"host-2"}`, "Authorization", "")
	seat := g.call("POST", "/license/activate", `{`+key+`,"fingerprint":"host-3"}`, "Authorization", "").json["activation"].(map[string]any)["id"].(string)
	g.call("POST", "/license/activate", `{`+key+`,"fingerprint":"host-4"}`, "Authorization", "")
	g.call("POST", "/license/activate", `{`+key+`,"fingerprint":"host-4","take_over":"oldest"}`, "Authorization", "")
	g.call("POST", "/license/activate", unknown, "Authorization", "")
	g.call("POST", "/license/validate", `{`+key+`,"fingerprint":"host-1"}`, "Authorization", "") // evicted
	g.call("POST", "/license/validate", `{`+key+`,"fingerprint":"host-4"}`, "Authorization", "")
	g.call("POST", "/license/activation", `{`+key+`,"ended":true}`, "Authorization", "")
	g.call("POST", "/license/activation", `{`+key+`,"limit":1}`, "Authorization", "")
	g.call("POST", "/license/activation", unknown, "Authorization", "")
	g.call("GET", "/license/"+id+"/refusal", "")
	g.call("GET", "/license/"+id+"/refusal?limit=1", "")
	g.call("GET", "/license/lic_"+noID+"/refusal", "")
	g.call("GET", "/license/"+id+"/activation", "")
	g.call("GET", "/license/"+id+"/activation?ended=true&limit=2", "")
	g.call("GET", "/license/"+id+"/activation?limit=x", "")
	g.call("GET", "/license/"+id+"/verdict", "")
	g.call("GET", "/license/"+id+"/verdict?at=2030-01-01T12:00:00Z&fingerprint=host-4&entitlements=users", "")
	g.call("GET", "/license/"+id+"/verdict?at=2040-01-01T00:00:00Z", "")
	g.call("GET", "/license/"+id+"/verdict?at=tomorrow", "")
	g.call("POST", "/license/deactivate", `{`+key+`,"fingerprint":"host-2"}`, "Authorization", "")
	g.call("POST", "/license/deactivate", `{`+key+`,"fingerprint":"host-9"}`, "Authorization", "")
	g.call("POST", "/license/deactivate", unknown, "Authorization", "")
	g.call("DELETE", "/license/"+id+"/activation/"+seat, "")
	g.call("DELETE", "/license/"+id+"/activation/act_"+noID, "")
}

// moves changes the state, the end and the key of a license.
func (g *golden) moves(id string) {
	path := "/license/" + id
	g.call("POST", path+"/reinstate", "") // is not suspended
	g.call("POST", path+"/suspend", `{"reason":"invoice 1001 is overdue"}`, "Idempotency-Key", "s")
	g.call("POST", path+"/suspend", "")
	g.call("POST", "/license/validate", `{"key":"OWN-KEY-0001-0001"}`, "Authorization", "")
	g.call("POST", "/license/activate", `{"key":"OWN-KEY-0001-0001","fingerprint":"host-5"}`, "Authorization", "")
	g.call("POST", path+"/reinstate", `{"reason":"paid"}`)
	g.call("POST", path+"/suspend", "", "If-Match", `"1.active"`)
	g.call("POST", path+"/renew", `{"duration":"P1Y"}`)
	g.call("POST", path+"/renew", `{"expires_at":"2027-01-01T00:00:00Z"}`)
	g.call("POST", path+"/renew", `{"duration":"1 year","from":"wrong"}`)
	g.call("POST", path+"/renew", `{}`)
	g.call("POST", path+"/rekey", `{"reason":"published by mistake"}`)
	g.call("POST", path+"/rekey", `{"key":"short"}`)
	g.call("POST", path+"/transfer", `{"customer_id":"cus_9","name":"Grace Hopper","reason":"sold"}`)
	g.call("POST", path+"/transfer", `{"customer_id":"lic_9","name":" "}`)
	g.call("POST", path+"/revoke", `{"reason":"chargeback"}`)
	g.call("POST", path+"/transfer", `{"customer_id":"cus_1"}`)
	for _, move := range []string{"revoke", "suspend", "reinstate", "rekey"} {
		g.call("POST", path+"/"+move, "")
	}
	g.call("POST", path+"/renew", `{"duration":"P1Y"}`)
}

// transfer exports and imports licenses.
func (g *golden) transfer() {
	const lines = "application/x-ndjson"
	g.call("GET", "/export/license?product_id=harbor", "")
	g.call("GET", "/export/license?status=wrong", "")
	g.call("POST", "/import/license", strings.Join([]string{
		`{"id":"lic_01kqbwq3s0e9vbnwqmazkbdhfx","name":"Imported","product_id":"p","customer_id":"c","key":"OLD-0001-0001-0001","state":"suspended","state_reason":"old","created_at":"2020-01-01T00:00:00Z"}`,
		`{"name":"Again","product_id":"p","customer_id":"c","key":"OLD-0001-0001-0001"}`,
		`{"name":"No key","product_id":"p","customer_id":"c"}`,
		`{"name":"","product_id":"p","key":"OLD-0001-0001-0002","state":"expired","unknown":1}`,
		`not json`,
	}, "\n"), "Content-Type", lines)
	g.call("POST", "/import/license", `{}`)
}

// webhooks manages a webhook and its deliveries.
func (g *golden) webhooks() {
	made := g.call("POST", "/webhook", `{"url":"https://shop.example/in?token=t","description":"Shop","types":["license.*"],"products":["atlas"]}`)
	path := "/webhook/" + made.json["id"].(string)
	g.call("POST", "/webhook", `{"url":"http://shop.example/","types":["wrong"],"products":[]}`)
	g.call("POST", "/webhook", `{}`)
	g.call("GET", "/webhook", "")
	g.call("GET", path, "")
	g.call("PATCH", path, `{"description":"Shop and more","types":[]}`)
	g.call("PATCH", path, `{"status":"disabled","url":null}`)
	g.call("POST", path+"/rotate", `{"overlap_seconds":60}`)
	g.call("POST", path+"/rotate", `{"overlap_seconds":-1}`)
	g.call("POST", path+"/test", "")
	g.Clock.Advance(time.Second)
	sent := g.call("GET", path+"/delivery?status=pending&limit=1", "")
	g.call("GET", path+"/delivery?status=wrong", "")
	delivery := sent.json["data"].([]any)[0].(map[string]any)["id"].(string)
	g.call("POST", path+"/delivery/"+delivery+"/resend", "")
	g.call("POST", path+"/delivery/dlv_"+noID+"/resend", "")
	g.call("DELETE", path, "")
	g.call("DELETE", path, "")
}
