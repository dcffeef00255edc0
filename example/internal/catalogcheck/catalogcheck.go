// Package catalogcheck compares the counts and the search of a service with a
// count of all licenses, while licenses change at random.
package catalogcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A Process is a service on the store that is checked, with a clock that only
// moves forward.
type Process struct {
	*license.Service
	store store.Store
	clock *atomic.Int64 // Unix time in milliseconds
}

// NewProcess returns a service on st.
func NewProcess(st store.Store) *Process {
	clock := new(atomic.Int64)
	clock.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	return (&Process{store: st, clock: clock}).another(st)
}

// another returns a service like another process on st, with the same clock.
func (p *Process) another(st store.Store) *Process {
	other := &Process{store: st, clock: p.clock}
	other.Service = license.New(st, license.Options{Now: other.now})
	return other
}

func (p *Process) now() time.Time { return time.UnixMilli(p.clock.Load()) }

// retention is how long events are kept.
const retention = 24 * time.Hour

// Run changes licenses of two services on st at random: with concurrent writers,
// interrupted indexing, retention, erased customers and moves to another store.
// After each round it compares what both services answer with the licenses.
func Run(t *testing.T, st store.Store, rounds int, seed uint64) {
	t.Helper()
	one := NewProcess(st)
	processes := []*Process{one, one.another(st)}
	dice := rand.New(rand.NewPCG(seed, 1))
	for round := range rounds {
		var wg sync.WaitGroup
		for writer := range 3 {
			dice := rand.New(rand.NewPCG(seed+uint64(round), uint64(writer)))
			p := processes[writer%2]
			wg.Go(func() {
				for range 15 {
					if err := p.Change(t.Context(), dice); err != nil {
						t.Errorf("change: %v", err)
					}
				}
			})
		}
		for i, p := range processes {
			dice := rand.New(rand.NewPCG(seed+uint64(round), uint64(10+i)))
			wg.Go(func() { p.disturb(t, dice) })
		}
		wg.Wait()
		if round%3 == 2 { // retention removes what the indexes may not have read
			one.clock.Add((48 * time.Hour).Milliseconds())
			one.purge(t)
		}
		one.Compare(t, dice)
		processes[1].Compare(t, dice)
		if round%4 == 3 {
			one.move(t).Compare(t, dice)
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
}

// The texts of licenses and the searches among them.
var (
	names     = []string{"Anna Annabel", "annika", "Zürich-Pro", "東京都 Atlas", "한국어", "a b c d e f g h i j k l m n o p q r", "Обмен", "éa", "Pro 2026"}
	customers = []string{"ada@example.com", "bob", "Bob", "cus_01", "客戶", "anno/1", "b\u00f6b"}
	products  = []string{"atlas", "prod_editor", "x"}
	searches  = []string{"a", "ann", "anna", "annab", "z", "zür", "zurich", "pro", "p", "2", "2026", "東", "京", "東京", "京都", "東都", "국어", "обм",
		"bob", "böb", "example", "com ada", "anna pro", "q", "p q", "r", "order", "ord 7", "7", "host", "host-1", "host-12 ann", "客", "xyz", "é"}
)

func pick[E any](dice *rand.Rand, list []E) E { return list[dice.IntN(len(list))] }

func ptr[E any](e E) *E { return &e }

// Change makes one random change of a random license, or creates one.
func (p *Process) Change(ctx context.Context, dice *rand.Rand) error {
	page, err := p.List(ctx, license.ListParams{Limit: 60, NewestFirst: dice.IntN(2) == 0})
	if err != nil {
		return err
	}
	if len(page.Data) == 0 || dice.IntN(4) == 0 {
		c := license.CreateParams{Name: pick(dice, names), ProductID: pick(dice, products), CustomerID: pick(dice, customers)}
		if dice.IntN(2) == 0 {
			c.Metadata = map[string]string{"a": fmt.Sprintf("order %d", dice.IntN(9)), "b": pick(dice, names)}
			c.ExpiresAt = ptr(time.UnixMilli(p.clock.Load() + dice.Int64N(1e9) + 1000))
		}
		_, err := p.Create(ctx, c)
		return err
	}
	l := pick(dice, page.Data)
	switch dice.IntN(10) {
	case 0:
		err = p.Delete(ctx, license.DeleteParams{ID: l.ID})
	case 1:
		_, err = p.Suspend(ctx, license.MoveParams{ID: l.ID})
	case 2:
		_, err = p.Reinstate(ctx, license.MoveParams{ID: l.ID})
	case 3:
		_, err = p.Revoke(ctx, license.MoveParams{ID: l.ID})
	case 4:
		_, err = p.Rekey(ctx, license.RekeyParams{ID: l.ID})
	case 5:
		_, err = p.Update(ctx, license.UpdateParams{ID: l.ID, CustomerID: ptr(pick(dice, customers))})
	case 6:
		_, err = p.Update(ctx, license.UpdateParams{ID: l.ID, Name: ptr(pick(dice, names)), ProductID: ptr(pick(dice, products))})
	case 7:
		_, err = p.Deactivate(ctx, license.DeactivateParams{Key: l.Key, Fingerprint: fmt.Sprint("host-", dice.IntN(20))})
	default:
		_, err = p.Activate(ctx, license.ActivateParams{Key: l.Key, Fingerprint: fmt.Sprint("host-", dice.IntN(20))})
	}
	for _, expected := range []error{license.ErrNotFound, license.ErrMove, license.ErrDenied, license.ErrKeyTaken} {
		if errors.Is(err, expected) {
			return nil // another writer was faster
		}
	}
	return err
}

// disturb asks, interrupts the indexing, and erases a customer, while others
// write.
func (p *Process) disturb(t *testing.T, dice *rand.Rand) {
	for range 4 {
		switch dice.IntN(4) {
		case 0:
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(dice.IntN(5000))*time.Microsecond)
			_ = p.Index(ctx)
			cancel()
		case 1:
			o, err := p.Overview(t.Context())
			if err != nil {
				t.Errorf("overview: %v", err)
			}
			for status, n := range o.ByStatus {
				if n < 0 {
					t.Errorf("%d licenses are %s", n, status)
				}
			}
		case 2:
			if _, err := p.List(t.Context(), license.ListParams{Search: pick(dice, searches)}); err != nil {
				t.Errorf("search: %v", err)
			}
		case 3:
			customer := pick(dice, customers)
			if dice.IntN(3) > 0 {
				continue
			}
			if _, err := p.EraseCustomer(t.Context(), customer); err != nil {
				t.Errorf("erase: %v", err)
			}
		}
	}
}

// purge lets Run remove old events.
func (p *Process) purge(t *testing.T) {
	t.Helper()
	if _, err := p.Create(t.Context(), license.CreateParams{Name: "newest", ProductID: "x", CustomerID: "y"}); err != nil {
		t.Fatal(err)
	}
	h := licensing.NewHandler(p.store, licensing.Options{
		Now: p.now, Logger: slog.New(slog.DiscardHandler), Events: license.EventOptions{Retention: retention},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var wg sync.WaitGroup
	wg.Go(func() { _ = h.Run(ctx) })
	for {
		oldest, err := p.store.Events(ctx, store.EventQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if oldest[0].Time.After(p.now().Add(-retention)) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
}

// Index completes the indexes: EraseCustomer returns only after that.
func (p *Process) Index(ctx context.Context) error {
	_, err := p.EraseCustomer(ctx, "unknown")
	return err
}

// move returns a process on a new store with the archive of this one's.
func (p *Process) move(t *testing.T) *Process {
	t.Helper()
	var archive bytes.Buffer
	err := p.store.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &archive) })
	to := memory.New()
	if err == nil {
		err = store.Import(t.Context(), to, &archive)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.another(to)
}

// exact calls ask until its answer does not lag.
func (p *Process) exact(t *testing.T, ask func() (*license.Indexing, error)) {
	t.Helper()
	for try := 0; ; try++ {
		lag, err := ask()
		if err != nil || lag != nil && (lag.Blocked || try > 2) {
			t.Fatalf("%+v %v", lag, err)
		}
		if lag == nil {
			return
		}
		if err := p.Index(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Compare compares answers with the licenses. No license may change meanwhile.
func (p *Process) Compare(t *testing.T, dice *rand.Rand) {
	t.Helper()
	var all []license.License
	for l, err := range p.All(t.Context(), license.ListParams{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	p.compareCounts(t, all, dice)
	for range 6 {
		p.compareSearch(t, all, dice)
	}
}

func (p *Process) compareCounts(t *testing.T, all []license.License, dice *rand.Rand) {
	t.Helper()
	status, customers, products := map[license.Status]int64{}, map[string]int64{}, map[string]int64{}
	for _, l := range all {
		status[l.Status]++
		customers[l.CustomerID]++
		products[l.ProductID]++
	}
	var o license.Overview
	p.exact(t, func() (_ *license.Indexing, err error) {
		o, err = p.Overview(t.Context())
		return o.Indexing, err
	})
	maps.DeleteFunc(o.ByStatus, func(_ license.Status, n int64) bool { return n == 0 })
	if o.Total != int64(len(all)) || !maps.Equal(o.ByStatus, status) {
		t.Errorf("%d licenses %v, want %d %v", o.Total, o.ByStatus, len(all), status)
	}
	for _, list := range []struct {
		read func(context.Context, license.NamesParams) (license.Page[license.NameCount], error)
		want map[string]int64
	}{{p.Customers, customers}, {p.Products, products}} {
		p.compareNames(t, list.read, "", list.want)
		p.compareNames(t, list.read, pick(dice, searches), list.want)
	}
}

// compareNames compares a list of customers or products, or a search for some of
// them, with the numbers of their licenses.
func (p *Process) compareNames(t *testing.T, read func(context.Context, license.NamesParams) (license.Page[license.NameCount], error), search string, all map[string]int64) {
	t.Helper()
	want, got := maps.Clone(all), map[string]int64{}
	maps.DeleteFunc(want, func(name string, _ int64) bool { return !hasWords([]string{name}, nil, search) })
	for q := (license.NamesParams{Search: search, Limit: 3}); ; {
		var page license.Page[license.NameCount]
		p.exact(t, func() (_ *license.Indexing, err error) {
			page, err = read(t.Context(), q)
			return page.Indexing, err
		})
		for _, c := range page.Data {
			got[c.Name] += c.N
		}
		if q.After = page.NextCursor; !page.HasMore {
			break
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("names by %q: %v, want %v", search, got, want)
	}
}

func (p *Process) compareSearch(t *testing.T, all []license.License, dice *rand.Rand) {
	t.Helper()
	q := license.ListParams{Search: pick(dice, searches), NewestFirst: dice.IntN(2) == 0, Limit: 1 + dice.IntN(7)}
	switch dice.IntN(5) {
	case 0:
		q.CustomerID = pick(dice, customers)
	case 1:
		q.ProductID = pick(dice, products)
	case 2:
		q.Status = pick(dice, license.Statuses())
	case 3:
		if len(all) > 0 {
			q.Search, q.SearchKeys = strings.ToLower(pick(dice, all).Key[6:11]), true
		}
	}
	var want, got []string
	for _, l := range all {
		if (q.CustomerID == "" || q.CustomerID == l.CustomerID) && (q.ProductID == "" || q.ProductID == l.ProductID) &&
			(q.Status == "" || q.Status == l.Status) && p.matches(t, l, q) {
			want = append(want, l.ID)
		}
	}
	for {
		var page license.Page[license.License]
		p.exact(t, func() (_ *license.Indexing, err error) {
			page, err = p.List(t.Context(), q)
			return page.Indexing, err
		})
		for _, l := range page.Data {
			got = append(got, l.ID)
		}
		if q.Cursor = page.NextCursor; !page.HasMore {
			break
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		q.Cursor = ""
		t.Errorf("search %+v: %d licenses, want %d\n%v\n%v", q, len(got), len(want), got, want)
	}
}

// matches reports whether a license has all words of a search, in a way that
// shares nothing with the index.
func (p *Process) matches(t *testing.T, l license.License, q license.ListParams) bool {
	t.Helper()
	texts := []string{l.Name, l.CustomerID, l.ProductID}
	for _, value := range l.Metadata {
		texts = append(texts, value)
	}
	activations, err := p.ListActivations(t.Context(), license.ListActivationsParams{LicenseID: l.ID, Ended: true, Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range activations.Data {
		texts = append(texts, a.Fingerprint)
	}
	groups := strings.Split(strings.ToLower(l.Key), "-")
	if !q.SearchKeys {
		groups = nil
	}
	return hasWords(texts, groups, q.Search)
}

// hasWords reports whether each word of a search is a group or the beginning of
// a word of a text.
func hasWords(texts, groups []string, search string) bool {
	separators := strings.NewReplacer("-", " ", "@", " ", ".", " ", "_", " ", "/", " ")
	for _, word := range strings.Fields(separators.Replace(strings.ToLower(search))) {
		found := slices.Contains(groups, word)
		for _, text := range texts {
			text = strings.ToLower(text)
			words := strings.Fields(separators.Replace(text))
			for _, own := range words[:min(16, len(words))] {
				found = found || strings.HasPrefix(own, word)
			}
			if r := []rune(word); r[0] >= 0x1100 { // Chinese and Korean
				found = found || strings.Contains(text, word)
			}
		}
		if !found {
			return false
		}
	}
	return true
}
