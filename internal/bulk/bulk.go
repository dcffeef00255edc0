// Package bulk marks the context of bulk work, such as an import, so that a store can
// let other updates go first.
package bulk

import "context"

type key struct{}

// Mark returns a context whose updates are bulk work.
func Mark(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Marked reports whether an update with this context is bulk work.
func Marked(ctx context.Context) bool { return ctx.Value(key{}) != nil }
