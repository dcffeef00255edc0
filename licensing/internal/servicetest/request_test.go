package servicetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// The errors of a request are reported in a fixed order, whatever else is
// wrong with it: each case has the faults of all that follow.
func TestChecksComeInTheirOrder(t *testing.T) {
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{MaxBody: 1024}})
	id := c.create("n", "p", "c")
	reader, secret := c.NewClient(auth.CreateClientParams{Name: "reader", Scopes: []string{auth.ScopeLicenseRead}})
	readOnly, _ := c.NewToken(reader.ID, secret)
	used := c.do("PATCH", "/license/"+id, `{"name":"used","expires_at":"2030-01-01T00:00:00Z"}`, "Idempotency-Key", "used")
	if used.Code != http.StatusOK {
		t.Fatal(used.Body)
	}
	gone := "lic_00000000000000000000000000"
	large := `{"name":"` + strings.Repeat("x", 2000) + `"}`

	for _, step := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     string
	}{
		{"path", "BREW", "/nowhere/" + gone, large, []string{"Authorization", ""}, 404, "no_such_path"},
		{"method", "POST", "/license/" + gone, large, []string{"Authorization", ""}, 405, "method_not_allowed"},
		{"token", "PATCH", "/license/" + gone + "?x=1", large, []string{"Authorization", "", "Content-Type", "text/plain"}, 401, "unauthorized"},
		{"scope", "PATCH", "/license/" + gone + "?x=1", large, []string{"Authorization", "Bearer " + readOnly, "Content-Type", "text/plain"}, 403, "insufficient_scope"},
		{"type", "PATCH", "/license/" + gone, large, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"size", "PATCH", "/license/" + gone, large, nil, 413, "body_too_large"},
		{"JSON", "PATCH", "/license/" + gone, `{"name":1,`, []string{"Idempotency-Key", "used"}, 400, "invalid_json"},
		{"members", "PATCH", "/license/" + gone, `{"name":1}`, []string{"Idempotency-Key", "used"}, 422, "invalid_parameters"},
		{"idempotency", "PATCH", "/license/" + gone, `{"name":""}`, []string{"Idempotency-Key", "used"}, 422, "idempotency_key_reused"},
		{"values", "PATCH", "/license/" + gone, `{"name":""}`, []string{"If-Match", `"9.active"`}, 422, "invalid_parameters"},
		{"existence", "PATCH", "/license/" + gone, `{"starts_at":"2030-01-02T00:00:00Z"}`, []string{"If-Match", `"9.active"`}, 404, "not_found"},
		{"precondition", "PATCH", "/license/" + id, `{"starts_at":"2030-01-02T00:00:00Z"}`, []string{"If-Match", `"9.active"`}, 412, "stale"},
		{"rules", "PATCH", "/license/" + id, `{"starts_at":"2030-01-02T00:00:00Z"}`, nil, 422, "invalid_parameters"},
	} {
		t.Run(step.name, func(t *testing.T) {
			is := is.New(t)
			a := c.do(step.method, step.path, step.body, step.header...)
			is.Equal(a.Code, step.status)
			is.Equal(a.json["code"], step.code)
			is.Equal(a.Header().Get("Content-Type"), "application/problem+json")
			is.Equal(a.json["type"], "about:blank")
			is.Equal(a.json["title"], http.StatusText(step.status))
			is.Equal(a.json["status"], float64(step.status))
			is.Equal(a.json["request_id"], a.Header().Get("X-Request-Id"))
		})
	}
}

// TestATagThatAProxyChanged is refused with what changed it: to read the record again does
// not help behind a proxy that compresses responses.
func TestATagThatAProxyChanged(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	license := "/license/" + c.create("n", "p", "c")
	for tag, proxy := range map[string]bool{
		`W/"1.active"`: true, `"1.active-gzip"`: true, `"1.active;br"`: true, `W/"1.active", "2.active-gzip"`: true,
		`"2.active"`: false, `W/"1.active", "2.active"`: false,
	} {
		for method, body := range map[string]string{"PATCH": `{"name":"m"}`, "DELETE": "", "GET": ""} {
			is := is.New(t)
			a := c.do(method, license, body, "If-Match", tag)
			is.Equal([]any{a.Code, a.json["code"], a.Header().Get("ETag")}, []any{412, "stale", `"1.active"`})
			detail := a.json["detail"].(string)
			is.Equal([]bool{strings.Contains(detail, "proxy"), strings.Contains(detail, "has changed since")}, []bool{proxy, !proxy})
		}
	}
}

