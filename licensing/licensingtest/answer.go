package licensingtest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// An answer is a response with checks that fail the test and print the whole
// exchange.
type answer struct {
	t       *testing.T
	request string
	status  int
	header  http.Header
	body    []byte
}

func (an *answer) errorf(format string, args ...any) {
	an.t.Helper()
	an.t.Errorf(format+"\n--- request\n%s\n--- answer\n%d %v\n%s", append(args, an.request, an.status, an.header, abridge(string(an.body)))...)
}

// sound checks what holds for every response.
func (an *answer) sound(method string) {
	an.t.Helper()
	if an.status >= 500 {
		an.errorf("the service failed")
	}
	if an.header.Get("X-Request-Id") == "" {
		an.errorf("no X-Request-Id")
	}
	if v := an.header.Get("Licensing-Version"); v != "1" {
		an.errorf("Licensing-Version is %q, want 1", v)
	}
	if an.status == http.StatusMethodNotAllowed && an.header.Get("Allow") == "" {
		an.errorf("405 without Allow (RFC 9110, 15.5.6)")
	}
	if an.status == http.StatusUnauthorized && an.header.Get("WWW-Authenticate") == "" {
		an.errorf("401 without WWW-Authenticate (RFC 9110, 15.5.2)")
	}
	if method == http.MethodHead || len(an.body) == 0 {
		return
	}
	if an.header.Get("Content-Type") == lineByLine {
		for _, line := range an.lines() {
			if !json.Valid([]byte(line)) {
				an.errorf("a line is not JSON: %s", line)
			}
		}
		return
	}
	if an.header.Get("Content-Type") == "application/jwt" {
		return
	}
	if !json.Valid(an.body) {
		an.errorf("the body is not JSON")
		return
	}
	switch mediaType := an.header.Get("Content-Type"); {
	case mediaType == "application/problem+json":
		an.problem()
	case mediaType != "application/json":
		an.errorf("Content-Type is %q", mediaType)
	case an.status >= 400 && an.at("error") == nil: // RFC 6749, 5.2, at the token endpoint
		an.errorf("an error that is not a problem (RFC 9457)")
	}
}

// problem checks the RFC 9457 members and the additional ones.
func (an *answer) problem() {
	an.t.Helper()
	if an.status < 400 {
		an.errorf("a problem with a status of success")
	}
	an.has("status", an.status)
	for _, member := range []string{"type", "title", "detail", "code", "request_id"} {
		if s, _ := an.at(member).(string); s == "" {
			an.errorf("the problem has no %s", member)
		}
	}
	an.has("request_id", an.header.Get("X-Request-Id"))
}

// is checks the status.
func (an *answer) is(status int) *answer {
	an.t.Helper()
	if an.status != status {
		an.errorf("status is %d, want %d", an.status, status)
	}
	return an
}

// at returns the value at a path such as "data/0/id", or nil.
func (an *answer) at(path string) any {
	var v any
	if json.Unmarshal(an.body, &v) != nil {
		return nil
	}
	for name := range strings.SplitSeq(path, "/") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// text returns the string at a path, which must exist.
func (an *answer) text(path string) string {
	an.t.Helper()
	s, ok := an.at(path).(string)
	if !ok || s == "" {
		an.errorf("no text at %s", path)
	}
	return s
}

// has checks the value at a path.
func (an *answer) has(path string, want any) *answer {
	an.t.Helper()
	if got := string(encode(an.at(path))); got != string(encode(want)) {
		an.errorf("%s is %s, want %s", path, got, encode(want))
	}
	return an
}

// hasHeader checks the value of a header; empty: it must be absent.
func (an *answer) hasHeader(name, want string) *answer {
	an.t.Helper()
	if got := strings.Join(an.header.Values(name), ", "); got != want {
		an.errorf("%s is %q, want %q", name, got, want)
	}
	return an
}

// names checks that a problem identifies the error: word is the pointer of one of
// its errors or appears in its detail.
func (an *answer) names(word string) *answer {
	an.t.Helper()
	if errs, ok := an.at("errors").([]any); ok {
		for _, e := range errs {
			if e, _ := e.(map[string]any); e["pointer"] == word && e["detail"] != "" && e["code"] != "" {
				return an
			}
		}
	}
	if detail, _ := an.at("detail").(string); !strings.Contains(detail, word) {
		an.errorf("the problem does not name %q", word)
	}
	return an
}

// ids returns the IDs of a list in order.
func (an *answer) ids() []string {
	data, _ := an.at("data").([]any)
	ids := make([]string, 0, len(data))
	for _, l := range data {
		if l, ok := l.(map[string]any); ok {
			id, _ := l["id"].(string)
			ids = append(ids, id)
		}
	}
	return ids
}
