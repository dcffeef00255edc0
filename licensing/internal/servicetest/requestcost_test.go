//go:build !race

package servicetest

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/endpoints"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A cost is what was allocated.
type cost struct{ bytes, objects uint64 }

// costOf returns the least that h allocated for one of some equal requests, and its status. A
// request whose cost is at most enough is not repeated: another goroutine, or a
// collection that empties a pool, can only add to it.
func costOf(h http.Handler, enough cost, request func() *http.Request) (least cost, status int) {
	least = cost{math.MaxUint64, math.MaxUint64}
	for range 30 {
		r, w := request(), httptest.NewRecorder()
		w.Body.Grow(64 << 10)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		status = w.Code
		least.bytes = min(least.bytes, after.TotalAlloc-before.TotalAlloc)
		least.objects = min(least.objects, after.Mallocs-before.Mallocs)
		if least.bytes <= enough.bytes && least.objects <= enough.objects {
			break
		}
	}
	return least, status
}

// filled returns text that is repeated between two ends up to a size.
func filled(size int, begin, text, end string) string {
	return begin + strings.Repeat(text, (size-len(begin)-len(end))/len(text)) + end
}

// numbered returns an object with a member for each number, up to a size or a count.
func numbered(size, count int, member string) string {
	var b strings.Builder
	b.WriteString("{")
	for i := 0; i < count && b.Len() < size-len(member)-10; i++ {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, member, i)
	}
	return b.String() + "}"
}

// hostileValues returns values of JSON that are costly to decode, of at most a size.
func hostileValues(size int) map[string]string {
	list := func(element string) string { return filled(size, "["+element, ","+element, "]") }
	hundred := func(element string) string { return "[" + element + strings.Repeat(","+element, 99) + "]" }
	return map[string]string{
		"elements {}":                 list(`{}`),
		`elements {"a":1}`:            list(`{"a":1}`),
		"elements 0":                  list(`0`),
		"elements null":               list(`null`),
		"elements []":                 list(`[]`),
		`elements ""`:                 list(`""`),
		`elements "a"`:                list(`"a"`),
		"elements, valid":             list(`{"meter":"m","id":"i","total":1}`),
		"100 elements {}":             hundred(`{}`),
		`100 elements ""`:             hundred(`""`),
		"100 elements, long":          hundred(`"` + strings.Repeat("x", size/100-4) + `"`),
		"100 elements, escaped":       hundred(`"` + strings.Repeat(`\n`, size/200-4) + `"`),
		"100 elements, invalid":       hundred(`{"meter":"","id":"","total":0}`),
		"100 elements, reserved":      hundred(`{"meter":"activations","id":"i","total":1,"at":"1999-01-01T00:00:00Z"}`),
		"100 elements, unknown":       hundred(numbered(size/100-10, 1000, `"%d":0`)),
		"members 0":                   numbered(size, size, `"%d":0`),
		"members {}":                  numbered(size, size, `"%d":{}`),
		`members "0"`:                 numbered(size, size, `"%d":"0"`),
		"members, escaped":            numbered(size, size, `"\u0061%d":0`),
		"a long name":                 `{"` + strings.Repeat("x", size-20) + `":0}`,
		"a long escaped name":         `{"` + strings.Repeat(`\n`, size/2-20) + `":0}`,
		"50 members, long names":      numbered(size, 50, `"`+strings.Repeat("/", size/50-20)+`%d":0`),
		"50 members, long values":     numbered(size, 50, `"%d":"`+strings.Repeat("x", size/50-20)+`"`),
		"50 members, invalid":         numbered(size, 50, `"%d":"\n"`),
		"900 members":                 numbered(size, 900, `"%d":0`),
		"depth, arrays":               strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"depth, objects":              filled(size, "", `{"a":`, ""),
		"depth 30":                    list(strings.Repeat("[", 30) + strings.Repeat("]", 30)),
		"a long string":               filled(size, `"`, "x", `"`),
		"a string, control":           filled(size, `"`, `\n`, `"`),
		"a string, escaped":           filled(size, `"`, `\u00e9`, `"`),
		"a string, pairs":             filled(size, `"`, `\ud83d\ude00`, `"`),
		"a string, lone half":         filled(size, `"`, `\ud83d\ude00`, `\ud83d"`),
		"a string of 2,000":           filled(2000, `"`, `x`, `"`),
		"a long number":               filled(size, "", "9", ""),
		"a long fraction":             filled(size, "0.", "0", "1"),
		"a long exponent":             filled(size, "1e", "9", ""),
		"a number with useless zeros": filled(size, "5.", "0", ""),
	}
}

