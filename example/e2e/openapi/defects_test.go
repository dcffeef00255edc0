package openapi

import (
	"bytes"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A sent request is one that a service with a defect got.
type sent struct{ method, path, body string }

// An answer is what a defect answers.
type answer struct {
	status      int
	contentType string
	body        string
}

// A planted defect answers a request, or returns nil. It may also change the body. It
// knows the requests that were accepted before.
type planted func(r *sent, accepted []sent) *answer

// failing answers as described that the service failed.
var failing = &answer{http.StatusInternalServerError, "application/problem+json", `{"type":"about:blank","title":"Internal Server Error","status":500,"code":"internal","detail":"d","request_id":"r"}`}

// readsLicense reports whether a license is read by its ID.
func readsLicense(r *sent) bool {
	return r.method == http.MethodGet && strings.HasPrefix(r.path, "/license/lic_") && strings.Count(r.path, "/") == 2
}

// always is a defect in every answer to a request that reads a license.
func always(wrong answer) planted {
	return func(r *sent, _ []sent) *answer {
		if readsLicense(r) {
			return &wrong
		}
		return nil
	}
}

// after is a defect in the answer to a request with a body, by one that was accepted
// earlier.
func after(method string, is func(earlier, now sent) bool) planted {
	return func(r *sent, accepted []sent) *answer {
		if r.method == method && len(r.body) > 2 && slices.ContainsFunc(accepted, func(earlier sent) bool {
			return earlier.method == method && is(earlier, *r)
		}) {
			return failing
		}
		return nil
	}
}

// TestFuzzFindsDefects checks that TestFuzz would find a service that is not as
// described, and one that is not when a valid body comes again.
func TestFuzzFindsDefects(t *testing.T) {
	c := newChecker(t)
	for name, defect := range map[string]planted{
		"status":       always(answer{http.StatusTeapot, "application/problem+json", `{"type":"about:blank","title":"I'm a teapot","status":418,"code":"x","request_id":"r"}`}),
		"failure":      always(*failing),
		"content type": always(answer{http.StatusNotFound, "text/plain", "not found"}),
		"body":         always(answer{http.StatusOK, "application/json", `{"object":"license","id":7}`}),
		"not JSON":     always(answer{http.StatusOK, "application/json", `{"object"`}),

		"the same again": after(http.MethodPatch, func(earlier, now sent) bool { return earlier == now }),
		"the same for another": after(http.MethodPut, func(earlier, now sent) bool {
			return earlier.body == now.body && earlier.path != now.path
		}),
		"another value": after(http.MethodPut, func(earlier, now sent) bool {
			return earlier.path == now.path && difference(earlier, now) == 1
		}),
		"another member": after(http.MethodPatch, func(earlier, now sent) bool {
			return earlier.path == now.path && len(object(now.body)) > 3 && difference(earlier, now) == 1
		}),
		"a member twice": func(r *sent, _ []sent) *answer {
			if members := object(r.body); members != nil {
				r.body = join(members)
			}
			return nil
		},
		"refused although it was just read": func(r *sent, _ []sent) *answer {
			if r.method == http.MethodPatch && strings.Contains(r.body, `"offline_seconds":null`) {
				return &answer{http.StatusUnprocessableEntity, "application/problem+json", `{"type":"about:blank","title":"Unprocessable Entity","status":422,"code":"invalid_parameters","detail":"d","request_id":"r","errors":[]}`}
			}
			return nil
		},
		"changed when it is written back unchanged": func(r *sent, _ []sent) *answer {
			if r.method == http.MethodPatch {
				r.body = strings.Replace(r.body, `"name":"`, `"name":"x`, 1)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var accepted []sent
			f := newFuzzer(t, c, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					now := sent{r.Method, r.URL.Path, string(body)}
					wrong := defect(&now, accepted)
					r.Body = io.NopCloser(strings.NewReader(now.body))
					got := httptest.NewRecorder()
					if next.ServeHTTP(got, r); got.Code < 300 {
						accepted = append(accepted, now)
					}
					maps.Copy(w.Header(), got.Header())
					if wrong == nil {
						wrong = &answer{got.Code, got.Header().Get("Content-Type"), got.Body.String()}
					}
					w.Header().Set("Content-Type", wrong.contentType)
					w.WriteHeader(wrong.status)
					io.WriteString(w, wrong.body)
				})
			}, rand.New(rand.NewPCG(1, 2)), false)
			defer f.stop()
			for n := range 5 * perService {
				if _, err := f.next(); err != nil {
					t.Logf("request %d: %v", n, err)
					return
				}
			}
			t.Error("the defect was not found")
		})
	}
}

// difference counts the members that only one of two bodies has, or with another
// value.
func difference(a, b sent) (n int) {
	x, y := object(a.body), object(b.body)
	for name, value := range x {
		if !bytes.Equal(y[name], value) {
			n++
		}
	}
	for name := range y {
		if x[name] == nil {
			n++
		}
	}
	return n
}
