package linear

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

const (
	seatLimit    = 2
	fingerprints = 4
	customers    = 3 // of trials, and who claim
	devices      = 2 // of trials
	batchSize    = 3

	lease    = 120_000    // of activations, in milliseconds of the clocks
	maxSkew  = 30_000     // of the clock of a service
	coarsely = lease / 10 // how much earlier a renewed lease may end
)

// lost is the answer that a client did not receive.
const lost = "lost"

// A request is one call of the API about one subject: the license with a certain
// key, a plan, the purchase with a certain reference, the trials of some customers, or a batch.
type request struct {
	subject     string
	verb        string // see verbs
	number      int    // "create": of the license that it creates; other verbs of licenses: of the license that they address; "trial": of the device; "claim": of the license in its batch
	name        string // "create", "update", "put plan"; "fulfill": of the metadata, or ""
	ifMatch     string
	fingerprint int    // "activate", "take over", "release"; "trial", "claim": the number of the customer
	quantity    int    // "fulfill", or 0
	at          int64  // "fulfill", in milliseconds
	key         string // Idempotency-Key

	from, to int64 // between which the clock of the service was, in milliseconds
}

// A record is what the service knows about one subject. Of a license key, that is
// at most one license, its activations, and the stored replies.
type record struct {
	number    int // of the license; of a plan, a purchase or a batch: 1; 0: none
	revision  int
	name      string
	year      int // in which the license ends
	suspended bool
	seats     [fingerprints]seat
	latest    int64  // that a clock may have shown when seats were counted
	replies   string // a line for each Idempotency-Key

	fields [2]field // of a purchase: quantity and metadata
	trials [customers]bool
	taken  [devices]bool

	claimed [batchSize]string // the customer who has claimed each license of a batch
}

// A seat is the latest activation of a fingerprint. Its lease ends between two
// instants, because the model knows the clocks only roughly.
type seat struct {
	status         string // "" (never activated), "live", "released" or "evicted"
	earliest, last int64
}

// A field of a purchase has the value with the latest instant.
type field struct {
	value string
	at    int64
}

func (r record) version() string {
	if r.suspended {
		return fmt.Sprintf("%d.suspended", r.revision)
	}
	return fmt.Sprintf("%d.active", r.revision)
}

// shown is the license in an answer.
func (r record) shown() string {
	return fmt.Sprintf("%d %s %s until %d", r.number, r.version(), r.name, r.year)
}

// live returns the fingerprints with a seat.
func (r record) live() (held []int) {
	for i, s := range r.seats {
		if s.status == "live" {
			held = append(held, i)
		}
	}
	return held
}

func (r record) with(fingerprint int, s seat) record {
	r.seats[fingerprint] = s // of a copy
	return r
}

// views returns what a service may see whose clock was between from and to:
// leases that may have ended are live in some and ended in others.
func (r record) views(from, to int64) []record {
	views := []record{r}
	for i, s := range r.seats {
		if s.status != "live" || s.earliest > max(to, r.latest) {
			continue
		}
		for _, v := range views {
			views = append(views, v.with(i, seat{status: "lease_ended"}))
		}
		if s.last <= from { // certainly
			views = views[len(views)/2:]
		}
	}
	return views
}

// reply returns the stored reply of an Idempotency-Key.
func (r record) reply(key string) (answer string, ok bool) {
	_, rest, ok := strings.Cut(r.replies, "\n"+key+" ")
	answer, _, _ = strings.Cut(rest, "\n")
	return answer, ok
}

// An outcome is what may happen to a request.
type outcome struct {
	answer string
	next   record
}

func one(answer string, next record) []outcome { return []outcome{{answer, next}} }

// answer is the specification. It returns several outcomes only of take-overs and
// where leases may have ended.
func (r record) answer(q request) []outcome {
	if q.key != "" {
		if answer, ok := r.reply(q.key); ok {
			return one(answer, r)
		}
	}
	outcomes := r.handle(q)
	for i, o := range outcomes {
		if q.key != "" && strings.HasPrefix(o.answer, "20") { // a failed change stores nothing
			outcomes[i].next.replies += "\n" + q.key + " " + o.answer + "\n"
		}
	}
	return outcomes
}

// handle is answer for a request that has not been made with its key before.
func (r record) handle(q request) []outcome {
	switch q.verb {
	case "create":
		if r.number != 0 {
			return one("409 key_taken", r)
		}
		r = record{number: q.number, revision: 1, name: q.name, year: firstYear, replies: r.replies}
		return one("201 "+r.shown(), r)
	case "list":
		if r.number == 0 {
			return one("200", r)
		}
		return one("200 "+r.shown(), r)
	case "activate", "take over", "release":
		if r.number == 0 {
			return one("404 not_found", r)
		}
		return r.seat(q)
	case "put plan", "get plan", "delete plan":
		return one(r.plan(q))
	case "fulfill", "purchase":
		return one(r.purchase(q))
	case "trial":
		return one(r.trial(q))
	case "batch", "claim", "unclaimed":
		return one(r.batch(q))
	}
	switch {
	case r.number != q.number:
		return one("404 not_found", r)
	case q.verb == "get":
		return one("200 "+r.shown(), r)
	case q.verb == "seats":
		var outcomes []outcome
		for _, view := range r.views(q.from, q.to) {
			outcomes = append(outcomes, outcome{"200 " + fmt.Sprint(view.live()), r})
		}
		return outcomes
	case q.ifMatch != "" && q.ifMatch != r.version():
		return one("412 stale", r)
	case q.verb == "delete":
		return one("200 deleted", record{replies: r.replies})
	case q.verb == "update":
		r.name = q.name
	case q.verb == "renew":
		r.year++
	case r.suspended == (q.verb == "suspend"):
		return one("409 state_forbidden", r)
	default:
		r.suspended = !r.suspended
	}
	r.revision++
	return one("200 "+r.shown(), r)
}

