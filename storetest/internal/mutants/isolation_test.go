package mutants

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// isolationMutants break the rules about concurrent Updates and Views.
var isolationMutants = []mutant{
	{5, "runs Updates on a snapshot", func() store.Store { return &onSnapshot{Store: memory.New()} }},
	{5, "trusts activations", func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{"Activations": true}}
	}},
	{5, "trusts lists", func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{
			"Licenses": true, "Activations": true, "Entries": true,
		}}
	}},
	{5, "trusts gets", func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{"License": true, "Entry": true, "Activation": true}}
	}},

	{5, "trusts searches, counts and names", func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{"FindLicenses": true, "CountLicenses": true, "LicenseNames": true}}
	}},

	{5, "loses edits of licenses", losesEdits("License", "UpdateLicense")},
	{5, "loses edits of activations", losesEdits("Activation", "PutActivations")},
	{5, "loses edits of entries", losesEdits("Entry", "PutEntries")},
	{5, "loses edits of events", losesEdits("Events", "ReplaceEvent")},

	{6, "reads the latest commit in a View", func() store.Store { return liveViews{memory.New()} }},
	{6, "reads lists in halves", func() store.Store { return &halves{Store: memory.New()} }},
}

// onSnapshot runs an Update on a snapshot, concurrently with others, and commits
// its writes on top of what the others have committed. It does so if the Update
// reads before it writes, reads only by trusted methods, and writes only by the method
// writes; otherwise it runs the Update again correctly.
type onSnapshot struct {
	store.Store
	trusted map[string]bool // nil: all
	writes  string          // empty: any but AppendEvents and DeleteEvents
}

// losesEdits opens stores that lose a change of a record if another Update has changed
// the record since this one read it.
func losesEdits(read, write string) func() store.Store {
	return func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{read: true}, writes: write}
	}
}

var errHonest = errors.New("must be run in an honest way")

func (s *onSnapshot) Update(ctx context.Context, fn func(store.Tx) error) error {
	var log []written
	honest := false
	err := s.Store.View(ctx, func(r store.Reader) error {
		over := false
		defer func() { over = true }()
		distrust := func() store.Reader {
			if len(log) > 0 && !over {
				honest = true
			}
			return r
		}
		var reader store.Reader = pick.Reader{From: distrust}
		if s.trusted != nil {
			reader = selective{reader, s.trusted, &honest}
		}
		return fn(joined{reader, hooked{func(ctx context.Context, method string, call written) error {
			if over {
				return store.ErrTxDone
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if honest = honest || method == "AppendEvents" || method == "DeleteEvents" || s.writes != "" && method != s.writes; honest {
				return errHonest
			}
			log = append(log, call)
			return nil
		}}})
	})
	if err == nil && !honest && len(log) > 0 && replay(s.Store, log) == nil {
		return nil
	}
	return s.Store.Update(ctx, fn)
}

// selective sets honest when a method is called that is not trusted.
type selective struct {
	store.Reader
	trusted map[string]bool
	honest  *bool
}

func (r selective) check(method string) { *r.honest = *r.honest || !r.trusted[method] }

func (r selective) License(ctx context.Context, id string) (store.License, error) {
	r.check("License")
	return r.Reader.License(ctx, id)
}

func (r selective) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	r.check("LicenseByKey")
	return r.Reader.LicenseByKey(ctx, key)
}

func (r selective) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	r.check("Licenses")
	return r.Reader.Licenses(ctx, q)
}

func (r selective) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	r.check("FindLicenses")
	return r.Reader.FindLicenses(ctx, q)
}

func (r selective) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	r.check("CountLicenses")
	return r.Reader.CountLicenses(ctx, q, edges...)
}

func (r selective) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	r.check("LicenseNames")
	return r.Reader.LicenseNames(ctx, q)
}

func (r selective) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	r.check("Events")
	return r.Reader.Events(ctx, q)
}

func (r selective) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	r.check("Activation")
	return r.Reader.Activation(ctx, licenseID, fingerprint)
}

func (r selective) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	r.check("Activations")
	return r.Reader.Activations(ctx, q)
}

func (r selective) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	r.check("Entry")
	return r.Reader.Entry(ctx, kind, key)
}

func (r selective) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	r.check("Entries")
	return r.Reader.Entries(ctx, q)
}

// liveViews reads in a View from the store itself.
type liveViews struct{ store.Store }

func (s liveViews) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error {
		var over atomic.Bool
		defer over.Store(true)
		return fn(pick.Reader{From: func() store.Reader {
			if over.Load() {
				return r
			}
			return s.Store
		}})
	})
}

// halves reads the second half of a list of licenses after the next Update,
// if one comes soon.
type halves struct {
	store.Store
	updates atomic.Int64
}

func (s *halves) Update(ctx context.Context, fn func(store.Tx) error) error {
	defer s.updates.Add(1)
	return s.Store.Update(ctx, fn)
}

func (s *halves) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	first, err := s.Store.Licenses(ctx, q)
	if len(first) != 2 {
		return first, err
	}
	for seen, n := s.updates.Load(), 0; s.updates.Load() == seen && n < 100; n++ {
		runtime.Gosched()
	}
	then, err := s.Store.Licenses(ctx, q)
	if len(then) != 2 {
		return then, err
	}
	return []store.License{first[0], then[1]}, err
}
