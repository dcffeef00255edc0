package licensingtest

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// skew is how far the clocks of the two Services are apart.
const skew = 5 * time.Minute

const offlineSteps = 250

// files walks at random through everything that touches license files and seats,
// and checks after every step that no more programs can run offline than the
// license allows.
func (s *seating) files() {
	for seed := range uint64(2) {
		for _, hold := range []bool{false, true} {
			s.t.Run(fmt.Sprintf("seed=%d,hold=%t", seed, hold), func(t *testing.T) { walk(t, s.st, seed, hold) })
		}
	}
}

// An offlineWalk is the model of what programs can do offline.
type offlineWalk struct {
	t      *testing.T
	st     store.Store
	random *rand.Rand
	clock  *Clock // of the slower Service
	nodes  [2]*license.Service
	hold   bool // Options.HoldOffline

	id, key    string
	seats      int64 // negative: unlimited
	generation int64
	signed     []signedFile
	forced     []time.Time // when the holds of seats end that were released by force
	limits     map[string]heldAt
	replies    int
	issued     int
}

// A signedFile is a file that a program may have.
type signedFile struct {
	fingerprint string
	generation  int64
	expires     time.Time
	seats       int64 // the limit when its seat was held
}

// A heldAt is a hold, and the limit when it was committed.
type heldAt struct {
	until time.Time
	seats int64
}

func walk(t *testing.T, st store.Store, seed uint64, hold bool) {
	w := &offlineWalk{
		t: t, st: st, random: rand.New(rand.NewPCG(seed, 16)), clock: NewClock(), hold: hold,
		seats: 3, generation: 1, limits: map[string]heldAt{},
	}
	for i := range w.nodes {
		ahead := time.Duration(i) * skew
		w.nodes[i] = license.New(st, license.Options{
			Now:    func() time.Time { return w.clock.Now().Add(ahead) },
			Logger: slog.New(slog.DiscardHandler), HoldOffline: hold, MaxOffline: 20 * 24 * time.Hour,
		})
	}
	p := license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c", MaxActivations: &w.seats}
	if seed%2 == 1 {
		lease := int64(3600)
		p.LeaseSeconds = &lease
	}
	l, err := w.nodes[0].Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	w.id, w.key = l.ID, l.Key
	for step := range offlineSteps {
		if err := w.step(); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		w.check(step)
		if t.Failed() {
			return
		}
	}
	if w.issued == 0 {
		t.Error("no file was issued")
	}
}

// step does something, and returns an error that no rule explains.
func (w *offlineWalk) step() error {
	ctx, node := w.t.Context(), w.nodes[w.random.IntN(2)]
	fingerprint := fmt.Sprint("pc-", w.random.IntN(9))
	lifetime := license.Duration{Hours: 1 + w.random.IntN(24*20)}
	var err error
	switch w.random.IntN(20) {
	case 0, 1, 2, 3, 4:
		p := license.ActivateParams{Key: w.key, Fingerprint: fingerprint, File: lifetime}
		if w.random.IntN(3) == 0 {
			p.TakeOver = license.TakeOverOldest
		}
		var v license.Verdict
		if v, err = node.Activate(ctx, p); err == nil {
			w.sign(v.Activation, v.FileClaims())
		}
	case 5, 6, 7:
		var v license.Verdict
		if v, err = node.Validate(ctx, license.ValidateParams{Key: w.key, Fingerprint: fingerprint, File: lifetime}); err == nil {
			w.sign(v.Activation, v.FileClaims())
		}
	case 8:
		_, err = node.Activate(ctx, license.ActivateParams{Key: w.key, Fingerprint: fingerprint})
	case 9, 10, 11:
		_, err = node.Deactivate(ctx, license.DeactivateParams{Key: w.key, Fingerprint: fingerprint})
	case 12:
		err = w.release(node)
	case 13:
		err = w.issue(node, fingerprint, lifetime)
	case 14:
		err = w.limit(node)
	case 15:
		lease := license.ToNull[int64]()
		if w.random.IntN(2) == 0 {
			lease = license.To(int64(60 * (1 + w.random.IntN(5000))))
		}
		_, err = node.Update(ctx, license.UpdateParams{ID: w.id, LeaseSeconds: lease})
	case 16:
		err = w.outdate(node)
	default:
		w.advance()
	}
	for _, rule := range []error{license.ErrDenied, license.ErrSeatHeld, license.ErrNotFound, license.ErrNoFile} {
		if errors.Is(err, rule) {
			return nil
		}
	}
	return err
}

