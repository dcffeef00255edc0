package storetest

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Twice returns a store over st that runs the function of every Update twice: it
// undoes the first run and keeps the second, as a backend does when its engine
// requires a retry. Code that is correct on st and wrong on Twice(st) retains
// state from an undone attempt.
//
// A function that fails the first time is not run again. The caller closes st.
func Twice(st store.Store) store.Store { return twice{st} }

type twice struct{ store.Store }

// errAgain undoes the first attempt.
var errAgain = errors.New("storetest: to be run again")

func (s twice) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errAgain
	})
	if !errors.Is(err, errAgain) {
		return err
	}
	// If fn returned nil, the second run must happen even if the context
	// ended during the first.
	return s.Store.Update(context.WithoutCancel(ctx), fn)
}
