package storetest

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Twice returns a store over st that runs the function of every Update twice:
// once to be undone, and once more to count, as a backend does whose engine
// asks for it. Code above a store that is right on st and wrong on Twice(st)
// keeps something from an attempt that did not count.
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
	// Once fn has returned nil, a context that ended in it must not keep
	// it from being run again.
	return s.Store.Update(context.WithoutCancel(ctx), fn)
}