// sign signs the file of an answer, unless the process crashes before.
func (w *offlineWalk) sign(a *license.Activation, c *licensefile.Claims) {
	if a != nil && a.HeldUntil != nil && w.limits[a.Fingerprint].until.Before(*a.HeldUntil) {
		w.limits[a.Fingerprint] = heldAt{*a.HeldUntil, w.seats}
	}
	if c == nil || w.random.IntN(5) == 0 {
		return
	}
	w.issued++
	if a == nil {
		w.t.Fatal("a file of a license with limited seats is bound to no activation")
	}
	row, err := w.st.Activation(w.t.Context(), w.id, a.Fingerprint)
	if err != nil || row.ID != c.ActivationID {
		w.t.Fatalf("the activation of the file: %v", err)
	}
	if a.HeldUntil == nil || a.HeldUntil.Before(c.ExpiresAt) {
		w.t.Errorf("the file expires at %v, and the seat is held until %v", c.ExpiresAt, a.HeldUntil)
	}
	limit := w.seats
	if w.limits[a.Fingerprint].seats > limit {
		limit = w.limits[a.Fingerprint].seats
	}
	w.signed = append(w.signed, signedFile{a.Fingerprint, c.Generation, c.ExpiresAt, limit})
}

// release releases an activation as an operator does.
func (w *offlineWalk) release(node *license.Service) error {
	page, err := node.ListActivations(w.t.Context(), license.ListActivationsParams{LicenseID: w.id, Limit: 200})
	if err != nil || len(page.Data) == 0 {
		return err
	}
	a := page.Data[w.random.IntN(len(page.Data))]
	force := w.random.IntN(3) == 0
	_, err = node.ReleaseActivation(w.t.Context(), license.ReleaseParams{LicenseID: w.id, ActivationID: a.ID})
	if force && errors.Is(err, license.ErrSeatHeld) {
		_, err = node.ReleaseActivation(w.t.Context(), license.ReleaseParams{LicenseID: w.id, ActivationID: a.ID, Force: true})
		w.forced = append(w.forced, *a.HeldUntil)
	}
	return err
}

// issue issues a file as an API client does, and repeats the request.
func (w *offlineWalk) issue(node *license.Service, fingerprint string, lifetime license.Duration) error {
	w.replies++
	lifetime.Hours *= 3
	var claims *licensefile.Claims
	var activation *license.Activation
	for range 2 {
		reply, _, err := node.Once(w.t.Context(), fmt.Sprint(w.id, w.replies), "request", func(in *license.Service) ([]byte, error) {
			file, err := in.IssueFile(w.t.Context(), license.IssueFileParams{LicenseID: w.id, Fingerprint: fingerprint, Lifetime: lifetime})
			if err != nil {
				return nil, err
			}
			activation = file.Activation
			return file.FileClaims().MarshalJSON()
		})
		if err != nil {
			return err
		}
		claims = new(licensefile.Claims)
		if err := claims.UnmarshalJSON(reply); err != nil {
			return err
		}
		w.sign(activation, claims)
	}
	return nil
}

// limit changes the number of seats, or removes the limit for a moment.
func (w *offlineWalk) limit(node *license.Service) error {
	ctx := w.t.Context()
	if w.random.IntN(4) == 0 {
		if _, err := node.Update(ctx, license.UpdateParams{ID: w.id, MaxActivations: license.ToNull[int64]()}); err != nil {
			return err
		}
		for i := range 6 {
			p := license.ActivateParams{Key: w.key, Fingerprint: fmt.Sprint("pc-", i), File: license.Duration{Days: 10}}
			if _, err := node.Activate(ctx, p); err != nil {
				return err
			}
		}
	}
	w.seats = int64(max(0, w.random.IntN(8)-2))
	l, err := node.Update(ctx, license.UpdateParams{ID: w.id, MaxActivations: license.To(w.seats)})
	if err == nil && l.Generation > w.generation {
		clear(w.limits)
	}
	w.generation = max(w.generation, l.Generation)
	return err
}

// outdate raises the generation.
func (w *offlineWalk) outdate(node *license.Service) error {
	if w.random.IntN(4) > 0 {
		return nil
	}
	l, err := node.VoidFiles(w.t.Context(), license.MoveParams{ID: w.id})
	if err == nil {
		w.generation = l.Generation
		clear(w.limits)
	}
	return err
}

// advance lets time pass: mostly hours, sometimes so much that ended
// activations are removed.
func (w *offlineWalk) advance() {
	switch w.random.IntN(12) {
	case 0:
		w.clock.Advance(31 * 24 * time.Hour)
	case 1, 2, 3:
		w.clock.Advance(time.Duration(w.random.IntN(60)) * time.Minute)
	default:
		w.clock.Advance(time.Duration(w.random.IntN(4*24)) * time.Hour)
	}
}

// check counts the fingerprints with a current file that has not expired.
func (w *offlineWalk) check(step int) {
	now := w.clock.Now()
	fingerprints := map[string]bool{}
	seats := w.seats
	for _, f := range w.signed {
		if f.generation == w.generation && f.expires.After(now) {
			fingerprints[f.fingerprint] = true
			seats = max(seats, f.seats)
		}
	}
	most := int(seats)
	if !w.hold {
		most *= 2
	}
	for _, until := range w.forced {
		if until.After(now) {
			most++
		}
	}
	if len(fingerprints) > most {
		w.t.Errorf("step %d: %d programs can run from license files, want at most %d", step, len(fingerprints), most)
	}
}
