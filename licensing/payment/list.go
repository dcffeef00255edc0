package payment

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strconv"

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

// allOf returns the objects of a list whose first page was included in another object.
func allOf[T interface{ id() string }](ctx context.Context, a account, first page[T], path string, query url.Values) (all []T, err error) {
	if !first.More {
		return first.Data, nil
	}
	for object, err := range listOf[T](ctx, a, path, query) {
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// each records the objects of a list. It reads them again: by the time an object is recorded,
// what the page says may be old.
func (a account) each(ctx context.Context, path string, query url.Values, failed func(error), record func(context.Context, string) ([]*api.License, error)) {
	for object, err := range listOf[objectID](ctx, a, path, query) {
		if err == nil {
			_, err = record(ctx, object.ID)
		}
		failed(err)
	}
}

// A numberedPage is one of a list at Polar or Lemon Squeezy, whose pages have numbers.
type numberedPage[T any] struct {
	Items      []T // at Polar
	Data       []T // at Lemon Squeezy
	Pagination struct {
		Last int `json:"max_page"`
	}
	Meta struct {
		Page struct {
			Last int `json:"lastPage"`
		}
	}
}

// numbered reads all pages of a list. number is the parameter with the number of a page.
func numbered[T any](ctx context.Context, a account, path, number string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for n, last := 1, 1; n <= last; n++ {
			query.Set(number, strconv.Itoa(n))
			var list numberedPage[T]
			if err := a.get(ctx, path, query, &list); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, object := range append(list.Items, list.Data...) {
				if !yield(object, nil) {
					return
				}
			}
			last = max(list.Pagination.Last, list.Meta.Page.Last)
		}
	}
}
