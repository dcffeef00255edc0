package servicetest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// FuzzCursor sends cursors that were never given out, and altered ones.
func FuzzCursor(f *testing.F) {
	c := newCaller(f, licensing.Options{Limits: licensing.LimitOptions{ClientRate: -1}})
	var ids []string
	for range 5 {
		ids = append(ids, c.create("n", "p", "c"))
	}
	real := c.do("GET", "/license?limit=2", "").json["next_cursor"].(string)
	for _, seed := range []string{real, real[1:], real + "A", strings.ToUpper(real), "", "x", "\x00", "../", "%", strings.Repeat("A", 1000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		c := c.in(t)
		a := c.do("GET", "/license?limit=2&cursor="+url.QueryEscape(cursor), "")
		switch a.Code {
		case http.StatusBadRequest:
			if a.json["errors"].([]any)[0].(map[string]any)["parameter"] != "cursor" {
				t.Fatalf("%q: %s", cursor, a.Body)
			}
		case http.StatusOK: // it means a place in this list
			for _, l := range a.json["data"].([]any) {
				if id := l.(map[string]any)["id"].(string); !strings.Contains(strings.Join(ids, " "), id) {
					t.Fatalf("%q: %s", cursor, a.Body)
				}
			}
		default:
			t.Fatalf("%q: %d %s", cursor, a.Code, a.Body)
		}
	})
}

// FuzzMergePatch compares the metadata after a patch with what RFC 7396 says
// it is; any other body is refused, and changes nothing.
func FuzzMergePatch(f *testing.F) {
	c := newCaller(f, licensing.Options{Limits: licensing.LimitOptions{ClientRate: -1}})
	id := c.create("n", "p", "c")
	for _, seed := range []string{
		`{"metadata":{"a":"1","b":null}}`, `{"metadata":null}`, `{"metadata":{}}`, `{}`, `{"metadata":{"":"x"}}`, `{"metadata":{"a":1}}`,
		`{"metadata":{"a":"\u0000"}}`, `{"metadata":{"~1/":"\ud83d\ude00"}}`, `{"name":null}`, `{"name":"\ud800"}`, `[]`, `{"metadata":{"a":"1","a":"2"}}`,
		`{"entitlements":{"x":1e400,"y":true}}`, `{"expires_at":"9999-12-31T23:59:59-01:00"}`, `{"grace_seconds":-0.0}`, `{"id":"` + id + `"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, patch string) {
		c := c.in(t)
		before := c.do("GET", "/license/"+id, "").json
		if patch == "" {
			return // is no body at all
		}
		a := c.do("PATCH", "/license/"+id, patch, "Content-Type", "application/merge-patch+json")
		after := c.do("GET", "/license/"+id, "").json
		switch {
		case a.Code == http.StatusOK:
			var p map[string]any
			if err := json.Unmarshal([]byte(patch), &p); err != nil {
				t.Fatalf("%q was taken: %v", patch, err)
			}
			want := before["metadata"].(map[string]any)
			if m, there := p["metadata"]; there {
				want = mergePatch(want, m)
			}
			if !reflect.DeepEqual(after["metadata"], want) || !reflect.DeepEqual(after, a.json) {
				t.Fatalf("%q: %v, want metadata %v", patch, after, want)
			}
		case a.Code == http.StatusBadRequest, a.Code == http.StatusUnprocessableEntity:
			if !reflect.DeepEqual(after, before) {
				t.Fatalf("%q was refused and changed %v to %v", patch, before, after)
			}
		default:
			t.Fatalf("%q: %d %s", patch, a.Code, a.Body)
		}
	})
}

// mergePatch is the algorithm of RFC 7396 section 2, one level deep.
func mergePatch(target map[string]any, patch any) map[string]any {
	merged := map[string]any{}
	m, ok := patch.(map[string]any)
	if !ok {
		return merged // null
	}
	for name, v := range target {
		merged[name] = v
	}
	for name, v := range m {
		if merged[name] = v; v == nil {
			delete(merged, name)
		}
	}
	return merged
}
