package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// slots bound how many requests of one route a process answers at a time.
type slots chan struct{}

// take takes a slot, and returns what frees it. It is freed at the latest when
// ctx ends: a client that does not read its answer can block a write for longer
// than that, and must not keep others out.
func (s slots) take(ctx context.Context) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s <- struct{}{}:
	default:
		return nil, &Problem{
			Status: http.StatusServiceUnavailable, Code: "busy",
			Detail: fmt.Sprintf("%d requests like this are running already; nothing was done. Repeat the request later.", cap(s)),
			Header: http.Header{"Retry-After": {"10"}},
		}
	}
	free := sync.OnceFunc(func() { <-s })
	stop := context.AfterFunc(ctx, free)
	return func() { stop(); free() }, nil
}
