/*
Package storetest checks that a backend keeps the rules of package store. It
needs nothing but the standard library, and a backend's whole test is

	func TestStore(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return mystore.New() })
	}

and, if what it stores outlives the process,

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

# What a failure says

Each case is a subtest, such as Licenses/Cascade, with a store of its own. A
failure names the place in the suite, the result, the expected result, and the
broken rule with its number in the package comment of store:

	updates.go:41: LicenseByKey after the Update returned
		got  version 1
		want version 2
		broken: rule 2. Read your writes: what an Update wrote before …

Some rules depend on others: a store that loses half of what is written returns
wrong lists as well. When a case fails, the suite first checks the rules on which
the rule in question depends. If one of them is broken, the case is skipped and
says so. Fix what is reported, and the next run reports the rest.

# What it asks of a backend

The suite runs its cases in parallel, each on the store that open returned for
it. It uses only the contract: an Update may run its function more than once,
make Views wait, or return [store.ErrConflict], after which the suite tries
again. A case fails after a minute, and a wait that a rule bounds after ten
seconds, so a deadlock is a failure. If closing the store then hangs, what the
case found is written to standard error.

go test -short runs the short form, in which the cases on long lists write a few
records instead of more than a thousand.

A store that passes may still be wrong: the suite finds only what it has cases
for, and concurrent calls do not interleave in the same way on every store.
Losing power is not tested. A store that fails is wrong.

# Wrappers

[Twice] and [Handles] make a store from other stores, for this suite or for the
tests of code that uses a store.
*/
package storetest
