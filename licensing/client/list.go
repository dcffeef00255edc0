package client

import (
	"context"
	"iter"
)

// A page is one page of a list.
type page[T any] struct {
	Data       []T    `json:"data"`
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor"`
}

func (p page[T]) hasData() bool { return p.Data != nil }

// A pageQuery is the parameter that continues a list in a query.
type pageQuery struct {
	Cursor string `json:"-" query:"cursor"`
}

// list returns all entries of a list. params returns the parameters of the
// page after a cursor, which is empty for the first.
func list[T any](ctx context.Context, c *Client, operation string, f flags, params func(cursor string) any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
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
