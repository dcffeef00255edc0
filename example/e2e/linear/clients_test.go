package linear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	clients     = 16
	licenses    = 4  // that they compete for in one round
	asks        = 16 // of each client in one round
	cancelAfter = 4 * time.Millisecond
)

// verbs are what clients ask for; what is repeated is more frequent.
var verbs = []string{
	"create", "list", "get", "get", "seats", "update", "update", "update", "suspend",
	"reinstate", "reinstate", "delete", "activate", "activate", "activate", "take over", "release", "release",
}

// An address is where a service listens. A service that is restarted has another.
type address struct{ atomic.Pointer[string] }

func (a *address) set(base string) { a.Store(&base) }

// A group is the clients of some services on one store.
type group struct {
	t        *testing.T
	services []*address
	token    string
	http     http.Client

	numbers atomic.Int64 // given to licenses, names and Idempotency-Keys
	order   atomic.Int64 // a clock that never shows the same twice

	mu      sync.Mutex
	ops     []porcupine.Operation
	known   map[string]license // the latest seen with each license key
	ids     map[int]string     // of the licenses
	answers map[string]int     // how often the answer to each verb had each status
}

// A license is what clients know about one.
type license struct {
	number  int
	version string
}

func newGroup(t *testing.T, token string, services ...*address) *group {
	g := &group{t: t, services: services, token: token, ids: map[int]string{}, answers: map[string]int{}}
	g.http.Transport = &http.Transport{MaxIdleConnsPerHost: clients}
	t.Cleanup(g.http.CloseIdleConnections)
	return g
}

// round lets all clients send requests about new licenses, and returns the history.
func (g *group) round() []porcupine.Operation {
	g.ops, g.known = nil, map[string]license{}
	first := g.numbers.Add(licenses)
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for range asks {
				q := g.choose(fmt.Sprintf("license-key-%08d", first-rand.Int64N(licenses)))
				cancel := changes(q) && rand.N(12) == 0
				answered := g.ask(client, q, cancel)
				if q.key != "" && (!answered || rand.N(8) == 0) {
					g.ask(client, q, false)
				}
			}
		})
	}
	wg.Wait()
	return g.ops
}

// choose returns a random request about a license. Conditional ones have the
// version that was seen last, by this client or another.
func (g *group) choose(licenseKey string) request {
	g.mu.Lock()
	seen := g.known[licenseKey]
	g.mu.Unlock()
	q := request{licenseKey: licenseKey, verb: verbs[rand.N(len(verbs))], number: seen.number, fingerprint: rand.N(fingerprints)}
	if q.number == 0 && !slices.Contains([]string{"list", "activate", "take over", "release"}, q.verb) {
		q.verb = "create" // nothing else has an id yet
	}
	number := int(g.numbers.Add(1))
	switch q.verb {
	case "create":
		q.number = number
		q.key = fmt.Sprintf("key-%d", number)
	case "update", "suspend", "reinstate":
		if rand.N(2) == 0 {
			q.key = fmt.Sprintf("key-%d", number)
		}
	}
	if slices.Contains([]string{"update", "suspend", "reinstate", "delete"}, q.verb) && rand.N(2) == 0 {
		q.ifMatch = seen.version
	}
	q.name = fmt.Sprintf("name-%d", number)
	return q
}

func changes(q request) bool { return q.verb != "list" && q.verb != "get" && q.verb != "seats" }

// ask sends a request to one of the services and records it. It reports whether
// there was an answer.
func (g *group) ask(client int, q request, cancel bool) bool {
	ctx, stop := context.WithTimeout(g.t.Context(), 20*time.Second)
	defer stop()
	if cancel {
		ctx, stop = context.WithTimeout(ctx, rand.N(cancelAfter))
		defer stop()
	}
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	op := porcupine.Operation{ClientId: client, Input: q, Call: g.order.Add(1)}
	answer, err := g.send(ctx, q)
	op.Output, op.Return = answer, g.order.Add(1)
	if err != nil {
		if !connected { // nothing was sent, because the service was killed or the client was quick to cancel
			time.Sleep(time.Millisecond)
			return g.ask(client, q, false)
		}
		op.Output, op.Return = lost, math.MaxInt64
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil || changes(q) { // a read without an answer says nothing
		g.ops = append(g.ops, op)
	}
	status, _, _ := strings.Cut(op.Output.(string), " ")
	g.answers[q.verb+" "+status]++
	return err == nil
}

// send returns the answer in the terms of the model.
func (g *group) send(ctx context.Context, q request) (string, error) {
	r, err := g.encode(ctx, q)
	if err != nil {
		return "", err
	}
	resp, err := g.http.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "", errors.New(resp.Status)
	}
	return g.decode(q, resp.StatusCode, data)
}

