package program

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const (
	usagePrefix = "usage-" // the files with what a process has counted
	reportEvery = time.Minute
	// reportWindow is how old usage may be when it is reported. Older usage is reported as
	// if it were that old.
	reportWindow = 35*24*time.Hour - time.Minute
	usageKept    = 70 * 24 * time.Hour // how long refused usage is kept
	refusedEvery = time.Hour           // how often refused usage is reported again
	orphanAge    = time.Hour           // after which a file is probably that of a process that has ended
	closeWait    = 5 * time.Second     // how long Close waits for a report
	useAttempts  = 3
	maxReports   = 100 // in one request
)

// counts are what this process has counted.
type counts struct {
	mu       sync.Mutex
	file     usageFile
	saved    string    // the text of file in Dir
	next     time.Time // when to report; zero: there is nothing to report
	failures int
	outcomes map[string]outcome // by the file and the day
}

// postpone makes the loop wait before it reports again.
func (c *counts) postpone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures++
	c.next = time.Now().Add(max(reportEvery, backoff(c.failures, nil)))
}

// An outcome is what the service has last answered to a report.
type outcome struct {
	total   int64
	refused time.Time // when it is reported again; zero: it was counted
}

// A usageFile is a file with what one process has counted. Each meter and day has an ID of
// its own, so that usage counts in the period in which it happened.
type usageFile struct {
	ID   string               `json:"id"`
	Days map[string]*usageDay `json:"days"` // by meter and date: "exports 2026-11-20"
}

type usageDay struct {
	Total    int64     `json:"total"`
	Reported int64     `json:"reported,omitzero"`
	At       time.Time `json:"at"` // of the last use
}

// Use asks the service for n units of a meter. If errors.Is(err, api.VerdictUsageLimit), the
// license does not include them; other codes of verdicts say why the license is not valid.
// Any other error means that the service did not answer, also after repeated attempts, of
// which none counts twice. Without a network, use Count.
func (l *License) Use(ctx context.Context, meter string, n int64) error {
	if l.isFixed() {
		return l.Status().Err()
	}
	inner, done := l.until(ctx)
	defer done()
	report := api.UsageReport{Meter: meter, ID: "use " + rand.Text(), Total: n}
	var err error
	for range useAttempts {
		if err = l.report(inner, []api.UsageReport{report}); !errors.As(err, new(*failure)) || codeOf(err) != "" || inner.Err() != nil {
			break
		}
	}
	return l.explain(ctx, err)
}

// Count counts n units of a meter that have been used. It keeps them in Dir, and reports
// them within about a minute, at Close, or when the service answers again, also after a
// restart. What has been counted is not refused, unless the license lacks the meter: then it
// is kept for 70 days, and reported again once an hour. Count does nothing if n is less
// than 1.
func (l *License) Count(meter string, n int64) {
	if l.isFixed() || n < 1 {
		return
	}
	now := l.wall().UTC()
	c := &l.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file.Days == nil {
		c.file = usageFile{ID: rand.Text(), Days: map[string]*usageDay{}}
	}
	name := meter + " " + now.Format(time.DateOnly)
	day := c.file.Days[name]
	if day == nil {
		day = &usageDay{}
		c.file.Days[name] = day
	}
	day.Total, day.At = day.Total+n, now
	_ = l.saveCounts() // otherwise the next Count or report does
	if c.next.IsZero() {
		c.next = time.Now().Add(early(reportEvery))
		l.poke()
	}
}

// within returns an instant that can be reported at another.
func within(at, now time.Time) time.Time {
	if first := now.Add(-reportWindow); at.Before(first) {
		return first.UTC()
	}
	if at.After(now) {
		return now.UTC()
	}
	return at
}

// report sends reports. If the service refuses their times, it sends them again with times
// that the clock of the service allows.
func (l *License) report(ctx context.Context, reports []api.UsageReport) error {
	l.mu.Lock()
	p := api.CountUsageParams{Key: l.key, ProductID: l.product, Usage: reports}
	l.mu.Unlock()
	if err := l.canAsk(p.Key); err != nil {
		return err
	}
	resp, body, err := l.post(ctx, "/license/usage", p)
	if err != nil {
		return err
	}
	if date, dateErr := http.ParseTime(resp.Header.Get("Date")); resp.StatusCode == http.StatusUnprocessableEntity && dateErr == nil {
		for i, r := range reports {
			if r.At != nil {
				at := within(*r.At, date)
				reports[i].At = &at
			}
		}
		if resp, body, err = l.post(ctx, "/license/usage", p); err != nil {
			return err
		}
	}
	if resp.StatusCode == http.StatusOK {
		l.showUsage(p.Key, body)
		return nil
	}
	problem := problemOf(body)
	if problem.Verdict != nil && len(problem.Verdict.Reasons) > 0 {
		return problem.Verdict.Reasons[0].Code
	}
	return refused(resp, problem)
}
