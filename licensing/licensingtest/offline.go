package licensingtest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// skew is how far the clocks of the two Services are apart.
const skew = 5 * time.Minute

// day is the unit of the lifetimes of files.
const day = 24 * time.Hour

// An offline is a license, two Services that issue license files for it, and
// the files that programs may have. It is the store of both Services, and checks
// before every commit that the seats hold for these files:
//
//   - No more programs can run from files than the license allows: as many as it
//     has seats, without Options.HoldOffline as many again and at least three more,
//     and one more for each seat that was released by force.
//   - The activation of every file is held until the file has expired.
//
// Only files of the current generation count. The programs use the clock of the
// slower Service, so files expire late.
type offline struct {
	store.Store
	t     *testing.T
	clock *Clock // of the slower Service
	nodes [2]*license.Service
	hold  bool // Options.HoldOffline
	fixed bool // the limit never changes: then there are never more active activations

	id, key string

	mu     sync.Mutex
	seats  int64                  // MaxActivations; the last limit if there is none now
	held   map[string]heldSeat    // by fingerprint
	known  map[string]offlineFile // by ID: files that were committed
	signed []offlineFile
	forced map[string]time.Time // by activation ID: when the hold ends that was broken by force
}

// A heldSeat is until when a seat is held, and the limit when that was committed.
type heldSeat struct {
	until      time.Time
	generation int64
	seats      int64
}

// An offlineFile is a license file.
type offlineFile struct {
	fingerprint string
	generation  int64
	expires     time.Time
	seats       int64 // the limit when its seat was held
}

// newOffline creates a license with three seats.
func newOffline(t *testing.T, st store.Store, holdOffline bool, edits ...func(*api.CreateLicenseParams)) *offline {
	o := &offline{
		Store: st, t: t, clock: NewClock(), hold: holdOffline, seats: 3,
		held: map[string]heldSeat{}, known: map[string]offlineFile{}, forced: map[string]time.Time{},
	}
	for i := range o.nodes {
		ahead := time.Duration(i) * skew
		o.nodes[i] = license.New(o, license.Options{
			Now:    func() time.Time { return o.clock.Now().Add(ahead) },
			Logger: slog.New(slog.DiscardHandler), HoldOffline: holdOffline, MaxOffline: 20 * day,
		})
	}
	p := api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"}
	p.MaxActivations = &o.seats
	for _, edit := range edits {
		edit(&p)
	}
	l, err := o.nodes[0].Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	o.id, o.key = l.ID, l.Key
	return o
}

// Update implements [store.Store]. It checks what fn leaves before it is committed.
func (o *offline) Update(ctx context.Context, fn func(store.Tx) error) error {
	o.mu.Lock()
	files := slices.Clone(o.signed)
	o.mu.Unlock()
	runtime.Gosched() // to the other Service, between what a call reads and its Update
	return o.Store.Update(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil || o.id == "" {
			return err
		}
		_, err := o.check(ctx, tx, files)
		return err
	})
}

// issued notes the file of an answer, and signs it unless the process crashes
// before. Without an activation, the answer is a replay.
func (o *offline) issued(a *api.Activation, c *licensefile.Claims, crash bool) {
	if c == nil {
		return
	}
	o.mu.Lock()
	f, known := o.known[c.ID]
	if !known {
		f = offlineFile{o.fingerprint(c), c.Generation, c.ExpiresAt, o.seats}
		if a != nil {
			h := o.held[f.fingerprint]
			if a.HeldUntil != nil && (a.HeldUntil.After(h.until) || c.Generation > h.generation) {
				h = heldSeat{*a.HeldUntil, c.Generation, o.seats}
				o.held[f.fingerprint] = h
			}
			f.seats = max(f.seats, h.seats)
		}
		o.known[c.ID] = f
	}
	if !crash {
		o.signed = append(o.signed, f)
	}
	o.mu.Unlock()
	if f.fingerprint == "" {
		o.t.Error("a file of a license with limited seats is bound to no activation")
	}
	if !crash {
		o.programs()
	}
}

// fingerprint returns what a file is bound to.
func (o *offline) fingerprint(c *licensefile.Claims) string {
	for i := range fingerprints {
		if c.FingerprintHash == licensefile.FingerprintHash(o.id, pc(i)) {
			return pc(i)
		}
	}
	return ""
}

// programs returns how many programs can run from license files now.
func (o *offline) programs() (n int) {
	o.t.Helper()
	o.mu.Lock()
	files := slices.Clone(o.signed)
	o.mu.Unlock()
	err := o.Store.View(o.t.Context(), func(r store.Reader) (err error) {
		n, err = o.check(o.t.Context(), r, files)
		return err
	})
	if err != nil {
		o.t.Error(err)
	}
	return n
}

// check checks a state of the store for the files that were signed before, and
// returns how many programs can run from them.
func (o *offline) check(ctx context.Context, r store.Reader, files []offlineFile) (programs int, err error) {
	o.t.Helper()
	row, err := r.License(ctx, o.id)
	if err != nil {
		return 0, err
	}
	l, err := record.ReadLicense(row)
	if err != nil {
		return 0, err
	}
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: o.id, Limit: store.MaxLimit})
	if err != nil {
		return 0, err
	}
	now := o.clock.Now()
	seats := map[string]record.Activation{}
	var active int64 // on the faster clock, on which leases end first
	for _, row := range rows {
		if seats[row.Fingerprint], err = record.ReadActivation(row); err != nil {
			return 0, err
		}
		if row.EndedAt.IsZero() && (row.LeaseEndsAt.IsZero() || row.LeaseEndsAt.After(now.Add(skew))) {
			active++
		}
	}
	if o.fixed && active > o.seats {
		o.t.Errorf("%d activations are active, want at most %d", active, o.seats)
	}

	running := map[string]bool{}
	var most int64
	for _, f := range files {
		if f.generation != max(1, l.Generation) || !f.expires.After(now) {
			continue
		}
		running[f.fingerprint], most = true, max(most, f.seats)
		switch a, ok := seats[f.fingerprint]; {
		case !ok:
			o.t.Errorf("the activation of %s is removed, and its file expires at %v", f.fingerprint, f.expires)
		case a.HeldUntil.Before(f.expires):
			o.t.Errorf("the seat of %s is held until %v, and its file expires at %v", f.fingerprint, a.HeldUntil, f.expires)
		case a.EndedAt.IsZero() && !a.LeaseEndsAt.IsZero() && a.LeaseEndsAt.Before(a.HeldUntil):
			o.t.Errorf("the activation of %s ends at %v, and is held until %v", f.fingerprint, a.LeaseEndsAt, a.HeldUntil)
		}
	}
	if !o.hold {
		most += max(most, 3)
	}
	for _, a := range seats {
		if until, ok := o.broken(a.ID); ok && !a.EndedAt.IsZero() && until.After(now) {
			most++
		}
	}
	if l.MaxActivations >= 0 && int64(len(running)) > most {
		o.t.Errorf("the programs on %v can run from license files, want at most %d of them",
			slices.Sorted(maps.Keys(running)), most)
	}
	return len(running), nil
}

// broken returns when the hold of an activation ends that was released by force.
func (o *offline) broken(activationID string) (until time.Time, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	until, ok = o.forced[activationID]
	return until, ok
}

// fingerprints is how many programs there are, three for each seat.
const fingerprints = 9

// pc returns the fingerprint of a program.
func pc(i int) string { return fmt.Sprint("pc-", i) }
