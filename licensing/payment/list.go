package payment

import (
	"context"
	"fmt"
	"iter"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A page is one of a list at Stripe or Paddle.
type page[T any] struct {
	Data []T
	More bool `json:"has_more"` // at Stripe
	Meta struct {
		Pagination struct {
			More bool `json:"has_more"`
		}
	}
}

// An objectID is the ID of an object, by which the next page of a list begins.
type objectID struct{ ID string }

func (o objectID) id() string { return o.ID }

// listOf reads all pages of a list.
func listOf[T interface{ id() string }](ctx context.Context, a account, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for more := true; more; {
			var list page[T]
			err := a.get(ctx, path, query, &list)
			for _, object := range list.Data {
				if !yield(object, nil) {
					return
				}
			}
			if more = err == nil && len(list.Data) > 0 && (list.More || list.Meta.Pagination.More); more {
				last := list.Data[len(list.Data)-1].id()
				if last == query.Get(a.after) {
					err, more = fmt.Errorf("%s: GET %s: the page after %s is the same", a.provider, path, last), false
				}
				query.Set(a.after, last)
			}
			if err != nil {
				var none T
				yield(none, err)
			}
		}
	}
}

// each records the objects of a list. It reads them again: by the time an object is recorded,
// what the page says may be old.
func (a account) each(ctx context.Context, path string, query url.Values, failed func(error) bool, record func(context.Context, string) ([]*api.License, error)) {
	for object, err := range listOf[objectID](ctx, a, path, query) {
		if err == nil {
			_, err = record(ctx, object.ID)
		}
		if !failed(err) {
			return
		}
	}
}

// recordPages records the objects of a list whose pages have numbers, at Polar and Lemon
// Squeezy, up to the first one that is old. It reports whether failed wants more.
func recordPages[T any](read func(page int) (objects []T, last int, err error), failed func(error) bool, record func(T) (old bool, err error)) (goOn bool) {
	for page, last := 1, 1; page <= last; page++ {
		var objects []T
		var err error
		if objects, last, err = read(page); err != nil {
			return failed(err)
		}
		for _, object := range objects {
			old, err := record(object)
			if old {
				return true
			}
			if !failed(err) {
				return false
			}
		}
	}
	return true
}
