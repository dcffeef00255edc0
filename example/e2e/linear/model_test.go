package linear

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

const (
	seatLimit    = 2
	fingerprints = 4
)

// lost is the answer that a client did not receive.
const lost = "lost"

// A request is one call of the API about the license with a certain key.
type request struct {
	licenseKey  string
	verb        string // "create", "get", "list", "seats", "update", "suspend", "reinstate", "delete", "activate", "take over" or "release"
	number      int    // "create": of the license that it creates; others: of the license that they address
	name        string // "create", "update"
	ifMatch     string
	fingerprint int    // "activate", "take over", "release"
	key         string // Idempotency-Key
}

// A record is what the service knows about one license key: at most one license,
// its activations, and the stored replies.
type record struct {
	number    int // of the license; 0: none
	revision  int
	name      string
	suspended bool
	seats     [fingerprints]string // "" (never activated), "live", "released" or "evicted"
	replies   string               // a line for each Idempotency-Key
}

func (r record) version() string {
	if r.suspended {
		return fmt.Sprintf("%d.suspended", r.revision)
	}
	return fmt.Sprintf("%d.active", r.revision)
}

// shown is the license in an answer.
func (r record) shown() string { return fmt.Sprintf("%d %s %s", r.number, r.version(), r.name) }

func (r record) live() (held []int) {
	for i, status := range r.seats {
		if status == "live" {
			held = append(held, i)
		}
	}
	return held
}

func (r record) with(fingerprint int, status string) record {
	r.seats[fingerprint] = status // of a copy
	return r
}

// reply returns the stored reply of an Idempotency-Key.
func (r record) reply(key string) (answer string, ok bool) {
	_, rest, ok := strings.Cut(r.replies, "\n"+key+" ")
	answer, _, _ = strings.Cut(rest, "\n")
	return answer, ok
}

// answer is the specification: the answer to a request and the records that may
// result, of which there are several only for a take-over.
func (r record) answer(q request) (answer string, next []record) {
	if q.key != "" {
		if answer, ok := r.reply(q.key); ok {
			return answer, []record{r}
		}
	}
	answer, next = r.handle(q)
	if q.key != "" && strings.HasPrefix(answer, "20") { // a failed change stores nothing
		for i := range next {
			next[i].replies += "\n" + q.key + " " + answer + "\n"
		}
	}
	return answer, next
}

// handle is answer for a request that has not been made with its key before.
func (r record) handle(q request) (answer string, next []record) {
	switch q.verb {
	case "create":
		if r.number != 0 {
			return "409 key_taken", []record{r}
		}
		r = record{number: q.number, revision: 1, name: q.name, replies: r.replies}
		return "201 " + r.shown(), []record{r}
	case "list":
		if r.number == 0 {
			return "200", []record{r}
		}
		return "200 " + r.shown(), []record{r}
	case "activate", "take over", "release":
		if r.number == 0 {
			return "404 not_found", []record{r}
		}
		return r.seat(q)
	}
	switch {
	case r.number != q.number:
		return "404 not_found", []record{r}
	case q.verb == "get":
		return "200 " + r.shown(), []record{r}
	case q.verb == "seats":
		return "200 " + fmt.Sprint(r.live()), []record{r}
	case q.ifMatch != "" && q.ifMatch != r.version():
		return "412 stale", []record{r}
	case q.verb == "delete":
		return "200 deleted", []record{{replies: r.replies}}
	case q.verb == "update":
		r.name = q.name
	case r.suspended == (q.verb == "suspend"):
		return "409 move_forbidden", []record{r}
	default:
		r.suspended = !r.suspended
	}
	r.revision++
	return "200 " + r.shown(), []record{r}
}

// seat is handle for a request with the license key. A take-over evicts the oldest
// activation. The model lets it evict any, because activations of one millisecond
// are equally old.
func (r record) seat(q request) (answer string, next []record) {
	i, status, held := q.fingerprint, r.seats[q.fingerprint], r.live()
	switch {
	case q.verb == "release" && status == "":
		return "404 not_found", []record{r}
	case q.verb == "release" && status == "live":
		return "200 released", []record{r.with(i, "released")}
	case q.verb == "release":
		return "200 " + status, []record{r}
	case r.suspended:
		return "409 suspended", []record{r}
	case status == "live" || len(held) < seatLimit:
		return "200 valid", []record{r.with(i, "live")}
	case q.verb == "activate":
		return "409 activation_limit", []record{r}
	}
	for _, j := range held {
		next = append(next, r.with(j, "evicted").with(i, "live"))
	}
	return "200 valid", next
}

// model is the specification in the form that the checker requires. Each license
// key is checked by itself.
var model = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byKey := map[string]int{}
		for _, op := range history {
			key := op.Input.(request).licenseKey
			i, ok := byKey[key]
			if !ok {
				i = len(parts)
				byKey[key], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], op)
		}
		return parts
	},
	Init: func() []any { return []any{record{}} },
	Step: func(state, input, output any) (next []any) {
		answer, records := state.(record).answer(input.(request))
		if output != lost && output != answer {
			return nil
		}
		for _, r := range records {
			next = append(next, r)
		}
		return next
	},
}).ToModel()
