// Package failing remembers, in one process, what keeps failing of what payment providers
// report.
package failing

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	kept = 100 // at most, of all providers
	// often is how many times an event must have failed to be a problem, unless trying
	// again cannot help.
	often = 3
)

// A Problem is what fails of one provider.
type Problem struct {
	Provider string
	Detail   string    // the newest reason
	Since    time.Time // of the first failure that has not passed since
}

// Events are the events that have failed, by the ID of what they are about. The zero Events
// has none. It is safe for concurrent use.
type Events struct {
	mu   sync.Mutex
	list []event // by the time of the last failure
}

type event struct {
	provider, about string
	err             error
	times           int
	certain         bool
	since, last     time.Time
}

// Failed records that an event about an object has failed. If it is certain, trying again
// does not help. Of more than 100 objects, it forgets the one that failed the longest ago.
func (e *Events) Failed(provider, about string, err error, certain bool, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	failed := event{provider: provider, about: about, since: now}
	if i := e.find(provider, about); i >= 0 {
		failed = e.list[i]
		e.list = slices.Delete(e.list, i, i+1)
	} else if len(e.list) == kept {
		e.list = slices.Delete(e.list, 0, 1)
	}
	failed.err, failed.last, failed.times, failed.certain = err, now, failed.times+1, failed.certain || certain
	e.list = append(e.list, failed)
}

// Passed records that what is known of an object is up to date again.
func (e *Events) Passed(provider, about string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.find(provider, about); i >= 0 {
		e.list = slices.Delete(e.list, i, i+1)
	}
}

// AllPassed records that all objects of a provider were up to date when they were read, which
// began at an instant.
func (e *Events) AllPassed(provider string, began time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = slices.DeleteFunc(e.list, func(f event) bool { return f.provider == provider && f.last.Before(began) })
}

// About returns the objects of a provider about which an event has failed.
func (e *Events) About(provider string) (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.list {
		if f.provider == provider {
			all = append(all, f.about)
		}
	}
	return all
}

// Problems returns a problem for each provider with an event that has failed three times, or
// once if that is certain.
func (e *Events) Problems() (all []Problem) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.list {
		if !f.certain && f.times < often {
			continue
		}
		i := slices.IndexFunc(all, func(p Problem) bool { return p.Provider == f.provider })
		if i < 0 {
			i, all = len(all), append(all, Problem{Provider: f.provider, Since: f.since})
		}
		all[i].Detail = f.err.Error()
		if f.since.Before(all[i].Since) {
			all[i].Since = f.since
		}
	}
	slices.SortFunc(all, func(a, b Problem) int { return cmp.Compare(a.Provider, b.Provider) })
	return all
}

func (e *Events) find(provider, about string) int {
	return slices.IndexFunc(e.list, func(f event) bool { return f.provider == provider && f.about == about })
}
