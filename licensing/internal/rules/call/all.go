package call

import (
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// All iterates over the records of a list, page by page, and stops after the first
// error. read returns the page of a cursor, which is empty for the first page.
func All[T any](read func(cursor string) (api.Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, err := read(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range page.Data {
				if !yield(row, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			cursor = page.NextCursor
		}
	}
}