// TestFaultsOfABodyPrecedeTheRecord: a faulty body is reported with all its
// errors, whether or not the record exists and what state it is in.
func TestFaultsOfABodyPrecedeTheRecord(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	revoked := "/license/" + c.create("n", "p", "c")
	if a := c.do("POST", revoked+"/revoke", ""); a.Code != http.StatusOK {
		t.Fatal(a.Body)
	}
	for _, x := range []struct{ method, path, body, want string }{
		{"PATCH", "", `{"name":"","grace_seconds":"1","metadata":{"m":1,"":"x"}}`, "#/grace_seconds #/metadata/m #/name #/metadata"},
		{"PATCH", "", `{"name":"","metadata":{"":"x"}}`, "#/name #/metadata"},
		{"POST", "/suspend", `{"why":1,"reason":"a\nb"}`, "#/why #/reason"},
		{"POST", "/suspend", `{"reason":"a\nb"}`, "#/reason"},
		{"POST", "/renew", `{"duration":"soon","from":"then"}`, "#/duration #/from"},
		{"POST", "/renew", `{"from":"then"}`, "#/from #/expires_at"},
		{"POST", "/rekey", `{"key":"short","reason":1}`, "#/reason #/key"},
		{"POST", "/file/void", `{"reason":" "}`, "#/reason"},
		{"POST", "/file", `{"lifetime":1,"fingerprint":"f","activation_id":"a","nonce":"?"}`, "#/lifetime #/nonce #/fingerprint"},
	} {
		for _, path := range []string{revoked, "/license/lic_" + noID} {
			t.Run(x.method+" "+path+x.path+" "+x.body, func(t *testing.T) {
				is := is.New(t)
				a := c.do(x.method, path+x.path, x.body)
				is.Equal(a.Code, http.StatusUnprocessableEntity)
				var pointers []string
				for _, e := range a.json["errors"].([]any) {
					pointers = append(pointers, e.(map[string]any)["pointer"].(string))
				}
				is.Equal(strings.Join(pointers, " "), x.want)
			})
		}
	}
	is := is.New(t)
	for path, body := range map[string]string{
		"/webhook/whk_" + noID:       `{"url":"ftp://x","types":[1],"status":"off"}`,
		"/license/lic_" + noID + "?": `{"key":"x"}`,
	} {
		is.Equal(c.do("PATCH", path, body).Code, http.StatusUnprocessableEntity)
	}
	a := c.do("POST", "/license/deactivate", `{"activation_id":"a","fingerprint":"f","key":1}`)
	require.Contains(t, a.Body.String(), `"#/key"`, `"#/fingerprint"`)
	a = c.do("POST", "/license/file", `{"lifetime":1,"nonce":"?"}`)
	require.Contains(t, a.Body.String(), `"#/lifetime"`, `"#/nonce"`, `"#/key"`)
	a = c.do("POST", "/license/activation", `{"key":""}`)
	require.Contains(t, a.Body.String(), `"#/key"`)
	a = c.do("PATCH", "/license", `{"grace_seconds":1.5}`)
	require.Contains(t, a.Body.String(), `"#/grace_seconds"`, `"#/name"`, `"#/customer_id"`)
}

