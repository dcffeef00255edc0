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

Run them under the race detector as well.

# What a failure says

Each case is a subtest named after what it looks at, such as
Licenses/Cascade, with a store of its own. A failure says where it was found,
what came and what should have come, and the rule that is broken, by its number
in the package comment of store and in full:

	updates.go:41: LicenseByKey after the Update returned
		got  version 1
		want version 2
		broken: rule 2. Read your writes: what an Update wrote before …

Rules rest on one another: a store that forgets half of what it was told gives
wrong lists as well. When a case fails, the suite first looks whether a rule
beneath the one in question is broken; if so, the case is skipped and says so.
Mend what is reported, and the next run reports the rest.

# What it asks of a backend

The suite runs its cases in parallel, many to a process, each on what open
returned for it. It uses only the contract: Updates that run their function
more than once pass, as do those that keep Views waiting, or that return
[store.ErrConflict], which is answered by trying again. A case that comes to
no end is given up after a minute, and a wait that a rule bounds after ten
seconds; so a deadlock is a failure and not a hang.

What passes may still be wrong: the suite looks at what it has cases for, and
interleavings that it asks for do not come about in every store. What fails is
wrong.

# Wrappers

[Twice] and [Handles] make a store out of other stores, to run this suite over,
or the tests of whatever is built on a store.
*/
package storetest
