package program

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Link is a request to the customer to activate this installation in a browser, where
// the customer is signed in, instead of typing a license key.
type Link struct {
	// URL is the page on which the customer approves. Open it in a browser. It may be one
	// on another device, where the customer types Code.
	URL string
	// Code is what the page shows. Show it too, so that the customer can compare.
	Code string
	// Expires is when the link ends, usually after 10 minutes, by the clock of the service.
	Expires time.Time

	license *License
	secret  string
	every   time.Duration // between two polls
	left    time.Duration // at start
	start   time.Time     // with a monotonic reading
	due     *atomic.Int64 // the next poll, in nanoseconds after start
}

const (
	shortestPoll = time.Second
	longestPoll  = time.Minute
	longestLink  = time.Hour
)

// Link starts an activation in the browser. Nothing is opened or printed, and nothing
// changes before [Link.Wait]. The error is an [*Error] with the code not_configured if the
// vendor has no pages for customers.
func (l *License) Link(ctx context.Context) (Link, error) {
	switch {
	case l.isFixed():
		return Link{}, l.fails(CodeNoService, errFixed)
	case l.opts.URL == "":
		return Link{}, l.fails(CodeNoService, errNoService)
	case l.fingerprint == "":
		return Link{}, l.fails(CodeFingerprintRequired, l.idError)
	}
	inner, done := l.until(ctx)
	defer done()
	started := time.Now()
	p := api.StartLinkParams{ProductID: l.opts.ProductID, Fingerprint: l.fingerprint, Name: l.opts.Name}
	if also := l.opts.AlsoProductID; also != "" {
		p.AlsoProductID, p.AlsoFingerprint = also, l.seatOf(also)
	}
	resp, body, err := l.post(inner, "/license/link", p)
	var k api.Link
	switch {
	case err != nil:
	case resp.StatusCode != http.StatusCreated:
		err = refused(resp, problemOf(body))
	case json.Unmarshal(body, &k) != nil || k.Secret == "" || !isPage(k.URL):
		err = refused(resp, api.Problem{})
	}
	if err != nil {
		return Link{}, l.explain(ctx, err)
	}
	link := Link{URL: k.URL, Code: k.Code, Expires: k.ExpiresAt, license: l, secret: k.Secret, start: started, due: new(atomic.Int64)}
	link.every = min(max(time.Duration(k.Interval)*time.Second, shortestPoll), longestPoll)
	link.next(link.every)
	sent, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		sent = started
	}
	link.left = min(max(k.ExpiresAt.Sub(sent), link.every), longestLink)
	return link, nil
}

// isPage reports whether a browser may open a URL of the service.
func isPage(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// Wait waits until the customer has approved, and returns nil if the license is valid
// then: the license key is stored as by [License.SetKey], whose errors Wait returns. The
// error is an [*Error] with the code link_gone if the customer has declined or the link
// has ended, and unreachable if the service did not answer before that. In both cases
// nothing has changed, and Wait can be called again.
func (k Link) Wait(ctx context.Context) error {
	l := k.license
	inner, done := l.until(ctx)
	defer done()
	for {
		timer := time.NewTimer(time.Duration(k.due.Load()) - time.Since(k.start))
		select {
		case <-inner.Done():
			timer.Stop()
			return l.explain(ctx, inner.Err())
		case <-timer.C:
		}
		k.next(k.every)
		ended := time.Since(k.start) >= k.left
		key, err := k.poll(inner)
		if key != "" {
			if err = l.take(ctx, key, again); !errors.Is(err, CodeUnreachable) {
				return err
			}
		} else if err != nil {
			err = l.explain(ctx, err)
		}
		switch {
		case err != nil && (ended || inner.Err() != nil), errors.Is(err, api.CodeLinkGone):
			return err
		case inner.Err() != nil: // after an answer that the customer has not decided
			return l.explain(ctx, inner.Err())
		}
		if ended {
			return l.fails(api.CodeLinkGone, nil)
		}
		k.next(max(k.every, min(waitOf(err), k.left-time.Since(k.start))))
	}
}

// next sets when the next poll is due, also for another call of Wait.
func (k Link) next(wait time.Duration) { k.due.Store(int64(time.Since(k.start) + wait)) }

// poll returns the license key; empty: the customer has not decided.
func (k Link) poll(ctx context.Context) (key string, err error) {
	resp, body, err := k.license.post(ctx, "/license/link/poll", api.PollLinkParams{Secret: k.secret})
	if err != nil {
		return "", err
	}
	var state api.LinkState
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted || json.Unmarshal(body, &state) != nil {
		return "", refused(resp, problemOf(body))
	}
	return state.Key, nil
}

// waitOf returns how long the service wants a caller to wait after an error.
func waitOf(err error) time.Duration {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.retryAfter
	}
	return 0
}