func TestAllErrorsOfABodyAreReportedTogether(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	a := c.do("POST", "/license", `{"name":1,"customer_id":"lic_x","grace_seconds":-1,"max_activations":1.5,"expires_at":"soon",
		"entitlements":{"a/b":[]},"metadata":{"m":null},"status":"active","colour":"red","Product_id":"p"}`)
	is.Equal(a.Code, http.StatusUnprocessableEntity)
	got := map[string]string{}
	for _, e := range a.json["errors"].([]any) {
		fault := e.(map[string]any)
		is.True(fault["detail"] != "")
		pointer := fault["pointer"].(string)
		is.Equal(got[pointer], "") // one a member
		got[pointer] = fault["code"].(string)
	}
	is.Equal(got, map[string]string{
		"#/name": "invalid_type", "#/product_id": "required", "#/customer_id": "invalid_format", "#/grace_seconds": "out_of_range",
		"#/max_activations": "invalid_type", "#/expires_at": "invalid_format", "#/entitlements/a~1b": "invalid_type", "#/metadata/m": "invalid_type",
		"#/status": "immutable", "#/colour": "unknown", "#/Product_id": "unknown",
	})
}

// TestANumberThatIsTooLargeIsNotCalledFractional: such a number is whole.
func TestANumberThatIsTooLargeIsNotCalledFractional(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	path := "/license/" + c.create("n", "p", "c")
	for number, want := range map[string]string{
		"9007199254740993": "must be between -9007199254740991 and 9007199254740991",
		"-1e400":           "must be between -9007199254740991 and 9007199254740991",
		"9007199254740991": "must be at most 1000000",
		"1.5":              "must be a whole number",
	} {
		a := c.do("PATCH", path, `{"max_activations":`+number+`}`)
		require.Contains(t, a.Body.String(), `"pointer":"#/max_activations","detail":"`+want+`"`)
	}
	a := c.do("PATCH", path, `{"entitlements":{"a":1e400}}`)
	require.Contains(t, a.Body.String(), `"pointer":"#/entitlements/a"`, `"code":"out_of_range"`)
}

func TestHEADIsGETWithoutTheBody(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	id := c.create("n", "p", "c")
	for _, path := range []string{"/license/" + id, "/license", "/license/c", "/health", "/ready", "/license/cus_none", "/nothing"} {
		get, head := c.do("GET", path, ""), c.do("HEAD", path, "")
		is.Equal(head.Code, get.Code)
		is.Equal(head.Body.Len(), 0)
		for _, name := range []string{"Content-Type", "Content-Length", "ETag", "Cache-Control", "Licensing-Version"} {
			is.Equal(head.Header().Get(name), get.Header().Get(name))
		}
	}
	before := len(c.Events())
	is.Equal(c.do("HEAD", "/oauth/token?client_id="+c.Client.ID+"&client_secret="+c.Secret, "").Code, http.StatusMethodNotAllowed)
	is.Equal(len(c.Events()), before)
}

func TestUnsupportedBodiesSayWhatIsSupported(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	id := c.create("n", "p", "c")
	a := c.do("POST", "/license", `{}`, "Content-Type", "application/merge-patch+json")
	is.Equal(a.Code, http.StatusUnsupportedMediaType)
	is.Equal(a.Header().Get("Accept"), "application/json")
	is.Equal(a.Header().Get("Accept-Patch"), "")
	for _, contentType := range []string{"text/plain", "", "application/json; charset=latin1", "application/json,application/json", "application/jsonx", "json"} {
		a := c.do("PATCH", "/license/"+id, `{}`, "Content-Type", contentType)
		is.Equal(a.Code, http.StatusUnsupportedMediaType)
		is.Equal(a.Header().Get("Accept"), "application/json, application/merge-patch+json")
		is.Equal(a.Header().Get("Accept-Patch"), "application/json, application/merge-patch+json")
	}
	for _, contentType := range []string{"application/json", "Application/JSON; charset=UTF-8", `application/merge-patch+json;charset="utf-8"`} {
		is.Equal(c.do("PATCH", "/license/"+id, `{}`, "Content-Type", contentType).Code, http.StatusOK)
	}
	a = c.do("PATCH", "/license/"+id, `{}`, "Content-Encoding", "gzip")
	is.Equal(a.Code, http.StatusUnsupportedMediaType)
	is.Equal(a.Header().Get("Accept-Encoding"), "identity")
}