// hostileBodies returns bodies of a size. They have the members, of which known ones are valid
// but for one.
func hostileBodies(size int, members []string, known map[string]string) map[string]string {
	bodies := map[string]string{
		"white space":    strings.Repeat(" ", size),
		"open string":    filled(size, `{"`, "x", ""),
		"not JSON":       strings.Repeat("x", size),
		"not UTF-8":      strings.Repeat("\xff", size),
		"an array":       filled(size, "[0", ",0", "]"),
		"twice":          strings.TrimSuffix(numbered(size-20, size, `"%d":0`), "}") + `,"0":0}`,
		"too large":      strings.Repeat(" ", size+1),
		"all long":       numbered(0, 0, ""),
		"unknown, empty": "{}",
	}
	long := make([]string, len(members))
	for i, name := range members {
		long[i] = fmt.Sprintf("%q:%q", name, strings.Repeat("x", size/len(members)-len(name)-10))
	}
	bodies["all long"] = "{" + strings.Join(long, ",") + "}"
	for _, member := range append(members, "no_such_member") {
		valid := ""
		for name, value := range known {
			if name != member && slices.Contains(members, name) {
				valid += fmt.Sprintf("%q:%q,", name, value)
			}
		}
		for name, value := range hostileValues(size - len(valid) - len(member) - 20) {
			bodies[member+": "+name] = "{" + valid + fmt.Sprintf("%q:", member) + value + "}"
		}
	}
	return bodies
}

// membersOf returns the names of the members of a parameter struct.
func membersOf(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// TestAnInvalidRequestCostsAtMostTenChecks: a stranger cannot make the service work by
// requests that it refuses. It is not built with the race detector, which allocates.
func TestAnInvalidRequestCostsAtMostTenChecks(t *testing.T) {
	const maxBody, maxTokenBody = 64 << 10, 16 << 10 // the defaults
	is := is.New(t)
	c := newCaller(t, licensing.Options{
		Limits: licensing.LimitOptions{AddressRate: -1, KeyRate: -1},
		Tokens: auth.TokenOptions{MaxFailures: 1000},
	})
	lic, err := c.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "cus_1"})
	is.NoErr(err)
	known := map[string]string{"key": lic.Key, "fingerprint": "f"}
	request := func(method, target, mediaType, body string) func() *http.Request {
		return func() *http.Request {
			var reader io.Reader
			if body != "" {
				reader = strings.NewReader(body)
			}
			r := httptest.NewRequestWithContext(t.Context(), method, target, reader)
			if body != "" {
				r.Header.Set("Content-Type", mediaType)
			}
			return r
		}
	}
	check := request("POST", "/license/validate", "application/json", `{"key":"`+lic.Key+`"}`)
	one, status := costOf(c.Handler, cost{}, check)
	is.Equal(status, http.StatusOK)
	most := cost{10 * one.bytes, 10 * one.objects}
	requests, invalid := 0, 0
	try := func(what string, request func() *http.Request) {
		requests++
		got, status := costOf(c.Handler, most, request)
		switch {
		case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
			invalid++
		case status == http.StatusTooManyRequests, status >= 500:
			t.Errorf("%s: status %d", what, status)
		}
		if got.bytes > most.bytes || got.objects > most.objects {
			t.Errorf("%s (%d): %d bytes and %d objects, more than 10 checks: %d bytes and %d objects",
				what, status, got.bytes, got.objects, most.bytes, most.objects)
		}
	}
	for _, route := range endpoints.Routes(endpoints.Config{Auth: auth.New(memory.New(), auth.Options{}), Metadata: http.NotFoundHandler()}) {
		if route.Scope != "" && route.ScopeFor == "" {
			continue
		}
		what := route.Method + " " + route.Path
		for name, query := range map[string]string{
			"many parameters":      filled(maxBody, "a", "&a", ""),
			"different parameters": strings.Trim(strings.NewReplacer(`"`, "", ":0", "", ",", "&").Replace(numbered(maxBody, maxBody, `"%d":0`)), "{}"),
			"199 parameters":       strings.Trim(strings.NewReplacer(`"`, "", ":0", "", ",", "&").Replace(numbered(maxBody, 199, `"%d":0`)), "{}"),
			"a long name":          filled(maxBody, "", "x", ""),
			"an escaped name":      filled(30<<10, "", "%20", ""),
		} {
			try(what+"?"+name, request(route.Method, route.Path+"?"+query, "", ""))
		}
		bodies, mediaTypes := map[string]string{}, []string{"application/json"}
		switch {
		case route.OAuth:
			size := maxTokenBody
			bodies = hostileBodies(size, []string{"grant_type", "client_id", "client_secret", "token"}, nil)
			bodies["parameters"] = filled(size, "a", "&a", "")
			bodies["escaped parameters"] = filled(size, "token=", "%20", "")
			bodies["a long parameter"] = filled(size, "token=", "x", "")
			mediaTypes = append(mediaTypes, "application/x-www-form-urlencoded")
		case route.Do != nil && route.Method == "POST":
			bodies = hostileBodies(maxBody, membersOf(route.Do.Params), known)
			mediaTypes = append(mediaTypes, filled(maxBody, "application/json", ";a=b", ""))
		}
		for name, body := range bodies {
			for i, mediaType := range mediaTypes {
				if i > 0 && !route.OAuth && name != "not JSON" {
					continue // one body shows what the type costs
				}
				try(fmt.Sprintf("%s %.20s %s", what, mediaType, name), request("POST", route.Path, mediaType, body))
			}
		}
	}
	t.Logf("%d requests, of which %d are invalid; a check costs %d bytes and %d objects", requests, invalid, one.bytes, one.objects)
	is.True(invalid > 1000)
}
