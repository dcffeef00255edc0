package linear

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A broken store has one defect in its Updates.
type broken struct {
	store.Store
	defect string

	mu   sync.Mutex
	read map[string]read // by license id or key: what a "stale read" returns again
}

type read struct {
	license store.License
	at      time.Time
}

// errUndo undoes an Update.
var errUndo = errors.New("undo")

func (s *broken) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		if err := fn(brokenTx{tx, s}); err != nil {
			return err
		}
		if s.defect == "lost commit" && rand.N(20) == 0 {
			return errUndo
		}
		return nil
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// A brokenTx is the transaction of a broken store.
type brokenTx struct {
	store.Tx
	s *broken
}

func (tx brokenTx) License(ctx context.Context, id string) (store.License, error) {
	l, err := tx.Tx.License(ctx, id)
	if err != nil || tx.s.defect != "stale read" {
		return l, err
	}
	return tx.stale(id, l), nil
}

func (tx brokenTx) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	l, err := tx.Tx.LicenseByKey(ctx, key)
	if err != nil || tx.s.defect != "stale read by key" {
		return l, err
	}
	return tx.stale(key, l), nil
}

// stale returns a license as it was up to 20 milliseconds ago.
func (tx brokenTx) stale(name string, l store.License) store.License {
	tx.s.mu.Lock()
	defer tx.s.mu.Unlock()
	if old, ok := tx.s.read[name]; ok && time.Since(old.at) < 20*time.Millisecond {
		return old.license
	}
	l.Document = bytes.Clone(l.Document)
	tx.s.read[name] = read{l, time.Now()}
	return l
}

func (tx brokenTx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := tx.Tx.Entry(ctx, kind, key)
	switch {
	case err != nil:
	case tx.s.defect == "forgotten reply" && kind == "once":
		return store.Entry{}, store.ErrNotFound
	case tx.s.defect == "forgotten "+kind: // plan or purchase
		return store.Entry{}, store.ErrNotFound
	case tx.s.defect == "extra seat" && kind == "seats":
		if n, _ := strconv.Atoi(string(e.Data)); n == seatLimit {
			e.Data = strconv.AppendInt(nil, seatLimit-1, 10)
		}
	}
	return e, err
}

func (tx brokenTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if tx.s.defect == "forgotten "+q.Kind { // trial
		return nil, nil
	}
	return tx.Tx.Entries(ctx, q)
}

func (tx brokenTx) PutActivations(ctx context.Context, activations ...store.Activation) error {
	if tx.s.defect == "endless lease" {
		for i := range activations {
			activations[i].LeaseEndsAt = time.Time{}
		}
	}
	return tx.Tx.PutActivations(ctx, activations...)
}

// TestBroken checks that the histories of a broken store are found to be
// impossible, and those of a service whose clock is very wrong.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, defect := range []string{"stale read", "stale read by key", "extra seat", "forgotten reply", "lost commit", "forgotten plan", "forgotten purchase", "forgotten trial", "endless lease", "slow clock", "fast clock"} {
		t.Run(defect, func(t *testing.T) {
			is := is.New(t)
			st := openStore(t, "sqlite", filepath.Join(t.TempDir(), "licenses.db"))
			token := newToken(t, st)
			s := &broken{Store: st, defect: defect, read: map[string]read{}}
			wrong := skews
			switch defect {
			case "slow clock":
				wrong[0] = -time.Hour
			case "fast clock":
				wrong[1] = time.Hour
			}
			g := newGroup(t, token, serve(t, s, wrong[0]), serve(t, s, wrong[1]))
			result := porcupine.Ok
			for range 60 {
				if result = search(g.round()); result == porcupine.Illegal {
					break
				}
			}
			is.Equal(result, porcupine.Illegal)
		})
	}
}
