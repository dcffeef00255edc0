package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const (
	maxAttempts = 5 // of a request, the first included

	firstPause    = 200 * time.Millisecond // before the second attempt; doubles
	longestPause  = 5 * time.Second
	maxRetryAfter = time.Minute // a longer Retry-After is left to the caller
)

// pause returns how long to wait after a failed attempt, which is 1 for the
// first: at least what Retry-After says, with jitter.
func pause(attempt int, err error) time.Duration {
	wait := min(firstPause<<(attempt-1), longestPause)
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		return e.RetryAfter + rand.N(wait)
	}
	return wait/2 + rand.N(wait/2+1)
}

// temporary reports whether another attempt may succeed where err is the error
// of an attempt, and whether that attempt may have had its effect.
func temporary(err error) (retry, unknown bool) {
	if unsent, ok := errors.AsType[*notSentError](err); ok {
		retry, _ = temporary(unsent.error)
		return retry, false
	}
	if _, final := errors.AsType[*finalError](err); final || errors.Is(err, errNoCredentials) {
		return false, false
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		dial, isDial := errors.AsType[*net.OpError](err)
		return true, !isDial || dial.Op != "dial"
	}
	switch e.Status {
	case http.StatusTooManyRequests:
		return true, false
	case http.StatusServiceUnavailable:
		return true, e.Code != api.CodeBusy && e.Code != api.CodeUnavailable && e.Code != api.CodeStorageFull && e.Code != api.CodeTemporarilyUnavailable
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true, true
	}
	return false, false
}

// retry calls attempt until it succeeds, fails for good, has failed
// maxAttempts times, or the context ends. An attempt that may have had its
// effect is not repeated unless repeatable.
func (c *Client) retry(ctx context.Context, repeatable bool, attempt func() error) error {
	anyUnknown := false
	for n := 1; ; n++ {
		err := attempt()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		e, isError := errors.AsType[*Error](err)
		if isError {
			e.afterUnknown = anyUnknown
		}
		again, unknown := temporary(err)
		if !again || n >= maxAttempts || unknown && !repeatable || isError && e.RetryAfter > maxRetryAfter {
			return err
		}
		anyUnknown = anyUnknown || unknown
		wait := pause(n, err)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