func TestAReplayDoesNotAskTheHookAgain(t *testing.T) {
	is := is.New(t)
	calls := 0
	c := newCaller(t, licensing.Options{BeforeCreate: func(_ context.Context, p *api.CreateLicenseParams) error {
		if calls++; calls > 1 {
			return api.Invalid("product_id", "sold_out", "is sold out")
		}
		p.Metadata = map[string]string{"plan": "small <b>"}
		return nil
	}})
	body := `{"name":"n","product_id":"p","customer_id":"c"}`
	first := c.do("POST", "/license", body, "Idempotency-Key", `"one"`)
	is.Equal(first.Code, http.StatusCreated)
	is.Equal(first.Header().Get("Idempotency-Replayed"), "")
	is.Equal(first.json["metadata"], map[string]any{"plan": "small <b>"})

	again := c.do("POST", "/license", `{"customer_id": "c", "product_id": "p", "name": "n"}`, "Idempotency-Key", "one")
	is.Equal(again.Code, http.StatusCreated)
	is.Equal(again.Header().Get("Idempotency-Replayed"), "true")
	is.Equal(again.Body.String(), first.Body.String())
	for _, name := range []string{"Location", "ETag", "Content-Type", "Content-Length"} {
		is.Equal(again.Header().Get(name), first.Header().Get(name))
	}
	is.Equal(calls, 1)

	vetoed := c.do("POST", "/license", body, "Idempotency-Key", "two")
	is.Equal(vetoed.Code, http.StatusUnprocessableEntity)
	is.Equal(vetoed.json["errors"].([]any)[0].(map[string]any)["code"], "sold_out")
	is.Equal(c.do("POST", "/license", body+" ", "Idempotency-Key", "a b").Code, http.StatusBadRequest)
}

