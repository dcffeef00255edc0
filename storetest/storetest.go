package storetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A testCase looks whether a store keeps one rule. The function must hold for
// stores that run the function of an Update more than once.
type testCase struct {
	area, name string
	rule       int // what a failure is laid to, unless it says otherwise
	run        func(*bench)
}

// cases are those of Run.
func cases() []testCase {
	return slices.Concat(licenseCases(), activationCases(), eventCases(), entryCases(),
		updateCases(), viewCases(), concurrencyCases(), contextCases(),
		leftoverCases(), positionCases(), longListCases(), contentionCases(), textCases(), usageCases())
}

// Run checks every rule but the first, durability, on stores that open
// returns. It calls open once for each case, with the case's own t, and more
// often when something fails; each call returns a store that is empty and
// shares nothing with the others. Whatever needs closing open closes with
// t.Cleanup. Run returns when all cases have ended.
func Run(t *testing.T, open func(*testing.T) store.Store) {
	t.Helper()
	newSuite(cases()).run(t, func(t *testing.T) func(*bench) {
		return func(b *bench) { b.Store = open(t) }
	})
}

// RunDurable checks that what was written outlives the store and its process.
// It calls open with an empty directory, writes, closes the store, and calls
// open with the same directory again. Use dir for the files, or derive from it
// the name of a database.
//
// Some cases run the test that called RunDurable in another process, which
// calls open with the same directory, writes, and is killed or, on Linux, cannot
// let its files grow. What open reads from the environment is the same there.
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

// onDirectory prepares a bench for the cases of RunDurable, which the test
// called name has called.
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

	mu     sync.Mutex
	broken map[int]bool // rules looked at after a failure
}

// limits are how long the suite waits.
type limits struct {
	whole  time.Duration // for one case
	answer time.Duration // for something that a rule says must happen
}

func newSuite(cases []testCase) *suite {
	return &suite{
		cases:  cases,
		limits: limits{whole: time.Minute, answer: 10 * time.Second},
		broken: map[int]bool{},
	}
}

// run makes a subtest of each area and of each case in it. prepare returns
// what makes a bench ready for a case.
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
						t.Logf("cannot be judged: rests on rule %d, which is broken. %s", rule, rules[rule])
					}
					if len(failures) == 0 && len(causes) > 0 {
						t.SkipNow()
					}
				})
			}
		})
	}
}

// verdict runs a case and returns what it found, and the broken rules that
// explain what else it found.
func (s *suite) verdict(c testCase, prepare func(*bench)) (failures []failure, causes []int) {
	for _, f := range s.try(c, prepare) {
		if cause := s.cause(f.rule, prepare); cause == 0 {
			failures = append(failures, f)
		} else if !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
	}
	return failures, causes
}

// cause returns the most basic of the broken rules that rule rests on, or 0.
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

// breaks reports whether one of the rule's own cases fails.
func (s *suite) breaks(rule int, prepare func(*bench)) bool {
	for _, c := range cases() {
		if c.rule != rule {
			continue
		}
		for _, f := range s.try(c, prepare) {
			if f.rule == rule {
				return true
			}
		}
	}
	return false
}

// try runs one case on a fresh store, and gives up when it comes to no end.
func (s *suite) try(c testCase, prepare func(*bench)) []failure {
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
		b.fail(fmt.Sprintf("none after %v\n%s", s.limits.whole, stacks), "an end", "the case")
	}
	return b.found()
}
