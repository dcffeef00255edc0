package storetest

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A mutant is a store that breaks one rule and keeps the others.
type mutant struct {
	rule int
	does string
	open func() store.Store
}

var allMutants = flag.Bool("mutants", false, "run every case on every mutant, which takes a minute")

// TestMutants runs the cases on each mutant and checks that the failures cite
// the rule that the mutant breaks, and no other. The first mutant of each rule
// runs every case. The others, and all of them under the race detector, run the
// cases of their rule and the areas that are about more than records, unless
// -mutants is given.
func TestMutants(t *testing.T) {
	all := slices.Concat(visibilityMutants, isolationMutants, endingMutants, valueMutants, recordMutants, listMutants, feedMutants,
		leftoverMutants, usageMutants)
	caught := map[int]bool{1: true, 28: true, 29: true} // by TestDurableMutants and TestCrashMutants
	for _, s := range all {
		meets := cases()
		if (caught[s.rule] || racing) && !*allMutants {
			meets = slices.DeleteFunc(meets, func(c testCase) bool {
				return c.rule != s.rule && !slices.Contains([]string{"Updates", "Views", "Concurrency", "Context"}, c.area)
			})
		}
		if caught[s.rule] && (racing || testing.Short()) {
			continue
		}
		caught[s.rule] = true
		t.Run(title(s.rule, s.does), func(t *testing.T) {
			t.Parallel()
			citesOnly(t, newSuite(meets), s.rule, func(b *bench) { b.Store = s.open() })
		})
	}
	for rule := range rules {
		if rule > 0 && !caught[rule] {
			t.Errorf("no mutant breaks rule %d: %s", rule, rules[rule])
		}
	}
}

// title names a subtest.
func title(rule int, does string) string {
	return fmt.Sprintf("Rule%d/%s", rule, strings.ReplaceAll(does, " ", "_"))
}

// citesOnly runs a suite, several cases concurrently, and checks that its
// failures cite only the given rule.
func citesOnly(t *testing.T, s *suite, rule int, prepare func(*bench)) {
	if strings.Contains(t.Name(), "keeps_the_write_lock") || strings.Contains(t.Name(), "hangs_after") {
		s.limits.answer = 2 * time.Second // these mutants hang
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	cited := map[int][]string{}
	queue := make(chan testCase)
	for range 8 {
		wg.Go(func() {
			for c := range queue {
				failures, _ := s.verdict(c, prepare)
				mu.Lock()
				for _, f := range failures {
					cited[f.rule] = append(cited[f.rule], fmt.Sprintf("%s/%s: %v", c.area, c.name, f))
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range s.cases {
		queue <- c
	}
	close(queue)
	wg.Wait()

	if len(cited[rule]) == 0 {
		t.Errorf("no failure cites rule %d", rule)
	}
	delete(cited, rule)
	for _, failures := range cited {
		t.Errorf("%d failures cite another rule, such as:\n%s", len(failures), failures[0])
	}
}