// TestHookWithAKeyThatWritesThroughAPointer: the keyed request, like the one
// without a key, runs the hook once and outside of its Update.
func TestHookWithAKeyThatWritesThroughAPointer(t *testing.T) {
	is := is.New(t)
	calls := 0
	var c *caller
	c = newCaller(t, licensing.Options{BeforeCreate: func(ctx context.Context, p *api.CreateLicenseParams) error {
		calls++
		*p.ExpiresAt = p.ExpiresAt.AddDate(0, 0, calls)
		_, err := c.Handler.Service().List(ctx, api.ListLicensesParams{}) // would not return inside an Update
		return err
	}})
	a := c.do("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c","expires_at":"2030-01-01T00:00:00Z"}`, "Idempotency-Key", "one")
	is.Equal(a.Code, http.StatusCreated)
	is.Equal(a.json["expires_at"], "2030-01-02T00:00:00Z")
	is.Equal(calls, 1)
}

// TestTheHookRunsOutsideUpdates: over HTTP, Options.BeforeCreate may use the service,
// also with an Idempotency-Key, and a replay does not run it.
func TestTheHookRunsOutsideUpdates(t *testing.T) {
	is := is.New(t)
	calls := 0
	var c *caller
	c = newCaller(t, licensing.Options{BeforeCreate: func(_ context.Context, p *api.CreateLicenseParams) error {
		calls++
		p.Metadata = map[string]string{"number": fmt.Sprint(calls)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Handler.Service().Create(ctx, api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "hook"})
		return err
	}})
	is.Equal(c.do("PUT", "/plan/trial", `{"product_id":"p","duration":"P14D"}`).Code, http.StatusCreated)
	c.Handler = licensing.NewHandler(c.Store, licensing.Options{}) // without the hook; requests go to c.mount
	for _, call := range []struct{ method, path, body string }{
		{"POST", "/license", `{"name":"n","product_id":"p","customer_id":"c"}`},
		{"POST", "/license/trial", `{"plan_id":"trial","customer_id":"c"}`},
		{"PUT", "/purchase/shop:1", `{"at":"2026-01-01T00:00:00Z","plan_id":"trial","customer_id":"c","state":"active"}`},
	} {
		calls = 0
		for range 2 {
			is.Equal(c.do(call.method, call.path, call.body, "Idempotency-Key", "key-of-"+call.path).Code/100, 2)
		}
		is.Equal(calls, 1)
	}
}

// serve puts a handler on a listener of its own.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// dial sends the head of a request and returns the open connection.
func dial(t *testing.T, address, head string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, strings.ReplaceAll(head, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func TestARefusedCallerIsNotAskedForItsBody(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	address := serve(t, c.Handler)
	for _, caller := range []struct {
		name, header string
		first        string
	}{
		{"no token", "Content-Length: 40", "HTTP/1.1 401 Unauthorized"},
		{"too large", "Content-Length: 70000\nAuthorization: Bearer " + c.token, "HTTP/1.1 413 Request Entity Too Large"},
		{"let in", "Content-Length: 40\nAuthorization: Bearer " + c.token, "HTTP/1.1 100 Continue"},
	} {
		t.Run(caller.name, func(t *testing.T) {
			is := is.New(t)
			_, answer := dial(t, address, "POST /license HTTP/1.1\nHost: x\nContent-Type: application/json\nExpect: 100-continue\n"+caller.header+"\n\n")
			line, err := answer.ReadString('\n')
			is.NoErr(err)
			is.Equal(strings.TrimSpace(line), caller.first)
		})
	}
}

func TestABodyThatStallsIsGivenUp(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{BodyTimeout: 50 * time.Millisecond}})
	address := serve(t, c.Handler)
	for path, status := range map[string]int{"/license": http.StatusRequestTimeout, "/oauth/token": http.StatusBadRequest, "/nothing": http.StatusNotFound} {
		head := "POST " + path + " HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: 40\nAuthorization: Bearer " + c.token + "\n\n{"
		_, answer := dial(t, address, head)
		resp, err := http.ReadResponse(answer, nil)
		is.NoErr(err)
		is.Equal(resp.StatusCode, status)
	}
}

// A deadlineRecorder has the read deadlines that a request set.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (d *deadlineRecorder) SetReadDeadline(at time.Time) error {
	d.deadlines = append(d.deadlines, at)
	return nil
}

// TestAnImportMayTakeTenTimesAsLong as any other body.
func TestAnImportMayTakeTenTimesAsLong(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{BodyTimeout: time.Hour}})
	for path, want := range map[string]time.Duration{"/license": time.Hour, "/import/license": 10 * time.Hour} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+c.token)
		w, began := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}, time.Now()
		c.Handler.ServeHTTP(w, r)
		most := time.Duration(0)
		for _, at := range w.deadlines {
			most = max(most, at.Sub(began)) // the zero time ends a deadline
		}
		is.Equal(most.Round(time.Hour), want)
	}
}

// TestAnIdempotencyKeyIsOfOneTarget, which may stand in the query.
func TestAnIdempotencyKeyIsOfOneTarget(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	a, b := c.create("n", "p", "a"), c.create("n", "p", "b")
	is.Equal(c.do("PATCH", "/license?id="+a, `{"name":"m"}`, "Idempotency-Key", "k").Code, http.StatusOK)
	other := c.do("PATCH", "/license?id="+b, `{"name":"m"}`, "Idempotency-Key", "k")
	is.Equal(other.Code, http.StatusUnprocessableEntity)
	is.Equal(other.json["code"], "idempotency_key_reused")
}

func TestAConnectionOutlivesTheBodyTimeout(t *testing.T) {
	is := is.New(t)
	const timeout = 20 * time.Millisecond
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{BodyTimeout: timeout}, BeforeCreate: func(ctx context.Context, _ *api.CreateLicenseParams) error {
		select { // the request lasts longer than its body may
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(3 * timeout):
			return nil
		}
	}})
	body := `{"name":"n","product_id":"p","customer_id":"c"}`
	request := fmt.Sprintf("POST /license HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: %d\nAuthorization: Bearer %s\n\n%s", len(body), c.token, body)
	conn, answer := dial(t, serve(t, c.Handler), request)
	for range 2 {
		resp, err := http.ReadResponse(answer, nil)
		is.NoErr(err)
		_, err = io.Copy(io.Discard, resp.Body)
		is.NoErr(err)
		is.Equal(resp.StatusCode, http.StatusCreated)
		_, err = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
		is.NoErr(err)
	}
}

func TestABodyThatEndsEarlyIsA400(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/license", io.MultiReader(strings.NewReader(`{"na`), brokenReader{}))
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.Handler.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusBadRequest)
	require.Contains(t, w.Body.String(), `"code":"incomplete_body"`)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestABodyOfUnknownLengthIsBoundedToo(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	body := io.MultiReader(strings.NewReader(`{"name":"`), strings.NewReader(strings.Repeat("x", 70_000)))
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+serve(t, c.Handler)+"/license", body)
	is.NoErr(err)
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	is.NoErr(err)
	defer resp.Body.Close()
	is.Equal(resp.StatusCode, http.StatusRequestEntityTooLarge)
}

