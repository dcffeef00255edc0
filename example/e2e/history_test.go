package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A floating license and the clients that compete for its seats. The clock
// advances one tick at a time, while no request is in progress.
const (
	seatLimit    = 3
	leaseTicks   = 2
	tick         = 10 * time.Second
	fingerprints = 8
	present      = 4 // fingerprints that send requests in one tick
	clients      = 8
	ticks        = 12
	asksPerTick  = 6 // of each client
)

// A question is one request with the license key, or a tick of the clock.
type question struct {
	verb        string // "activate", "take over", "deactivate", "validate" or "tick"
	fingerprint int
}

// A seat is the state of a fingerprint's activation.
type seat struct {
	status string // "" (never any), "live", "released", "evicted"
	taken  int    // the tick at which it was taken
	ends   int    // the tick at which its lease ends
}

// A hall is all seats at a tick.
type hall struct {
	now   int
	seats [fingerprints]seat
}

// status is the status of a seat as the API reports it.
func (h hall) status(i int) string {
	if s := h.seats[i]; s.status == "live" && h.now >= s.ends {
		return "lease_ended"
	}
	return h.seats[i].status
}

func (h hall) live() (held []int) {
	for i := range h.seats {
		if h.status(i) == "live" {
			held = append(held, i)
		}
	}
	return held
}

func (h hall) with(i int, s seat) hall {
	h.seats[i] = s // of a copy
	return h
}

// take gives a seat to a new fingerprint.
func (h hall) take(i int) hall {
	return h.with(i, seat{"live", h.now, h.now + leaseTicks})
}

// keep renews the lease of a seat that is held.
func (h hall) keep(i int) hall {
	s := h.seats[i]
	s.ends = h.now + leaseTicks
	return h.with(i, s)
}

// ask is the specification: the allowed responses and the resulting hall. A
// take-over has several outcomes if several seats are the oldest.
func (h hall) ask(q question, limit int) (answer string, next []hall) {
	i, held := q.fingerprint, h.live()
	status, full := h.status(i), len(held) >= limit
	switch q.verb {
	case "tick":
		h.now++
		return "", []hall{h}
	case "deactivate":
		switch status {
		case "":
			return "not_found", []hall{h}
		case "live":
			s := h.seats[i]
			s.status = "released"
			return "released", []hall{h.with(i, s)}
		}
		return status, []hall{h}
	case "validate":
		switch status {
		case "live":
			return "valid", []hall{h.keep(i)}
		case "", "released":
			status = "not_activated"
		}
		if full {
			status += " activation_limit"
		}
		return status, []hall{h}
	}
	switch {
	case status == "live":
		return "valid", []hall{h.keep(i)}
	case !full:
		return "valid", []hall{h.take(i)}
	case q.verb == "activate":
		return "activation_limit", []hall{h}
	}
	oldest := held[0]
	for _, j := range held {
		if h.seats[j].taken < h.seats[oldest].taken {
			oldest = j
		}
	}
	for _, j := range held {
		if h.seats[j].taken == h.seats[oldest].taken {
			s := h.seats[j]
			s.status = "evicted"
			next = append(next, h.with(j, s).take(i))
		}
	}
	return "valid", next
}

// model is the specification in the form that the checker requires.
func model(limit int) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{hall{}} },
		Step: func(state, input, output any) (next []any) {
			answer, halls := state.(hall).ask(input.(question), limit)
			if answer != output.(string) {
				return nil
			}
			for _, h := range halls {
				next = append(next, h)
			}
			return next
		},
	}
	return m.ToModel()
}

// A history is the HTTP requests and responses, with their times.
type history struct {
	t     *testing.T
	base  string
	key   string
	order atomic.Int64 // a clock that never shows the same twice

	mu  sync.Mutex
	ops []porcupine.Operation
}

