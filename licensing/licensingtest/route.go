package licensingtest

import (
	"net/http"
	"strings"
)

// testRoutes requests paths and methods that do not exist.
func testRoutes(a *site) {
	id := a.create("n", "p", "c")
	before := a.snapshot()

	for _, path := range []string{
		"nothing", "licenses", "License", "license/", "license/" + id + "/", "license/" + id + "/nothing", "license/" + id + "/nothing/at/all",
		"oauth", "oauth/", "oauth/nothing", "oauth/token/", "/license", "license//" + id, "./license", "license/../license", "license/%2e%2e/license", "%6cicense%2f" + id,
	} {
		a.test("404 "+path, func(a *site) {
			got := a.get(path).is(http.StatusNotFound)
			if l := got.header.Get("Location"); l != "" {
				got.errorf("a redirect to %s", l)
			}
		})
	}

	for _, c := range []struct{ method, path, allow string }{
		{"PUT", "license", "GET, HEAD, OPTIONS, PATCH, POST"},
		{"DELETE", "license", "GET, HEAD, OPTIONS, PATCH, POST"},
		{"POST", "license/" + id, "DELETE, GET, HEAD, OPTIONS, PATCH"},
		{"PUT", "license/" + id, "DELETE, GET, HEAD, OPTIONS, PATCH"},
		{"BREW", "license/" + id, "DELETE, GET, HEAD, OPTIONS, PATCH"},
		{"DELETE", "oauth/token", "GET, POST"},
		{"TRACE", "license", "GET, HEAD, OPTIONS, PATCH, POST"},
	} {
		a.test("405 "+c.method+" "+c.path, func(a *site) {
			got := a.call(c.method, c.path, "").is(http.StatusMethodNotAllowed)
			if !sameSet(fields(got.header.Get("Allow")), fields(c.allow)) {
				got.errorf("Allow should be %s", c.allow)
			}
		})
	}

	a.test("OPTIONS tells what is allowed, and no more", func(a *site) {
		got := a.call(http.MethodOptions, "license", "", anonymous).is(http.StatusNoContent).hasHeader("Access-Control-Allow-Origin", "")
		if !sameSet(fields(got.header.Get("Allow")), fields("GET, HEAD, OPTIONS, PATCH, POST")) {
			got.errorf("Allow should list the methods")
		}
	})

	a.test("a request id is taken over if it is one", func(a *site) {
		a.get("license", headers{"X-Request-Id": "job-7.a_B"}).is(http.StatusOK).hasHeader("X-Request-Id", "job-7.a_B")
		for _, bad := range []string{"two words", "<script>", "0123456789012345678901234567890123456789012345678901234567890123456789"} {
			if got := a.get("license", headers{"X-Request-Id": bad}).is(http.StatusOK); got.header.Get("X-Request-Id") == bad {
				got.errorf("this is no request id")
			}
		}
	})
	a.same(before)
}

// fields splits the list in a header.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
