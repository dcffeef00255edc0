package linear

import (
	"bytes"
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
	licenses    = 4  // and as many plans, purchases, groups of trials and batches, that they compete for in one round
	asks        = 24 // of each client in one round
	cancelAfter = 4 * time.Millisecond
)

// verbs are what clients ask for; what is repeated is more frequent.
var verbs = map[string][]string{
	"license": {
		"create", "list", "get", "get", "seats", "update", "update", "update", "suspend", "reinstate", "reinstate", "delete", "renew",
		"activate", "activate", "activate", "activate", "take over", "release", "release",
	},
	"plan":  {"put plan", "put plan", "put plan", "get plan", "delete plan"},
	"shop":  {"fulfill", "fulfill", "fulfill", "purchase"},
	"trial": {"trial"},
	"batch": {"batch", "claim", "claim", "claim", "unclaimed"},
}

// subjects are what they ask about; what is repeated is more frequent.
var subjects = []string{"license", "license", "license", "license", "license", "license", "plan", "shop", "trial", "batch"}

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
	known   map[string]license  // the latest seen of each subject
	ids     map[string]string   // of the licenses, by number; of those of purchases, trials and batches
	keys    map[string][]string // of the licenses of a batch
	answers map[string]int      // how often the answer to each verb had each status
}

// A license is what clients know about one.
type license struct {
	number  int
	version string
}

func newGroup(t *testing.T, token string, services ...*address) *group {
	g := &group{t: t, services: services, token: token, ids: map[string]string{}, keys: map[string][]string{}, answers: map[string]int{}}
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
			for i := range asks {
				if i == asks/2 { // by all clocks, leases end
					time.Sleep((lease + 2*maxSkew) * time.Millisecond / speed)
				}
				kind := subjects[rand.N(len(subjects))]
				q := g.choose(kind, fmt.Sprintf("%s-key-of:%08d", kind, first-rand.Int64N(licenses)))
				cancel := changes(q) && rand.N(12) == 0
				answered := g.ask(client, q, cancel)
				if q.key != "" && (!answered || rand.N(8) == 0) {
					g.ask(client, q, false)
				}
			}
		})
	}
	wg.Wait()
	end := now().UnixMilli() + maxSkew
	for i, op := range g.ops { // what a request without an answer did later, no answer shows
		if q := op.Input.(request); q.to == 0 {
			q.to = end
			g.ops[i].Input = q
		}
	}
	return g.ops
}

// choose returns a random request about a subject. Conditional ones have the
// version that was seen last, by this client or another.
func (g *group) choose(kind, subject string) request {
	g.mu.Lock()
	seen, keys := g.known[subject], g.keys[subject]
	g.mu.Unlock()
	number := int(g.numbers.Add(1))
	q := request{subject: subject, verb: verbs[kind][rand.N(len(verbs[kind]))], number: seen.number, fingerprint: rand.N(fingerprints)}
	if kind == "license" && q.number == 0 && !slices.Contains([]string{"list", "activate", "take over", "release"}, q.verb) {
		q.verb = "create" // nothing else has an id yet
	}
	if q.verb == "claim" && keys == nil {
		q.verb = "batch" // no client has a key yet
	}
	mayHaveKey, mayHaveMatch := false, false
	switch q.verb {
	case "create":
		q.number, mayHaveKey = number, true
	case "update", "suspend", "reinstate", "renew":
		mayHaveKey, mayHaveMatch = true, true
	case "delete", "put plan", "delete plan":
		mayHaveMatch = true
	case "trial":
		q.number, q.fingerprint, mayHaveKey = rand.N(devices), rand.N(customers), true
	case "fulfill":
		q.at = purchasesSince.UnixMilli() + rand.Int64N(1e9)
		q.quantity = rand.N(3) * number
	case "batch":
		q.key = "key-" + subject // of every client, at both services
	case "claim":
		q.number, q.fingerprint = rand.N(batchSize), rand.N(customers)
	}
	if mayHaveKey && (q.verb == "create" || rand.N(2) == 0) {
		q.key = fmt.Sprintf("key-%d", number)
	}
	if mayHaveMatch && rand.N(2) == 0 {
		q.ifMatch = seen.version
	}
	if q.name = fmt.Sprintf("name-%d", number); q.verb == "fulfill" && q.quantity > 0 && rand.N(2) == 0 {
		q.name = ""
	}
	return q
}

