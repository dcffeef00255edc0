package openapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

var (
	requests = flag.Int("requests", 10000, "how many requests TestFuzz sends")
	seed     = flag.Uint64("seed", 0, "of the requests of TestFuzz; 0: random")
)

const (
	perService = 2000 // requests to a service before another one begins, empty
	distinct   = 5    // defects after which TestFuzz stops
)

// TestFuzz sends requests that are made from the description or from what was
// accepted and answered before, half of them with mistakes, to services on memory
// and on SQLite. Every answer must be as
// described, and none may say that the service failed. In the long form,
// -requests=1000000, every operation must have accepted some.
func TestFuzz(t *testing.T) {
	c := newChecker(t)
	base := *seed
	if base == 0 {
		base = rand.Uint64()
	}
	t.Logf("-seed=%d", base)
	defects := map[string]bool{}
	sent := 0
	for round := uint64(0); sent < *requests && len(defects) < distinct; round++ {
		f := newFuzzer(t, c, func(h http.Handler) http.Handler { return h }, rand.New(rand.NewPCG(base, round)), round%4 == 3)
		for range perService {
			raw, err := f.next()
			sent++
			if err == nil {
				continue
			}
			if subject, _, _ := strings.Cut(err.Error(), "\n"); !defects[subject] {
				defects[subject] = true
				t.Errorf("%v\n%.3000s", err, raw)
			}
		}
		f.stop()
	}
	statuses, operations := map[int]int{}, 0
	for path, item := range c.doc.Paths.Map() {
		for method, o := range item.Operations() {
			accepted := 0
			for status, n := range c.seen[o.OperationID] {
				statuses[status] += n
				if status < 300 {
					accepted += n
				}
			}
			if accepted == 0 && sent >= 100_000 {
				t.Errorf("no request of %s %s was accepted; there were %v", method, path, c.seen[o.OperationID])
			}
			operations++
		}
	}
	t.Logf("%d requests, %d operations, by status: %v, of no operation: %v %v %v", sent, operations, statuses,
		c.seen["NoSuchPath"], c.seen["MethodNotAllowed"], c.seen["Options"])
}

// A fuzzer makes requests to one service, with what earlier answers had.
type fuzzer struct {
	grammar
	c       *checker
	handler http.Handler
	kit     *licensing.Handler
	clock   *licensingtest.Clock
	targets []target
	count   int
	last    request
	taken   map[string][]request // by operationId: requests that were accepted
	read    json.RawMessage      // the answer, if the last request read what another one changes
	clients []client             // the first may do everything
	stop    func()
}

// A target is one operation of the description.
type target struct {
	method, path string
	operation    *openapi3.Operation
	parameters   openapi3.Parameters
}

// A request is one to a target, before it is written.
type request struct {
	to                  target
	method, path, query string
	inPath              []string // values in its path
	header              map[string]string
	body                string
	defect              func(status int, answer []byte) error // what the description does not tell, or nil
}

// A client has its credentials and a token.
type client struct{ id, secret, token string }

// seeds are what no answer has before a request had it.
var seeds = map[string][]string{
	"product_id": {"atlas", "borealis"},
	"duration":   {"P1Y", "P6M", "P30D", "PT1H"},
	"types":      {"license.*", "license.created", "activation.created"},
	"url":        {"https://host.example/hook", "https://host.example:8443/a?b=c"},
	"reference":  {"shop:1", "shop:2"},
	"subjects":   {"device:1", "device:2"},
}