// encode returns the HTTP request, for one of the services.
func (g *group) encode(ctx context.Context, q request) (*http.Request, error) {
	g.mu.Lock()
	id := g.ids[q.number]
	g.mu.Unlock()
	method, path, body := "POST", "/license/"+id, ""
	switch q.verb {
	case "create":
		path = "/license"
		body = fmt.Sprintf(`{"name":%q,"product_id":"p","customer_id":%q,"key":%q,"max_activations":%d,"metadata":{"number":"%d"}}`,
			q.name, q.licenseKey, q.licenseKey, seatLimit, q.number)
	case "list":
		method, path = "GET", "/license?customer_id="+q.licenseKey
	case "get":
		method = "GET"
	case "seats":
		method, path = "GET", path+"/activation"
	case "update":
		method, body = "PATCH", fmt.Sprintf(`{"name":%q}`, q.name)
	case "delete":
		method = "DELETE"
	case "suspend", "reinstate":
		path += "/" + q.verb
	case "activate":
		path, body = "/license/activate", fmt.Sprintf(`{"key":%q,"fingerprint":"%d"}`, q.licenseKey, q.fingerprint)
	case "take over":
		path, body = "/license/activate", fmt.Sprintf(`{"key":%q,"fingerprint":"%d","take_over":"oldest"}`, q.licenseKey, q.fingerprint)
	case "release":
		path, body = "/license/deactivate", fmt.Sprintf(`{"key":%q,"fingerprint":"%d"}`, q.licenseKey, q.fingerprint)
	}
	service := g.services[rand.N(len(g.services))]
	r, err := http.NewRequestWithContext(ctx, method, *service.Load()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+g.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.ifMatch != "" {
		r.Header.Set("If-Match", strconv.Quote(q.ifMatch))
	}
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	return r, nil
}

// resource is what the model needs of the answers.
type resource struct {
	ID       string
	Name     string
	Status   any // a number in an error
	Revision int
	Metadata struct {
		Number int `json:",string"`
	}
	Fingerprint int `json:",string"`
}

// decode returns an answer in the terms of the model.
func (g *group) decode(q request, status int, data []byte) (string, error) {
	var answer struct {
		resource
		Code string
		Data []resource
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		g.t.Errorf("%s: %v in %s", q.verb, err, data)
		return "", err
	}
	words := []string{strconv.Itoa(status)}
	switch {
	case status >= 300 || q.verb == "activate" || q.verb == "take over":
		words = append(words, answer.Code)
	case q.verb == "release":
		words = append(words, fmt.Sprint(answer.Status))
	case q.verb == "delete":
		words = append(words, "deleted")
		g.mu.Lock()
		delete(g.known, q.licenseKey)
		g.mu.Unlock()
	case q.verb == "seats":
		held := []int{}
		for _, a := range answer.Data {
			held = append(held, a.Fingerprint)
		}
		slices.Sort(held)
		words = append(words, fmt.Sprint(held))
	case q.verb == "list":
		for _, l := range answer.Data {
			words = append(words, g.learn(q, l))
		}
	default:
		words = append(words, g.learn(q, answer.resource))
	}
	return strings.Join(words, " "), nil
}

// learn remembers a license that was in an answer and returns it in the terms of
// the model.
func (g *group) learn(q request, l resource) string {
	version := fmt.Sprintf("%d.%v", l.Revision, l.Status)
	g.mu.Lock()
	defer g.mu.Unlock()
	n := l.Metadata.Number
	g.known[q.licenseKey] = license{n, version}
	if id, ok := g.ids[n]; ok && id != l.ID {
		return fmt.Sprintf("%d created twice", n)
	}
	g.ids[n] = l.ID
	return fmt.Sprintf("%d %s %s", n, version, l.Name)
}
