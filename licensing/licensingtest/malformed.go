package licensingtest

import (
	"fmt"
	"net/http"
	"strings"
)

// A malformed request, the status of its response, and the word with which the
// response identifies the error.
type malformed struct {
	name   string
	method string
	path   string
	body   string
	header headers
	status int
	names  string
}

// testMalformed sends invalid requests and checks after each one that it changed
// nothing.
func testMalformed(a *site) {
	id := a.post("license", object("name", "n", "product_id", "p", "customer_id", "c", "starts_at", stamp(Start))).is(http.StatusCreated).text("id")
	a.create("n", "p", "d")
	before := a.snapshot()
	for _, m := range malformedRequests(id) {
		a.test(m.name, func(a *site) {
			got := a.call(m.method, m.path, m.body, m.header).is(m.status)
			if m.names != "" {
				got.names(m.names)
			}
			before = a.same(before)
		})
	}
}

func malformedRequests(id string) []malformed {
	var all []malformed
	add := func(name, method, path, body string, h headers, status int, names string) {
		all = append(all, malformed{name, method, path, body, h, status, names})
	}

	// Bodies that are not one JSON object.
	for _, b := range []struct {
		name, body string
		status     int
	}{
		{"an empty body", "", 400},
		{"white space", " \n", 400},
		{"half an object", `{"name":"n"`, 400},
		{"two objects", licenseBody("n", "p", "x") + "{}", 400},
		{"text behind the object", licenseBody("n", "p", "x") + "x", 400},
		{"a comma too many", `{"name":"n",}`, 400},
		{"single quotes", `{'name':'n'}`, 400},
		{"a comment", `{/**/}`, 400},
		{"a member twice", `{"name":"n","name":"m","product_id":"p","customer_id":"x"}`, 400},
		{"a nested member twice", `{"name":"n","product_id":"p","customer_id":"x","metadata":{"a":"1","a":"2"}}`, 400},
		{"a byte order mark", "\ufeff" + licenseBody("n", "p", "x"), 400},
		{"invalid UTF-8", `{"name":"` + "\xff" + `","product_id":"p","customer_id":"x"}`, 400},
		{"half a surrogate pair", `{"name":"\ud800","product_id":"p","customer_id":"x"}`, 400},
		{"the wrong half", `{"name":"\udc00\ud800","product_id":"p","customer_id":"x"}`, 400},
		{"an unescaped control character", "{\"name\":\"a\x01b\",\"product_id\":\"p\",\"customer_id\":\"x\"}", 400},
		{"too deep", `{"metadata":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, 400},
		{"far too deep", strings.Repeat(`{"a":`, 10000), 400},
		{"null", "null", 422},
		{"an array", "[]", 422},
		{"a text", `"text"`, 422},
		{"a number", "1", 422},
	} {
		add("POST "+b.name, "POST", "license", b.body, headers{"Content-Type": "application/json"}, b.status, "")
		add("PATCH "+b.name, "PATCH", "license/"+id, b.body, headers{"Content-Type": "application/json"}, b.status, "")
	}

	// The three fields of the specification.
	for _, field := range []string{"name", "product_id", "customer_id"} {
		with := func(value any) string {
			fields := map[string]any{"name": "n", "product_id": "p", "customer_id": "x"}
			if value == nil {
				delete(fields, field)
			} else {
				fields[field] = value
			}
			return string(encode(fields))
		}
		pointer := "#/" + field
		add("POST without "+field, "POST", "license", with(nil), nil, 422, pointer)
		add("POST null as "+field, "POST", "license", strings.Replace(with("?"), `"?"`, "null", 1), nil, 422, pointer)
		add("PATCH null as "+field, "PATCH", "license/"+id, object(field, nil), nil, 422, pointer)
		for _, v := range []struct {
			name  string
			value any
		}{
			{"a number", 1},
			{"an object", map[string]any{}},
			{"true", true},
			{"an empty text", ""},
			{"a leading space", " x"},
			{"a trailing space", "x "},
			{"a trailing newline", "x\n"},
			{"white space of Unicode around it", "\u00a0x\u2003"},
			{"NUL", "a\x00b"},
			{"a C0 control", "a\x1fb"},
			{"a C1 control", "a\u0085b"},
			{"a noncharacter", "a\ufffeb"},
			{"256 characters", strings.Repeat("ä", 256)},
		} {
			add("POST "+v.name+" as "+field, "POST", "license", with(v.value), nil, 422, pointer)
			add("PATCH "+v.name+" as "+field, "PATCH", "license/"+id, object(field, v.value), nil, 422, pointer)
		}
	}
	add("POST a customer_id like a license id", "POST", "license", licenseBody("n", "p", "lic_1"), nil, 422, "#/customer_id")
	add("PATCH a customer_id like a license id", "PATCH", "license/"+id, object("customer_id", "lic_1"), nil, 422, "#/customer_id")

	// The other fields, in both operations.
	for _, f := range []struct{ name, member, pointer string }{
		{"an unknown member", `"colour":"red"`, "#/colour"},
		{"a member in another case", `"Name":"x"`, "#/Name"},
		{"a status", `"status":"revoked"`, "#/status"},
		{"a revision", `"revision":7`, "#/revision"},
		{"a created_at", `"created_at":"2026-01-01T00:00:00Z"`, "#/created_at"},
		{"an updated_at", `"updated_at":"2026-01-01T00:00:00Z"`, "#/updated_at"},
		{"an object", `"object":"license"`, "#/object"},
		{"a time that is a number", `"expires_at":1767225600`, "#/expires_at"},
		{"a time that is a word", `"expires_at":"tomorrow"`, "#/expires_at"},
		{"a date without a time", `"expires_at":"2027-01-01"`, "#/expires_at"},
		{"a time without a zone", `"starts_at":"2027-01-01T00:00:00"`, "#/starts_at"},
		{"an impossible day", `"starts_at":"2027-02-30T00:00:00Z"`, "#/starts_at"},
		{"an end before the beginning", `"starts_at":"2027-01-02T00:00:00Z","expires_at":"2027-01-01T00:00:00Z"`, "#/expires_at"},
		{"negative grace", `"grace_seconds":-1`, "#/grace_seconds"},
		{"half a second of grace", `"grace_seconds":0.5`, "#/grace_seconds"},
		{"grace as text", `"grace_seconds":"1"`, "#/grace_seconds"},
		{"grace beyond all bounds", `"grace_seconds":1e300`, "#/grace_seconds"},
		{"null grace", `"grace_seconds":null`, "#/grace_seconds"},
		{"negative activations", `"max_activations":-1`, "#/max_activations"},
		{"activations as text", `"max_activations":"3"`, "#/max_activations"},
		{"a negative lease", `"lease_seconds":-1`, "#/lease_seconds"},
		{"a lease of nothing", `"lease_seconds":0`, "#/lease_seconds"},
		{"entitlements as an array", `"entitlements":["a"]`, "#/entitlements"},
		{"an entitlement that is false", `"entitlements":{"a":false}`, "#/entitlements/a"},
		{"an entitlement that is an object", `"entitlements":{"a":{}}`, "#/entitlements/a"},
		{"an entitlement beyond all numbers", `"entitlements":{"a":1e999}`, "#/entitlements/a"},
		{"metadata as a text", `"metadata":"a"`, "#/metadata"},
		{"metadata that is a number", `"metadata":{"a":1}`, "#/metadata/a"},
		{"metadata under a name with a slash", `"metadata":{"a/b~c":1}`, "#/metadata/a~1b~0c"},
		{"metadata with a control character", `"metadata":{"a":"\u0000"}`, "#/metadata/a"},
		{"too much metadata", `"metadata":` + manyMetadata(51), "#/metadata"},
	} {
		add("POST "+f.name, "POST", "license", `{"name":"n","product_id":"p","customer_id":"x",`+f.member+`}`, nil, 422, f.pointer)
		add("PATCH "+f.name, "PATCH", "license/"+id, `{`+f.member+`}`, nil, 422, f.pointer)
	}
	add("POST an id", "POST", "license", object("id", id, "name", "n", "product_id", "p", "customer_id", "x"), nil, 422, "#/id")
	add("PATCH an end before the stored beginning", "PATCH", "license/"+id, object("expires_at", "2000-01-01T00:00:00Z"), nil, 422, "#/expires_at")
	add("PATCH an id that is a number", "PATCH", "license", `{"id":1,"name":"x"}`, nil, 422, "#/id")
	add("PATCH an id that is null", "PATCH", "license", `{"id":null,"name":"x","product_id":"p","customer_id":"c"}`, nil, 422, "#/id")
	add("PATCH an empty id in the query", "PATCH", "license?id=", licenseBody("x", "p", "c"), nil, 400, "id")

	// Headers.
	good := licenseBody("n", "p", "x")
	for _, h := range []struct {
		name   string
		header headers
		status int
		names  string
	}{
		{"no Content-Type", headers{"Content-Type": ""}, 415, "application/json"},
		{"text/plain", headers{"Content-Type": "text/plain"}, 415, "application/json"},
		{"a form", headers{"Content-Type": "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"a Content-Type that is none", headers{"Content-Type": "json"}, 415, "application/json"},
		{"another charset", headers{"Content-Type": "application/json; charset=utf-16"}, 415, ""},
		{"a Content-Encoding", headers{"Content-Encoding": "gzip"}, 415, "Content-Encoding"},
		{"an empty Idempotency-Key", headers{"Idempotency-Key": `""`}, 400, "Idempotency-Key"},
		{"a long Idempotency-Key", headers{"Idempotency-Key": strings.Repeat("k", 256)}, 400, "Idempotency-Key"},
		{"two Idempotency-Keys", headers{"Idempotency-Key": "a\nb"}, 400, "Idempotency-Key"},
		{"an Idempotency-Key that is not ASCII", headers{"Idempotency-Key": "ä"}, 400, "Idempotency-Key"},
	} {
		add("POST "+h.name, "POST", "license", good, h.header, h.status, h.names)
		add("PATCH "+h.name, "PATCH", "license/"+id, object("name", "x"), h.header, h.status, h.names)
	}
	for _, tag := range []string{`1.active`, `"1.active`, `, `, `*, "1.active"`, `w/"1.active"`, `"1.active"x`, `"1.active" "2.active"`} {
		name := fmt.Sprintf("If-Match: %s", tag)
		add("PATCH "+name, "PATCH", "license/"+id, object("name", "x"), headers{"If-Match": tag}, 400, "If-Match")
		add("DELETE "+name, "DELETE", "license/"+id, "", headers{"If-Match": tag}, 400, "If-Match")
	}
	add("GET If-None-Match that is none", "GET", "license/"+id, "", headers{"If-None-Match": `1.active`}, 400, "If-None-Match")
	add("POST a body beyond the limit", "POST", "license", object("name", strings.Repeat("x", 70_000)), nil, 413, "")
	add("DELETE with a body", "DELETE", "license/"+id, `{"force":true}`, nil, 400, "body")

	// Queries.
	for _, q := range []struct{ query, names string }{
		{"colour=red", "colour"},
		{"customer=c", "customer"},
		{"Customer_ID=c", "Customer_ID"},
		{"customer_id=c&customer_id=d", "customer_id"},
		{"customer_id=", "customer_id"},
		{"customer_id=%00", "customer_id"},
		{"customer_id=%ff", "customer_id"},
		{"product_id=", "product_id"},
		{"status=", "status"},
		{"status=Active", "status"},
		{"status=gone", "status"},
		{"expires_before=", "expires_before"},
		{"expires_before=soon", "expires_before"},
		{"expires_after=2026-13-01T00:00:00Z", "expires_after"},
		{"limit=", "limit"},
		{"limit=0", "limit"},
		{"limit=-1", "limit"},
		{"limit=201", "limit"},
		{"limit=1.5", "limit"},
		{"limit=%2B5", "limit"},
		{"limit=ten", "limit"},
		{"limit=99999999999999999999", "limit"},
		{"limit=1&limit=2", "limit"},
		{"cursor=", "cursor"},
		{"cursor=hello", "cursor"},
		{"cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "cursor"},
		{"cursor=%F0%9F%9A%80", "cursor"},
		{"a;b=c", ""},
		{"%zz", ""},
		{"=", ""},
	} {
		add("GET license?"+q.query, "GET", "license?"+q.query, "", nil, 400, q.names)
	}
	add("GET with a customer_id beyond the limit", "GET", "license?customer_id="+strings.Repeat("x", 256), "", nil, 400, "customer_id")
	add("GET with a cursor beyond all bounds", "GET", "license?cursor="+strings.Repeat("A", 5000), "", nil, 400, "cursor")
	add("GET one with a parameter", "GET", "license/"+id+"?expand=all", "", nil, 400, "expand")
	add("GET a customer's with another customer", "GET", "license/c?customer_id=d", "", nil, 400, "customer_id")
	add("POST with a parameter", "POST", "license?dry_run=true", good, nil, 400, "dry_run")
	add("PATCH with a parameter", "PATCH", "license/"+id+"?force=1", object("name", "x"), nil, 400, "force")
	add("PATCH with two ids in the query", "PATCH", "license?id="+id+"&id="+id, object("name", "x"), nil, 400, "id")
	add("DELETE with a parameter", "DELETE", "license/"+id+"?force=1", "", nil, 400, "force")

	// Ids in the path.
	for _, bad := range []struct{ name, id string }{
		{"a prefix alone", "lic_"},
		{"a short id", noLicense[:len(noLicense)-1]},
		{"a long id", noLicense + "0"},
		{"an id in capitals", strings.ToUpper(noLicense)},
		{"an id behind a space", "%20" + noLicense},
		{"an id of another kind", "evt" + noLicense[3:]},
		{"NUL", "%00"},
		{"invalid UTF-8", "%ff"},
		{"3,000 characters", strings.Repeat("x", 3000)},
	} {
		add("GET "+bad.name, "GET", "license/"+bad.id, "", nil, 404, "")
		add("PATCH "+bad.name, "PATCH", "license/"+bad.id, object("name", "x"), nil, 404, "")
		add("DELETE "+bad.name, "DELETE", "license/"+bad.id, "", nil, 404, "")
	}
	return all
}

// manyMetadata writes n entries.
func manyMetadata(n int) string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprintf("k%d", i)] = "v"
	}
	return string(encode(m))
}