// purchasesSince is before all instants of purchases.
var purchasesSince = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func changes(q request) bool {
	return !slices.Contains([]string{"list", "get", "seats", "get plan", "purchase", "unclaimed"}, q.verb)
}

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
	q.from, q.to = now().UnixMilli()-maxSkew, 0
	op := porcupine.Operation{ClientId: client, Call: g.order.Add(1)}
	answer, err := g.send(ctx, q)
	op.Output, op.Return = answer, g.order.Add(1)
	if err != nil {
		if !connected { // nothing was sent, because the service was killed or the client was quick to cancel
			time.Sleep(time.Millisecond)
			return g.ask(client, q, false)
		}
		op.Output, op.Return = lost, math.MaxInt64
	} else {
		q.to = now().UnixMilli() + maxSkew
	}
	op.Input = q
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
	id, keys := g.ids[strconv.Itoa(q.number)], g.keys[q.subject]
	g.mu.Unlock()
	method, path, body := "POST", "/license/"+id, ""
	switch q.verb {
	case "create":
		path = "/license"
		body = fmt.Sprintf(`{"name":%q,"product_id":"p","customer_id":%q,"key":%q,"max_activations":%d,"lease_seconds":%d,"expires_at":"%d-01-01T00:00:00Z","metadata":{"number":"%d"}}`,
			q.name, q.subject, q.subject, seatLimit, lease/1000, firstYear, q.number)
	case "list", "unclaimed":
		method, path = "GET", "/license?customer_id="+q.subject
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
	case "renew":
		path, body = path+"/renew", `{"duration":"P1Y"}`
	case "put plan":
		method, path, body = "PUT", "/plan/"+q.subject, fmt.Sprintf(`{"product_id":"p","name":%q}`, q.name)
	case "get plan":
		method, path = "GET", "/plan/"+q.subject
	case "delete plan":
		method, path = "DELETE", "/plan/"+q.subject
	case "fulfill":
		fields := ""
		if q.quantity > 0 {
			fields += fmt.Sprintf(`,"quantity":%d`, q.quantity)
		}
		if q.name != "" {
			fields += fmt.Sprintf(`,"metadata":{"name":%q}`, q.name)
		}
		method, path = "PUT", "/purchase/"+q.subject
		body = fmt.Sprintf(`{"at":%q,"customer_id":%q,"plan_id":%q,"state":"active"%s}`, time.UnixMilli(q.at).UTC().Format(time.RFC3339Nano), q.subject, soldPlan, fields)
	case "purchase":
		method, path = "GET", "/purchase/"+q.subject
	case "trial":
		path = "/license/trial"
		body = fmt.Sprintf(`{"plan_id":%q,"customer_id":"%s-%d","subjects":["device:%s-%d"]}`, soldPlan, q.subject, q.fingerprint, q.subject, q.number)
	case "batch":
		path, body = "/license/batch", fmt.Sprintf(`{"count":%d,"name":"n","product_id":"p","customer_id":%q}`, batchSize, q.subject)
	case "claim":
		path, body = "/license/claim", fmt.Sprintf(`{"key":%q,"customer_id":"claimer-%d"}`, keys[q.number], q.fingerprint)
	case "activate":
		path, body = "/license/activate", fmt.Sprintf(`{"key":%q,"fingerprint":"%d"}`, q.subject, q.fingerprint)
	case "take over":
		path, body = "/license/activate", fmt.Sprintf(`{"key":%q,"fingerprint":"%d","take_over":"oldest"}`, q.subject, q.fingerprint)
	case "release":
		path, body = "/license/deactivate", fmt.Sprintf(`{"key":%q,"fingerprint":"%d"}`, q.subject, q.fingerprint)
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
	Key      string
	Customer string `json:"customer_id"`
	Name     string
	Status   any // a number in an error
	Revision int
	Metadata struct {
		Number int `json:",string"`
	}
	Fingerprint int       `json:",string"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// decode returns an answer in the terms of the model.
func (g *group) decode(q request, status int, data []byte) (string, error) {
	var answer struct {
		resource
		Code      string
		Data      []resource
		License   resource
		LicenseID string `json:"license_id"`
		Fields    map[string]struct {
			Value any
			At    time.Time
		}
	}
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // with all their digits
	if err := numbers.Decode(&answer); err != nil {
		g.t.Errorf("%s: %v in %s", q.verb, err, data)
		return "", err
	}
	words := []string{strconv.Itoa(status)}
	switch {
	case status >= 300 || q.verb == "activate" || q.verb == "take over":
		words = append(words, answer.Code)
	case q.verb == "release":
		words = append(words, fmt.Sprint(answer.Status))
	case q.verb == "trial":
		words = append(words, map[int]string{200: "again", 201: "started"}[status], g.same(fmt.Sprint(q.subject, " ", q.fingerprint), answer.License.ID))
	case q.verb == "fulfill" || q.verb == "purchase":
		var fields [2]field
		for i, name := range []string{"quantity", "metadata/name"} {
			if f, ok := answer.Fields[name]; ok {
				fields[i] = field{fmt.Sprint(f.Value), f.At.UnixMilli()}
			}
		}
		words = append(words, fmt.Sprint(fields), g.same(q.subject, answer.LicenseID))
	case q.verb == "batch":
		ids, keys := "", []string{}
		for _, l := range answer.Data {
			ids, keys = ids+l.ID, append(keys, l.Key)
		}
		g.mu.Lock()
		g.keys[q.subject] = keys
		g.mu.Unlock()
		words = append(words, strconv.Itoa(len(keys)), g.same(q.subject, ids))
	case q.verb == "claim":
		words = append(words, answer.Customer)
	case q.verb == "unclaimed":
		words = append(words, strconv.Itoa(len(answer.Data)))
	case q.verb == "put plan" || q.verb == "get plan":
		g.mu.Lock()
		g.known[q.subject] = license{version: strconv.Itoa(answer.Revision)}
		g.mu.Unlock()
		words = append(words, fmt.Sprint(answer.Revision), answer.Name)
	case q.verb == "delete" || q.verb == "delete plan":
		words = append(words, "deleted")
		g.mu.Lock()
		delete(g.known, q.subject)
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
	return strings.TrimSpace(strings.Join(words, " ")), nil
}

// same returns "" if a license has the same id whenever it is in an answer.
func (g *group) same(what, id string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known, ok := g.ids[what]; ok && known != id {
		return "created twice"
	}
	g.ids[what] = id
	return ""
}

// learn remembers a license that was in an answer and returns it in the terms of
// the model.
func (g *group) learn(q request, l resource) string {
	version, number := fmt.Sprintf("%d.%v", l.Revision, l.Status), l.Metadata.Number
	if twice := g.same(strconv.Itoa(number), l.ID); twice != "" {
		return fmt.Sprint(number, " ", twice)
	}
	g.mu.Lock()
	g.known[q.subject] = license{number, version} // other clients ask about it from now on, by its id
	g.mu.Unlock()
	return fmt.Sprintf("%d %s %s until %d", number, version, l.Name, l.ExpiresAt.Year())
}