// newFuzzer returns a fuzzer of a new service.
func newFuzzer(t *testing.T, c *checker, around func(http.Handler) http.Handler, random *rand.Rand, onSQLite bool) *fuzzer {
	t.Helper()
	is := is.New(t)
	var st store.Store = memory.New()
	closeStore := func() {}
	if onSQLite {
		file, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
		is.NoErr(err)
		st, closeStore = file, func() { file.Close() }
	}
	clock := licensingtest.NewClock()
	h := licensing.NewHandler(st, licensing.Options{
		Now: clock.Now, PublicURL: "https://host.example/licensing", KeyHolderSeats: random.IntN(2) == 0, HoldOffline: random.IntN(4) == 0,
		Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Limits:   licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1, MaxImport: 1 << 17},
		Tokens:   auth.TokenOptions{MaxFailures: 1000},
		ClientIP: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
		Webhooks: webhook.Options{Transport: receiver{}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var background sync.WaitGroup
	background.Go(func() { h.Run(ctx) }) // which delivers to webhooks
	f := &fuzzer{
		grammar: grammar{rand: random, now: clock.Now, known: maps.Clone(seeds)}, taken: map[string][]request{},
		c: c, handler: around(h.API()), kit: h, clock: clock,
		stop: func() {
			cancel()
			background.Wait()
			closeStore()
		},
	}
	for _, p := range []auth.CreateClientParams{
		{Name: "all", Scopes: auth.Scopes()},
		{Name: "sacrificed", Scopes: auth.Scopes()},
		{Name: "reader", Scopes: []string{"license:read"}},
		{Name: "atlas", Scopes: auth.Scopes(), Products: []string{"atlas"}},
	} {
		created, secret, err := h.Auth().CreateClient(t.Context(), p)
		is.NoErr(err)
		f.clients = append(f.clients, client{id: created.ID, secret: secret})
	}
	f.known["client_id"], f.known["client_secret"] = []string{f.clients[1].id}, []string{f.clients[1].secret}
	for path, item := range c.doc.Paths.Map() {
		for method, o := range item.Operations() {
			f.targets = append(f.targets, target{method, path, o, append(slices.Clone(item.Parameters), o.Parameters...)})
		}
	}
	slices.SortFunc(f.targets, func(a, b target) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	f.renew()
	return f
}

// A receiver answers deliveries of webhooks, mostly well.
type receiver struct{}

func (receiver) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: []int{200, 500, 410, 204}[rand.IntN(4)], Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// renew gets new tokens for the clients.
func (f *fuzzer) renew() {
	for i, c := range f.clients {
		w := httptest.NewRecorder()
		f.kit.ServeHTTP(w, httptest.NewRequest("GET", "/oauth/token?"+url.Values{"client_id": {c.id}, "client_secret": {c.secret}}.Encode(), nil))
		var issued struct {
			Token string `json:"access_token"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &issued); err != nil {
			panic(err)
		}
		f.clients[i].token = issued.Token
	}
}

// next sends one request, and returns it and what is wrong with the answer.
func (f *fuzzer) next() (raw string, err error) {
	f.count++
	switch {
	case f.count%1000 == 0: // most leases and licenses end
		f.clock.Advance(300 * 24 * time.Hour)
		f.renew()
	case f.count%50 == 0:
		f.clock.Advance(time.Duration(f.rand.Int64N(int64(2 * time.Minute))))
	}
	f.wild = f.in(2)
	to := pick(&f.grammar, f.targets...)
	if rare := strings.HasPrefix(to.path, "/export") || to.method == http.MethodDelete; rare && !f.in(3) {
		to = pick(&f.grammar, f.targets...)
	}
	sent := f.choose(to)
	to, f.last, f.read = sent.to, sent, nil
	raw = f.raw(sent)
	r, parseErr := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if parseErr != nil {
		return raw, nil // net/http refuses it
	}
	body, _ := io.ReadAll(r.Body)
	r.Body, r.RemoteAddr = io.NopCloser(bytes.NewReader(body)), "192.0.2.1:999"
	asked := r.Clone(r.Context())
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%s %s: panic: %v", to.method, to.path, p)
			}
		}()
		f.handler.ServeHTTP(w, r)
	}()
	if err != nil {
		return raw, err
	}
	header := w.Result().Header
	err = f.c.check(asked, body, w.Code, header, w.Body.Bytes())
	if err == nil && w.Code >= 500 {
		err = fmt.Errorf("the service failed")
	}
	if err == nil && w.Code >= 400 && header.Get("Content-Type") == "application/problem+json" {
		var problem struct{ Status int }
		if json.Unmarshal(w.Body.Bytes(), &problem); problem.Status != w.Code && asked.Method != http.MethodHead {
			err = fmt.Errorf("the body says status %d", problem.Status)
		}
	}
	if err == nil && sent.defect != nil {
		err = sent.defect(w.Code, w.Body.Bytes())
	}
	if err != nil {
		err = fmt.Errorf("%s %s was answered %d\n%w\n%v %.2000s", to.method, to.path, w.Code, err, header, w.Body)
	}
	switch {
	case w.Code == http.StatusNotFound:
		f.forget(sent)
	case w.Code < 300:
		f.take(sent, w.Body.Bytes())
		f.learn("ETag", header.Get("ETag"))
		for line := range bytes.Lines(w.Body.Bytes()) {
			var answer any
			if json.Unmarshal(line, &answer) == nil {
				f.learnAll("", answer)
			}
		}
	}
	return raw, err
}

// forget drops what the path of a request had: it no longer exists.
func (f *fuzzer) forget(r request) {
	gone := func(value string) bool { return slices.Contains(r.inPath, value) }
	for name, values := range f.known {
		f.known[name] = slices.DeleteFunc(slices.Clone(values), gone)
	}
	for id, taken := range f.taken {
		f.taken[id] = slices.DeleteFunc(taken, func(r request) bool { return slices.ContainsFunc(r.inPath, gone) })
	}
}

// request returns a request that is made from the description.
func (f *fuzzer) request(to target) request {
	g := &f.grammar
	r := request{to: to, method: to.method, header: map[string]string{}}
	r.path, r.inPath = f.path(to)
	switch {
	case to.path == "/license/{licenseID}" && to.method == http.MethodGet && f.in(4) && len(f.known["customer_id"]) > 0:
		r.path = "/license/" + url.PathEscape(pick(g, f.known["customer_id"]...))
	case f.mistake(60):
		r.path = pick(g, r.path+"/", "/"+r.path, r.path+"/x", r.path+"%2f", r.path+"/..", "/%00", "/", "*", r.path+"/"+strings.Repeat("a", 3000), strings.ToUpper(r.path))
	}
	r.query = f.query(to.parameters)
	if r.method == http.MethodGet && f.in(30) {
		r.method = http.MethodHead
	} else if f.mistake(60) {
		r.method = pick(g, "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY", "get")
	}
	for _, p := range to.parameters {
		if p := p.Value; p.In == "header" && f.in(4) {
			r.header[p.Name] = f.headerValue(p)
		}
	}
	f.authorize(to, r.header)
	r.body = f.body(to, r.header)
	return r
}

// path returns a path of an operation, and the values in it.
func (f *fuzzer) path(to target) (path string, values []string) {
	path = to.path
	for _, p := range to.parameters {
		if p := p.Value; p.In == "path" {
			value := f.text(p.Name, p.Schema.Value)
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(value))
			values = append(values, value)
		}
	}
	return path, values
}

// raw returns a request in the form that is sent over the connection.
func (f *fuzzer) raw(r request) string {
	if r.query != "" || f.in(50) {
		r.path += "?" + r.query
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: host.example\r\n", r.method, r.path)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&b, "%s: %s\r\n", name, r.header[name])
		if f.mistake(150) {
			fmt.Fprintf(&b, "%s: %s\r\n", name, r.header[name])
		}
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(r.body), r.body)
	return b.String()
}

// headerValue returns a value of a header in which only visible characters are.
func (f *fuzzer) headerValue(p *openapi3.Parameter) string {
	g := &f.grammar
	value := ""
	switch {
	case p.Name == "Idempotency-Key" && !f.mistake(4):
		value = "key-" + strconv.Itoa(f.rand.IntN(500)) // so that some are used again
	case strings.HasPrefix(p.Name, "If-") && (len(f.known["ETag"]) == 0 || f.mistake(4)):
		value = pick(g, "*", `"1.active"`, `W/"1.active"`, `"1.active", "2.active"`, `"`, "1.active", `"a" "b"`, ",", `"x",*`, `""`, strings.Repeat(`"a",`, 500)+`"b"`)
	default:
		value = f.text(p.Name, p.Schema.Value)
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, value)
}

// authorize adds credentials, mostly the ones that the operation needs.
func (f *fuzzer) authorize(to target, header map[string]string) {
	g := &f.grammar
	token := "Bearer " + f.clients[0].token
	switch {
	case f.mistake(25):
		token = pick(g, "", "Bearer", "Bearer ", "Bearer x", "Basic", "Basic Og==", "Basic !", "Digest a=b", "Bearer lat_"+strings.Repeat("0", 49), token+" x", "bearer  "+f.clients[0].token, "Bearer é")
	case strings.HasPrefix(to.path, "/oauth/"):
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(f.clients[1].id, f.clients[1].secret)
		token = pick(g, "", r.Header.Get("Authorization"))
	case to.operation.Security != nil && len(*to.operation.Security) == 0:
		token = pick(g, "", "", token)
	case f.mistake(15):
		token = pick(g, "Bearer "+f.clients[2].token, "Bearer "+f.clients[3].token, f.clients[3].token)
	}
	if token != "" {
		header["Authorization"] = token
	}
}

// body returns a body and sets its headers.
func (f *fuzzer) body(to target, header map[string]string) string {
	g := &f.grammar
	described := to.operation.RequestBody
	if described == nil {
		if !f.mistake(60) {
			return ""
		}
		header["Content-Type"] = "application/json"
		return pick(g, "{}", "x", f.junk())
	}
	if !described.Value.Required && f.in(3) {
		return ""
	}
	mediaTypes := slices.Sorted(maps.Keys(described.Value.Content))
	mediaType := pick(g, mediaTypes...)
	schema := described.Value.Content[mediaType].Schema.Value
	header["Content-Type"] = mediaType
	if f.mistake(40) {
		header["Content-Type"] = pick(g, "", "text/plain", "application/json; charset=utf-8", "application/json; charset=latin1", "application/json, application/json",
			"application/JSON", "application/json;", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/merge-patch+json", "*/*", "a/b/c", "application/problem+json")
	}
	if f.mistake(150) {
		header["Content-Encoding"] = pick(g, "gzip", "identity", "br, gzip")
	}
	if f.like = nil; len(f.earlier) > 0 && f.in(4) {
		f.like = pick(g, f.earlier...)
	}
	var b strings.Builder
	switch mediaType {
	case "application/x-www-form-urlencoded":
		g.writeForm(&b, schema)
	case "application/x-ndjson":
		for range f.rand.IntN(6) {
			f.write(&b, "", schema.Items.Value, 0)
			b.WriteString(pick(g, "\n", "\n", "\r\n", "\n\n"))
		}
	default:
		f.write(&b, "", schema, 0)
	}
	body := b.String()
	if mediaType == "application/x-ndjson" { // a line holds no line
		body = strings.ReplaceAll(body, ":\n", ":")
	}
	if !f.mistake(30) {
		return body
	}
	return pick(g, "", " ", f.junk(), body+"x", body+body, "\ufeff"+body, body[:f.rand.IntN(len(body)+1)], strings.ToUpper(body), "["+body+"]",
		strings.Replace(body, ",", ",,", 1), strings.ReplaceAll(body, `"`, "'"), body+strings.Repeat(" ", 70000), strings.Repeat(body+"\n", 40), "\xff"+body)
}

// writeForm appends the members of an object as a form.
func (g *grammar) writeForm(b *strings.Builder, s *openapi3.Schema) {
	form := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		required := slices.Contains(s.Required, name)
		if required && !g.mistake(30) || !required && g.in(2) {
			form.Add(name, g.text(name, s.Properties[name].Value))
			if g.mistake(50) {
				form.Add(name, "x")
			}
		}
	}
	b.WriteString(form.Encode())
	if g.mistake(50) {
		b.WriteString(pick(g, "&", "&x=1", "&%zz", "&a;b", "&scope="))
	}
}
