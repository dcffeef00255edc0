/*
Package storetest checks that a backend follows the rules of package store. It
depends only on the standard library. The complete test of a backend is

	func TestStore(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return mystore.New() })
	}

and, if its data outlives the process,

	func TestDurable(t *testing.T) {
		storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
			st, err := mystore.Open(filepath.Join(dir, "data"))
			if err != nil {
				t.Fatal(err)
			}
			return st
		})
	}

Run them under the race detector as well. [Benchmark] measures a backend.

# Failures

Each case is a subtest, such as Licenses/Cascade, with a store of its own. A
failure names the place in the suite, the result, the expected result, and the
broken rule with its number in the package comment of store:

	updates.go:41: LicenseByKey after the Update returned
		got  version 1
		want version 2
		broken: rule 2. Read your writes: what an Update wrote before …

Some rules depend on others: a store that loses half of its writes also returns
wrong lists. When a case fails, the suite first checks the rules on which the
case's rule depends. If one of them is broken, the case is skipped and names that
rule. Fix the reported failures, and the next run reports the rest. A run in which
cases were skipped and none has failed, for instance one of a few cases, fails too.

# Requirements

The suite runs its cases in parallel, each on the store that open returned for
it. It uses only the contract: an Update may run its function more than once,
make Views wait, or return [store.ErrConflict], after which the suite retries. A
case fails after a minute, and a wait that a rule bounds after ten seconds, so a
deadlock is a failure. If closing the store then hangs, the failures of the case
are written to standard error.

With go test -short, cases that write thousands of records write a few instead, or
are left out, and two processes are killed instead of twenty.

A store that fails is wrong. A store that passes may still be wrong: the suite
finds only the faults that it has cases for, and concurrent calls interleave
differently on every store. Loss of power is not tested.

# Wrappers

[Twice] and [Handles] build a store from other stores, for this suite or for
tests of code that uses a store.
*/
package storetest
