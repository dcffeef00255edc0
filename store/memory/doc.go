/*
Package memory is the reference backend: a [store.Store] in the memory of the
process. It keeps every rule of package store but the first, since nothing
outlives the process. Use it in tests, and read it before you write a backend.

	st := memory.New()
	h := licensing.NewHandler(st, licensing.Options{})

# How it works

All data is one value of type state: ten trees and a counter. A tree is
persistent: a change of it makes a new tree, which shares the unchanged branches
with the old one and leaves the old one as it was. So a copy of the state costs
the same whatever it holds, and most of the rules follow from that:

  - a read takes the current state (rule 2), and a View keeps it (rule 6);
  - an Update takes the write lock (rule 5), works on a copy (rule 3), and
    replaces the state with the copy when its function has returned nil, in one
    step (rule 4);
  - after an error, a panic or a Goexit nothing has to be undone: the copy is
    dropped (rules 4 and 17), and likewise after an error of one call in an
    Update (rule 14).

A row stands in every tree that orders rows of its type. A list is a span of one
tree, less the rows that a filter leaves out.

The files are store.go (the write lock, snapshots and commits), state.go (the
trees, and the places of a row in them), tree.go (the tree and its spans),
reader.go and writer.go (one method for each method of the contract) and copy.go
(rows are copied when they are stored and when they are returned).
*/
package memory
