// Package mutants checks that storetest catches a store that breaks one rule, and
// blames no other rule. Its tests do so with -mutants only, and take a minute.
package mutants

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/patience"
)

// A mutant is a store that breaks one rule and keeps the others.
type mutant struct {
	rule int
	does string
	open func() store.Store
}

// A trial runs cases on a mutant, or on a store without faults, which breaks
// rule 0.
type trial struct {
	rule  int
	does  string
	cases string // a flag of the test binary
	run   func(*testing.T)
}

// trials are all trials. Of the cases of storetest.RunDurable, a disk supports
// the cases of one process, and a fileStore the others.
func trials() (list []trial) {
	add := func(rule int, does, cases string, run func(*testing.T)) {
		list = append(list, trial{rule, does, cases, run})
	}
	const (
		every   = "-test.skip=^$"
		crashes = "-test.run=^TestTrial$/Durable/^(Killed|FullDisk)"
		others  = "-test.skip=/Durable/^(Killed|FullDisk)"
	)
	for _, m := range slices.Concat(visibilityMutants, isolationMutants, endingMutants, valueMutants, recordMutants,
		listMutants, feedMutants, leftoverMutants, usageMutants, searchMutants, shapeMutants, boundMutants, misuseMutants, everyMutants, optimistMutants, wantMutants, queryMutants) {
		add(m.rule, m.does, every, func(t *testing.T) { storetest.Run(t, func(*testing.T) store.Store { return m.open() }) })
	}
	for _, m := range durableMutants {
		add(m.rule, m.does, others, func(t *testing.T) { storetest.RunDurable(t, onDisk(m.lose)) })
	}
	add(1, "acknowledges Updates during Close and loses them", others, func(t *testing.T) {
		open := onDisk(nil)
		storetest.RunDurable(t, func(t *testing.T, dir string) store.Store { return closesEarly{open(t, dir).(*diskStore)} })
	})
	for _, m := range []struct {
		rule    int
		does    string
		refuses bool
	}{{1, "acknowledges an Update that runs when Close begins and loses it", false}, {29, "refuses an Update that runs when Close begins and keeps it", true}} {
		add(m.rule, m.does, others, func(t *testing.T) {
			open := onDisk(nil)
			storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
				return meetsClose{open(t, dir).(*diskStore), m.refuses, new(atomic.Bool), new(atomic.Int64)}
			})
		})
	}
	add(32, "is read after it was closed", others, func(t *testing.T) {
		open := onDisk(nil)
		storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
			return staysOpen{open(t, dir).(*diskStore), new(atomic.Bool)}
		})
	})
	add(32, "answers queries that need no data after it was closed", others, func(t *testing.T) {
		open := onDisk(nil)
		storetest.RunDurable(t, func(t *testing.T, dir string) store.Store { return answersEmpty{open(t, dir).(*diskStore)} })
	})
	for _, m := range crashMutants {
		add(m.rule, m.does, crashes, func(t *testing.T) { storetest.RunDurable(t, onFile(m.faults)) })
	}
	add(0, "nothing, on a disk", others, func(t *testing.T) { storetest.RunDurable(t, onDisk(nil)) })
	add(0, "nothing, in memory of its own", every, func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return onDisk(nil)(t, "") })
	})
	add(0, "nothing, without a lock", every, func(t *testing.T) {
		storetest.Run(t, func(*testing.T) store.Store { return &optimist{Store: memory.New()} })
	})
	add(0, "nothing, in files", crashes, func(t *testing.T) { storetest.RunDurable(t, onFile(faults{})) })
	return list
}

// title names a trial.
func (m trial) title() string {
	return fmt.Sprintf("Rule%d/%s", m.rule, strings.ReplaceAll(m.does, " ", "_"))
}

// The process of a trial finds its title in this variable.
const variable = "STORETEST_MUTANT"

// hanging are the mutants on which cases wait for the whole limit.
var hanging = []string{
	"keeps the write lock after a panic", "keeps the write lock after Goexit", "waits after the context has ended",
	"waits for Views that began later", "hangs after a View that failed",
	"answers a failed Update when no other waits", "leaves Views open that panic", "returns when no other Update waits",
}

// TestTrial runs the trial of this process.
func TestTrial(t *testing.T) {
	for _, m := range trials() {
		if m.title() == os.Getenv(variable) {
			if slices.Contains(hanging, m.does) {
				patience.Answer = 2 * time.Second
			}
			m.run(t)
		}
	}
}

// process runs the trial in another process, which collects less garbage: its stores are
// small, and live for one case.
func (m trial) process(flags ...string) (out []byte, err error) {
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestTrial$", m.cases, "-test.parallel=8"}, flags...)...)
	cmd.Env = append(os.Environ(), variable+"="+m.title(), "GOGC=400")
	return cmd.Output()
}

var all = flag.Bool("mutants", false, "run the suite on every mutant, which takes a minute")

// TestMutants runs each trial in another process, and checks that the failures
// cite the rule that the mutant breaks, and no other.
func TestMutants(t *testing.T) {
	if !*all {
		return
	}
	caught := map[int]bool{}
	for _, m := range trials() {
		caught[m.rule] = true
		t.Run(m.title(), func(t *testing.T) {
			t.Parallel()
			var out []byte
			var err error
			if m.rule != 0 {
				out, err = m.process("-test.short") // without the long cases, half of the work
			}
			if err == nil {
				out, err = m.process()
			}
			if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != 1) {
				t.Fatalf("%v\n%s", err, out)
			}
			cited := regexp.MustCompile(`broken: rule (\d+)\.`).FindAllSubmatch(out, -1)
			other := slices.ContainsFunc(cited, func(c [][]byte) bool { return string(c[1]) != strconv.Itoa(m.rule) })
			if other || len(cited) == 0 != (m.rule == 0) || len(cited) == 0 != (err == nil) {
				t.Errorf("%d failures; want those of rule %d only\n%s", len(cited), m.rule, out)
			}
		})
	}
	contract, err := os.ReadFile("../../../store/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^ (\d+)\. .*`).FindAllSubmatch(contract, -1) {
		if rule, _ := strconv.Atoi(string(m[1])); !caught[rule] {
			t.Errorf("no mutant breaks rule %s", m[0])
		}
	}
}
