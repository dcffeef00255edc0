/*
Package memory is the reference backend: a [store.Store] in the memory of the
process. It keeps every rule of package store but the first, since nothing
outlives the process. Use it in tests, and read it before you write a backend.

	st := memory.New()
	h := licensing.NewHandler(st, licensing.Options{})

# How it works

All data is one value of type state: ten trees and a counter. A tree is
persistent, which means that adding to it makes a new tree, shares the untouched
branches with the old one, and leaves the old one as it was. So a copy of the
state costs the same however much it holds, and most of the rules follow from
that one property:

  - a read takes the state there is (rule 2), and a View keeps it (rule 6);
  - an Update takes its turn (rule 5), works on a copy (rule 3), and puts the
    copy in the place of the state when its function has returned nil, in one
    step (rule 4);
  - an error, a panic or a Goexit needs nothing undone: the copy is dropped
    (rules 4 and 17).

The files are store.go (turns, snapshots and commits), state.go (the tables and
their indexes), tree.go (the tree), reader.go and writer.go (one method for each
method of the contract) and copy.go (what goes in and out is copied).
*/
package memory
