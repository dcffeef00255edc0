package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// slots limit the concurrent requests of one route in this process.
type slots chan struct{}

// take takes a slot and returns a function that frees it. The slot is freed no
// later than when ctx ends: a client that does not read its response can block a
// write for longer, and must not keep others out.
func (s slots) take(ctx context.Context) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s <- struct{}{}:
	default:
		return nil, NewProblem(http.StatusTooManyRequests, "rate_limited",
			fmt.Sprintf("%d requests of this kind are already running; nothing was changed. Retry after the time in Retry-After.", cap(s))).WithHeader("Retry-After", "10")
	}
	free := sync.OnceFunc(func() { <-s })
	stop := context.AfterFunc(ctx, free)
	return func() { stop(); free() }, nil
}
