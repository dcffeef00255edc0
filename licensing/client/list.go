package client

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A page is one page of a list, as isComplete knows it.
type page[T any] struct{ api.Page[T] }

func (p page[T]) hasData() bool { return p.Data != nil }

// list returns the entries of a list from a cursor on, which is empty for the
// first page. params returns the parameters of the page of a cursor.
func list[T any](ctx context.Context, c *Client, operation string, f flags, start string, params func(cursor string) any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := start; ; {
			p, err := call[page[T]](ctx, c, operation, f, params(cursor))
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, entry := range p.Data {
				if !yield(entry, nil) {
					return
				}
			}
			if !p.HasMore || p.NextCursor == "" {
				return
			}
			cursor = p.NextCursor
		}
	}
}
