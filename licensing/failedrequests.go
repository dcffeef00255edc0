package licensing

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
)

// failedRequests records requests that were answered 500: the cause is an error that
// the service does not expect, such as a missing table or permission, a record that
// cannot be decoded, or a panic.
type failedRequests struct {
	now    func() time.Time
	failed atomic.Pointer[failure] // nil: none has failed
}

// add notes the error of a request to a route, which may be nil. It ignores errors
// that mean that the store is busy or unavailable, and canceled requests. The OAuth
// endpoints and the check of a token answer 503 to an unexpected error; it is noted
// too.
func (f *failedRequests) add(route string, err error) {
	if err == nil || feed.StoreErrorKind(err) != "" || errors.Is(err, context.Canceled) {
		return
	}
	now := f.now()
	last := &failure{since: now, last: now, route: route, err: err}
	if before := f.recent(); before != nil {
		last.since = before.since
	}
	f.failed.Store(last)
}

// recent returns the failure of the last minute, or nil.
func (f *failedRequests) recent() *failure {
	if last := f.failed.Load(); last != nil && f.now().Sub(last.last) < failureKept {
		return last
	}
	return nil
}