func TestBodiesOfTheOAuthEndpointsHaveALimitOfTheirOwn(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Tokens: auth.TokenOptions{MaxBody: 2048}})
	for size, want := range map[int]int{2048: http.StatusUnauthorized, 2049: http.StatusRequestEntityTooLarge} {
		form := "grant_type=client_credentials&pad="
		r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(form+strings.Repeat("x", size-len(form))))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		is.Equal(w.Code, want)
	}
}

func TestABodySentInChunksIsTreatedLikeAnyOther(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	address := serve(t, c.Handler)
	for _, request := range []struct {
		method, path, body string
		status             int
	}{
		{"DELETE", "/license/{id}", "x", http.StatusBadRequest},
		{"DELETE", "/license/{id}", "", http.StatusOK},
		{"DELETE", "/license/{id}/activation/act_x", "x", http.StatusBadRequest},
		{"DELETE", "/webhook/whk_x", "x", http.StatusBadRequest},
		{"POST", "/webhook/whk_x/test", "{}", http.StatusBadRequest},
		{"POST", "/webhook/whk_x/test", "", http.StatusNotFound},
		{"POST", "/license/{id}/suspend", "", http.StatusOK},
		{"POST", "/license/{id}/suspend", `{"reason":"unpaid"}`, http.StatusOK},
		{"POST", "/license/{id}/suspend", "x", http.StatusBadRequest},
	} {
		t.Run(request.method+request.path+request.body, func(t *testing.T) {
			path := strings.ReplaceAll(request.path, "{id}", c.in(t).create("n", "p", "c"))
			for _, chunked := range []bool{true, false} {
				is := is.New(t)
				if request.status == http.StatusOK { // a change: the second one starts afresh
					path = strings.ReplaceAll(request.path, "{id}", c.in(t).create("n", "p", "c"))
				}
				var body io.Reader = strings.NewReader(request.body)
				if chunked {
					body = io.MultiReader(body) // its length is unknown
				}
				r, err := http.NewRequestWithContext(t.Context(), request.method, "http://"+address+path, body)
				is.NoErr(err)
				r.Header.Set("Authorization", "Bearer "+c.token)
				if request.body != "" {
					r.Header.Set("Content-Type", "application/json")
				}
				resp, err := http.DefaultClient.Do(r)
				is.NoErr(err)
				resp.Body.Close()
				is.Equal(resp.StatusCode, request.status)
			}
		})
	}
}

func TestAnExportThatIsNotReadEnds(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{Timeout: 10 * time.Millisecond}})
	metadata := map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprintf("key-%d", i)] = strings.Repeat("x", 250)
	}
	for range 150 {
		_, err := c.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c", Metadata: metadata})
		is.NoErr(err)
	}
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		c.Handler.ServeHTTP(w, r)
	}))
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		_ = conn.(*net.TCPConn).SetWriteBuffer(4096)
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	is.NoErr(err)
	t.Cleanup(func() { conn.Close() })
	is.NoErr(conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = io.WriteString(conn, "GET /export/license HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+c.token+"\r\n\r\n")
	is.NoErr(err)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the export still waits for its reader")
	}
}