// seat is handle for a request with the license key. A take-over evicts the oldest
// activation. The model lets it evict any, because activations of one millisecond
// are equally old, and the clocks of two services differ.
func (r record) seat(q request) (outcomes []outcome) {
	i := q.fingerprint
	for _, view := range r.views(q.from, q.to) {
		status, held := view.seats[i].status, view.live()
		counted := r
		counted.latest = max(r.latest, q.to)
		taken := seat{"live", q.from + lease, q.to + lease}
		switch {
		case q.verb == "release" && status == "":
			outcomes = append(outcomes, outcome{"404 not_found", r})
		case q.verb == "release" && status == "live":
			outcomes = append(outcomes, outcome{"200 released", r.with(i, seat{status: "released"})})
		case q.verb == "release":
			outcomes = append(outcomes, outcome{"200 " + status, r})
		case r.suspended:
			outcomes = append(outcomes, outcome{"409 suspended", r})
		case status == "live":
			taken.earliest, taken.last = taken.earliest-coarsely, max(taken.last, r.seats[i].last)
			outcomes = append(outcomes, outcome{"200 valid", r.with(i, taken)})
		case len(held) < seatLimit:
			outcomes = append(outcomes, outcome{"200 valid", counted.with(i, taken)})
		case q.verb == "activate":
			outcomes = append(outcomes, outcome{"409 activation_limit", r})
		default:
			for _, j := range held {
				outcomes = append(outcomes, outcome{"200 valid", counted.with(j, seat{status: "evicted"}).with(i, taken)})
			}
		}
	}
	return outcomes
}

// plan is handle for a plan.
func (r record) plan(q request) (answer string, next record) {
	version := fmt.Sprint(r.revision)
	switch {
	case r.number == 0 && (q.verb != "put plan" || q.ifMatch != ""):
		return "404 not_found", r
	case q.verb == "get plan":
		return fmt.Sprintf("200 %d %s", r.revision, r.name), r
	case q.ifMatch != "" && q.ifMatch != version:
		return "412 stale", r
	case q.verb == "delete plan":
		return "200 deleted", record{}
	}
	status := 200
	if r.number == 0 {
		status = 201
	}
	r.number, r.revision, r.name = 1, r.revision+1, q.name
	return fmt.Sprintf("%d %d %s", status, r.revision, r.name), r
}

// purchase is handle for a purchase: each field has the value with the latest
// instant, in whatever order the requests arrive.
func (r record) purchase(q request) (answer string, next record) {
	status := 200
	switch {
	case q.verb == "purchase" && r.number == 0:
		return "404 not_found", r
	case q.verb == "fulfill":
		if r.number == 0 {
			status, r.number = 201, 1
		}
		if q.quantity > 0 && q.at > r.fields[0].at {
			r.fields[0] = field{fmt.Sprint(q.quantity), q.at}
		}
		if q.name != "" && q.at > r.fields[1].at {
			r.fields[1] = field{q.name, q.at}
		}
	}
	return fmt.Sprintf("%d %v", status, r.fields), r
}

// trial is handle for the start of a trial: one for each customer and each device that the
// customer names, also in a repeat.
func (r record) trial(q request) (answer string, next record) {
	switch {
	case r.trials[q.fingerprint]:
		r.taken[q.number] = true // a repeat binds its new device
		return "200 again", r
	case r.taken[q.number]:
		return "409 trial_taken", r
	}
	r.trials[q.fingerprint], r.taken[q.number] = true, true
	return "201 started", r
}

// batch is handle for a batch: its Idempotency-Key makes it once, and each of its licenses
// has the customer who was the first to claim it.
func (r record) batch(q request) (answer string, next record) {
	customer := fmt.Sprint("claimer-", q.fingerprint)
	switch {
	case q.verb == "batch":
		r.number = 1
		return fmt.Sprint("201 ", batchSize), r
	case q.verb == "unclaimed":
		unclaimed := 0
		for _, by := range r.claimed {
			if by == "" {
				unclaimed += r.number
			}
		}
		return fmt.Sprint("200 ", unclaimed), r
	case r.claimed[q.number] == "":
		r.claimed[q.number] = customer
	case r.claimed[q.number] != customer:
		return "409 license_claimed", r
	}
	return "200 " + customer, r
}

// model is the specification in the form that the checker requires. Each subject
// is checked by itself.
var model = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byKey := map[string]int{}
		for _, op := range history {
			key := op.Input.(request).subject
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
		for _, o := range state.(record).answer(input.(request)) {
			if output == lost || output == o.answer {
				next = append(next, o.next)
			}
		}
		return next
	},
}).ToModel()
