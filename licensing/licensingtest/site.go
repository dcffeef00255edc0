package licensingtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// prefix is where the suite mounts the handler: two levels, each stripped by its
// own StripPrefix, as in a host with nested mounts.
const prefix = "/outer/inner"

// A site calls one service over HTTP, on its own listener.
type site struct {
	*Kit
	t     *testing.T
	base  string // the address of the mount, without a slash at the end
	http  *http.Client
	log   *transcript // nil: what is asked is not written down
	token string      // sent as Authorization: Bearer; empty: that of the Kit
}

func newAPI(t *testing.T, st store.Store, around ...func(http.Handler) http.Handler) *site {
	t.Helper()
	kit := newKit(t, st, licensing.Options{})
	var h http.Handler = kit.Handler
	for _, put := range around {
		h = put(h)
	}
	outer := http.StripPrefix("/outer", http.StripPrefix("/inner", h))
	server := httptest.NewServer(outer)
	t.Cleanup(server.Close)
	client := server.Client()
	client.Timeout = time.Minute
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	return &site{Kit: kit, t: t, base: server.URL + prefix, http: client, log: newTranscript()}
}

// test runs one case on the same service.
func (a *site) test(name string, fn func(*site)) {
	a.t.Run(name, func(t *testing.T) {
		b := *a
		b.t = t
		fn(&b)
	})
}

// as returns a site that sends another token.
func (a *site) as(token string) *site {
	b := *a
	b.token = token
	return &b
}

// quietly returns a site that does not write to the transcript, for concurrent
// requests and for lookups.
func (a *site) quietly() *site {
	b := *a
	b.log = nil
	return &b
}

// Events returns every event that requests have appended so far. Which of them brings the
// refusals of the last minute to the store is not theirs to decide.
func (a *site) Events() []store.Event {
	a.t.Helper()
	return slices.DeleteFunc(a.Kit.Events(), func(e store.Event) bool { return e.Type == api.EventActivationLimit })
}

// headers are sent with a request. "Authorization" replaces the token; if it is
// empty, none is sent. "Content-Type" replaces application/json. Several values
// are separated by newlines.
type headers map[string]string

// call sends one request to a path below the mount. Each call advances the clock
// by a second, so that no two changes happen at the same time.
func (a *site) call(method, path, body string, hs ...headers) *answer {
	a.t.Helper()
	a.Clock.Advance(time.Second)
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.base+"/"+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	token := a.token
	if token == "" {
		token = a.Token()
	}
	r.Header.Set("Authorization", "Bearer "+token)
	shown := ""
	for _, h := range hs {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			r.Header.Del(name)
			if h[name] == "" {
				continue
			}
			for v := range strings.SplitSeq(h[name], "\n") {
				r.Header.Add(name, v)
			}
			if name != "Authorization" {
				shown += fmt.Sprintf("\n%s: %s", name, h[name])
			}
		}
	}
	request := fmt.Sprintf("%s %s%s\n%s", method, path, shown, abridge(body))
	an := &answer{t: a.t, request: request}
	resp, err := a.http.Do(r)
	if err == nil {
		defer resp.Body.Close()
		an.status, an.header = resp.StatusCode, resp.Header
		an.body, err = io.ReadAll(resp.Body)
	}
	if err != nil { // not Fatal, for calls are also made in goroutines
		a.t.Errorf("%s: %v", request, err)
		return an
	}
	if a.log != nil {
		a.log.add(request, an)
	}
	an.sound(method)
	return an
}

func (a *site) get(path string, hs ...headers) *answer {
	a.t.Helper()
	return a.call(http.MethodGet, path, "", hs...)
}

func (a *site) post(path, body string, hs ...headers) *answer {
	a.t.Helper()
	return a.call(http.MethodPost, path, body, hs...)
}

func (a *site) patch(path, body string, hs ...headers) *answer {
	a.t.Helper()
	return a.call(http.MethodPatch, path, body, hs...)
}

func (a *site) delete(path string, hs ...headers) *answer {
	a.t.Helper()
	return a.call(http.MethodDelete, path, "", hs...)
}

// create creates a license with those three fields and returns its ID.
func (a *site) create(name, product, customer string) string {
	a.t.Helper()
	return a.post("license", licenseBody(name, product, customer)).is(http.StatusCreated).text("id")
}

// noLicense is a well-formed ID that no license has.
const noLicense = "lic_00000000000000000000000000"

// licenseBody is the body that the specification shows.
func licenseBody(name, product, customer string) string {
	return object("name", name, "product_id", product, "customer_id", customer)
}

// object returns a JSON object of alternating names and values.
func object(pairs ...any) string {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", encode(pairs[i]), encode(pairs[i+1]))
	}
	b.WriteByte('}')
	return b.String()
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of the suite's own
	}
	return data
}

// abridge shortens long texts in failures.
func abridge(s string) string {
	const most = 2000
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
}
