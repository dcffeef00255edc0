package storetest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/patience"
)

// A testCase checks one rule. Its function must pass on stores that run the
// function of an Update more than once.
type testCase struct {
	area, name string
	rule       int // the rule that a failure cites, unless it names another
	run        func(*bench)
}

// cases returns the cases of Run.
func cases() []testCase {
	return slices.Concat(licenseCases(), activationCases(), eventCases(), entryCases(),
		updateCases(), viewCases(), concurrencyCases(), contextCases(),
		leftoverCases(), positionCases(), longListCases(), contentionCases(), textCases(), joinCases(), usageCases(), searchCases(), countCases(), shapeCases(), everyCases(), bulkCases(), wantCases(), anomalyCases())
}

// Run checks every rule except the first, durability, on the stores that open
// returns. It calls open once for each case, with the case's own t, and again
// when a case fails. Each call must return an empty store that shares nothing
// with the others. To close a store, open registers a t.Cleanup. Run returns when
// all cases have ended.
func Run(t *testing.T, open func(*testing.T) store.Store) {
	t.Helper()
	newSuite(cases()).run(t, func(t *testing.T) func(*bench) {
		return func(b *bench) { b.Store = open(t) }
	})
}

// RunDurable checks that written data outlives the store and its process. It
// calls open with an empty directory, writes, closes the store, and calls open
// again with the same directory. Use dir for the files, or derive the name of a
// database from it.
//
// Some cases run the test that called RunDurable in another process, with the
// same environment. That process calls open with the same directory, writes, and
// is killed or, on Linux, reaches a limit on the size of its files.
//
// The stores must have a method Close() error. RunDurable calls it once for
// each call of open in this process, so open must not.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) store.Store) {
	t.Helper()
	if inChild(t, open) {
		return
	}
	name := t.Name()
	newSuite(durableCases()).run(t, func(t *testing.T) func(*bench) { return onDirectory(t, name, open) })
}

// onDirectory prepares a bench for the cases of RunDurable, called by the test
// with the given name.
func onDirectory(t *testing.T, name string, open func(t *testing.T, dir string) store.Store) func(*bench) {
	return func(b *bench) {
		dir := t.TempDir()
		b.Store = open(t, dir)
		b.close = func() {
			c, ok := b.Store.(io.Closer)
			if !ok {
				b.stop(fmt.Sprintf("a %T", b.Store), "a store with a method Close() error", "what open returned")
			}
			var err error
			if !b.answers(b.start(func() { err = c.Close() })) {
				b.stop(fmt.Sprintf("none after %v", b.limits.answer), "an answer", "Close")
			}
			b.ok(err, "Close")
		}
		b.reopen = func(between ...func()) {
			b.close()
			for _, fn := range between {
				fn()
			}
			b.Store = open(t, dir)
		}
		b.child = func(job string, kill int) ([]answer, error) { return runChild(name, dir, job, kill) }
	}
}

// A suite is one run over one backend.
type suite struct {
	cases  []testCase
	limits limits

	mu      sync.Mutex
	broken  map[int]bool // by rule, for the rules checked after a failure
	failed  bool         // a case has failed
	skipped map[int]bool // the rules because of which cases were skipped
}

// limits bound the waits of the suite.
type limits struct {
	whole  time.Duration // for one case
	answer time.Duration // for something that a rule says must happen
}

func newSuite(cases []testCase) *suite {
	return &suite{
		cases:   cases,
		limits:  limits{whole: time.Minute, answer: patience.Answer},
		broken:  map[int]bool{},
		skipped: map[int]bool{},
	}
}

// run runs each area, and each case in it, as a subtest. prepare returns the
// function that prepares the bench of a case. If cases were skipped because of a
// rule and no case of the run has failed, the run fails.
func (s *suite) run(t *testing.T, prepare func(*testing.T) func(*bench)) {
	for i := 0; i < len(s.cases); {
		j := i
		for j < len(s.cases) && s.cases[j].area == s.cases[i].area {
			j++
		}
		area := s.cases[i:j]
		i = j
		t.Run(area[0].area, func(t *testing.T) {
			for _, c := range area {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					w := &watch{name: t.Name(), after: s.limits.answer, out: os.Stderr, report: []string{"nothing"}}
					t.Cleanup(w.closed) // runs last
					failures, causes := s.verdict(c, prepare(t))
					for i, f := range failures {
						t.Error(f)
						w.report = append(w.report[:i], f.String())
					}
					t.Cleanup(w.closing) // runs before what open has registered
					for _, rule := range causes {
						t.Logf("skipped: depends on rule %d, which is broken. %s", rule, rules[rule])
					}
					if len(failures) == 0 && len(causes) > 0 {
						t.SkipNow()
					}
				})
			}
		})
	}
	if len(s.skipped) > 0 && !s.failed {
		t.Errorf("cases were skipped because of rules %d, and no case has failed: run all cases again",
			slices.Sorted(maps.Keys(s.skipped)))
	}
}

// verdict runs a case. It returns the failures, except those explained by
// broken basic rules, and these rules.
func (s *suite) verdict(c testCase, prepare func(*bench)) (failures []failure, causes []int) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = s.failed || len(failures) > 0
		for _, rule := range causes {
			s.skipped[rule] = true
		}
	}()
	for _, f := range s.try(c, prepare) {
		if cause := s.cause(f.rule, prepare); cause == 0 {
			failures = append(failures, f)
		} else if !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
	}
	return failures, causes
}

// cause returns the most basic broken rule that rule depends on, or 0.
func (s *suite) cause(rule int, prepare func(*bench)) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range foundations[rule] {
		if _, known := s.broken[r]; !known {
			s.broken[r] = s.breaks(r, prepare)
		}
		if s.broken[r] {
			return r
		}
	}
	return 0
}

// breaks reports whether one of the rule's own cases fails. One that does not end
// in time says nothing of the rule.
func (s *suite) breaks(rule int, prepare func(*bench)) bool {
	for _, c := range cases() {
		if c.rule != rule {
			continue
		}
		for _, f := range s.try(c, prepare) {
			if f.rule == rule && !f.late {
				return true
			}
		}
	}
	return false
}

// try runs one case on a fresh store, and reports a failure if it does not end
// in time.
func (s *suite) try(c testCase, prepare func(*bench)) (failures []failure) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := &bench{ctx: ctx, rule: c.rule, limits: s.limits, findings: &findings{}}
	done := b.start(func() {
		prepare(b)
		if b.close != nil {
			defer func() { b.close() }()
		}
		c.run(b)
	})
	select {
	case <-done:
	case <-time.After(s.limits.whole):
		stacks := make([]byte, 1<<16)
		stacks = stacks[:runtime.Stack(stacks, true)]
		b.fail(fmt.Sprintf("not ended after %v\n%s", s.limits.whole, stacks), "an end", "the case")
		failures = b.found()
		failures[len(failures)-1].late = true
		return failures
	}
	return b.found()
}
