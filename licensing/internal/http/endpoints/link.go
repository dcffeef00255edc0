package endpoints

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// pollInterval is how long a program waits between two polls.
const pollInterval = 5 * time.Second

// startLink starts a link to the pages of the service.
func (c Config) startLink(rules *license.Service, ctx context.Context, p api.StartLinkParams) (api.Link, error) {
	if c.PortalURL == "" {
		return api.Link{}, web.NewProblem(http.StatusNotFound, api.CodeNotConfigured,
			"This service has no pages for customers. Set Options.PortalURL to their address.")
	}
	l, err := inner.Of(rules).Links().Start(ctx, p, c.PortalURL)
	l.Interval = int64(pollInterval / time.Second)
	return l, err
}

// pollLink returns the function that answers a poll unless it comes too early. This is
// counted in the memory of the process.
func pollLink() func(*license.Service, context.Context, api.PollLinkParams) (api.LinkState, error) {
	polls := rate.New(1, pollInterval, 1)
	return func(rules *license.Service, ctx context.Context, p api.PollLinkParams) (api.LinkState, error) {
		if faults := inner.Of(rules).Faults(&p); len(faults) > 0 { // a request without a secret is a poll of no link
			return api.LinkState{}, &api.InvalidError{Fields: faults}
		}
		links := inner.Of(rules).Links()
		if wait := polls.Take(p.Secret, links.Now()); wait > 0 {
			return api.LinkState{}, web.NewProblem(http.StatusTooManyRequests, api.CodeSlowDown, "Wait for the interval of the link between two polls.").
				WithHeader("Retry-After", strconv.Itoa(int(pollInterval/time.Second)))
		}
		return links.Poll(ctx, p)
	}
}

func linkPending(result any) bool { return result.(*api.LinkState).Status == api.LinkPending }