// ask sends a request and records it.
func (h *history) ask(client int, q question) {
	op := porcupine.Operation{ClientId: client, Input: q, Call: h.order.Add(1)}
	op.Output = h.send(q)
	op.Return = h.order.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// send returns the response of the service in the terms of the specification.
func (h *history) send(q question) string {
	verb, more := q.verb, ""
	if verb == "take over" {
		verb, more = "activate", `,"take_over":"oldest"`
	}
	body := fmt.Sprintf(`{"key":%q,"fingerprint":"pc-%d"%s}`, h.key, q.fingerprint, more)
	resp, err := http.Post(h.base+"/license/"+verb, "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Error(err)
		return ""
	}
	var answer struct {
		Code    string
		Status  any
		Reasons []struct{ Code string }
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		h.t.Errorf("%s: %v in %s", verb, err, data)
		return ""
	}
	switch {
	case resp.StatusCode == http.StatusOK && verb == "deactivate":
		return fmt.Sprint(answer.Status)
	case len(answer.Reasons) > 0:
		codes := make([]string, len(answer.Reasons))
		for i, r := range answer.Reasons {
			codes[i] = r.Code
		}
		return strings.Join(codes, " ")
	}
	return answer.Code
}

// TestSeatsAreLinearizable lets clients activate, renew, release and take over
// seats of one license concurrently over HTTP, while leases expire. It searches
// for a sequential order of all requests, each between its call and its response,
// that has the same responses.
func TestSeatsAreLinearizable(t *testing.T) {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	t.Cleanup(func() { st.Close() })
	clock := licensingtest.NewClock()
	handler := licensing.NewHandler(st, licensing.Options{Now: clock.Now, Limits: licensing.LimitOptions{KeyRate: -1}, Logger: slog.New(slog.DiscardHandler)})
	seats, lease := int64(seatLimit), int64(leaseTicks*tick/time.Second)
	l, err := handler.Service().Create(t.Context(), api.CreateLicenseParams{
		Name: "n", ProductID: "p", CustomerID: "c", Terms: api.Terms{MaxActivations: &seats, LeaseSeconds: &lease},
	})
	is.NoErr(err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)

	h := &history{t: t, base: server.URL, key: l.Key}
	for now := range ticks {
		// Different clients send requests in each tick, so that some leases
		// expire. Most ticks have no take-over, or no lease would expire.
		verbs := []string{"activate", "activate", "deactivate", "validate", "validate"}
		if now%3 == 2 {
			verbs = append(verbs, "take over", "take over")
		}
		var wg sync.WaitGroup
		for client := range clients {
			random := rand.New(rand.NewPCG(uint64(now), uint64(client)))
			wg.Go(func() {
				for range asksPerTick {
					h.ask(client, question{verbs[random.IntN(len(verbs))], (now + random.IntN(present)) % fingerprints})
				}
			})
		}
		wg.Wait()
		h.ops = append(h.ops, porcupine.Operation{Input: question{verb: "tick"}, Call: h.order.Add(1), Output: "", Return: h.order.Add(1)})
		clock.Advance(tick)
	}

	answers := map[string]int{} // by their first code
	for _, op := range h.ops {
		code, _, _ := strings.Cut(op.Output.(string), " ")
		answers[code]++
	}
	for _, seen := range []string{"valid", "activation_limit", "released", "not_activated", "lease_ended", "evicted"} {
		if answers[seen] == 0 {
			t.Errorf("the history has no answer %q: %v", seen, answers)
		}
	}
	is.Equal(porcupine.CheckOperationsTimeout(model(seatLimit), h.ops, time.Minute), porcupine.Ok)
	// The same history is impossible with one seat more or less.
	is.Equal(porcupine.CheckOperationsTimeout(model(seatLimit+1), h.ops, time.Minute), porcupine.Illegal)
	is.Equal(porcupine.CheckOperationsTimeout(model(seatLimit-1), h.ops, time.Minute), porcupine.Illegal)
}
