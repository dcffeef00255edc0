package program

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	orphanAge    = time.Hour           // after which a file is probably that of a process that has ended
	closeWait    = 5 * time.Second     // how long Close waits for a report
	useAttempts  = 3
	maxReports   = 100 // in one request
)

// counts are what this process has counted.
type counts struct {
	mu       sync.Mutex
	file     usageFile
	found    bool      // Dir may have files of other processes
	next     time.Time // when to report; zero: there is nothing to report
	failures int
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
		if s := l.Status(); !s.Valid {
			return s.Code
		}
		return nil
	}
	report := api.UsageReport{Meter: meter, ID: "use " + rand.Text(), Total: n}
	var err error
	for range useAttempts {
		if err = l.report(ctx, []api.UsageReport{report}); !errors.As(err, new(*failure)) || codeOf(err) != "" || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// Count counts n units of a meter that have been used. It keeps them in Dir, and reports
// them within about a minute, at Close, or when the service answers again, also after a
// restart. What has been counted is not refused: see the meters of the license. It does
// nothing if n is less than 1.
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

// saveCounts writes the file of this process. The caller holds l.counts.mu.
func (l *License) saveCounts() error {
	f := l.counts.file
	for name, d := range f.Days {
		if d.Reported >= d.Total && l.wall().Sub(d.At) > 48*time.Hour {
			delete(f.Days, name)
		}
	}
	text, err := json.Marshal(f)
	if err != nil || f.ID == "" {
		return err
	}
	return l.disk.write(usagePrefix+f.ID, string(text))
}

// findCounts makes the loop report what other processes have left in Dir.
func (l *License) findCounts() {
	left, _ := filepath.Glob(filepath.Join(l.disk.dir, usagePrefix+"*"))
	l.counts.mu.Lock()
	defer l.counts.mu.Unlock()
	if l.counts.found = len(left) > 0; l.counts.found {
		l.counts.next = time.Now().Add(early(shortestBackoff))
	}
}

// nextReport returns when to report; false: there is nothing to report.
func (l *License) nextReport() (time.Time, bool) {
	l.counts.mu.Lock()
	defer l.counts.mu.Unlock()
	return l.counts.next, !l.counts.next.IsZero() && l.opts.URL != ""
}

// reportDue reports what was counted if it is time.
func (l *License) reportDue(ctx context.Context) {
	if next, waits := l.nextReport(); !waits || time.Now().Before(next) {
		return
	}
	l.reportCounts(ctx)
}

// reportCounts reports what this process and earlier ones have counted. Several processes
// may report the same file: each ID counts once.
func (l *License) reportCounts(ctx context.Context) {
	l.counts.mu.Lock()
	err := l.saveCounts()
	own := clone(l.counts.file)
	l.counts.mu.Unlock()
	sent, reportErr := l.reportFile(ctx, own)
	err = errors.Join(err, reportErr)
	orphans, orphanErr := l.reportOrphans(ctx, own.ID)
	err = errors.Join(err, orphanErr)

	l.counts.mu.Lock()
	defer l.counts.mu.Unlock()
	open := orphans
	for name, d := range l.counts.file.Days {
		d.Reported = max(d.Reported, sent[name])
		open = open || d.Reported < d.Total
	}
	saveErr := l.saveCounts()
	c := &l.counts
	switch {
	case err != nil || saveErr != nil:
		c.failures++
		c.next = time.Now().Add(max(reportEvery, backoff(c.failures, err)))
	case open:
		c.failures, c.next = 0, time.Now().Add(early(reportEvery))
	default:
		c.failures, c.next = 0, time.Time{}
	}
}

func clone(f usageFile) usageFile {
	days := make(map[string]*usageDay, len(f.Days))
	for name, d := range f.Days {
		days[name] = new(*d)
	}
	return usageFile{f.ID, days}
}

// reportOrphans reports the files of other processes, and removes those of processes that
// have ended. It reports whether some are left.
func (l *License) reportOrphans(ctx context.Context, own string) (left bool, err error) {
	paths, _ := filepath.Glob(filepath.Join(l.disk.dir, usagePrefix+"*"))
	for _, path := range paths {
		name := filepath.Base(path)
		if own != "" && name == usagePrefix+own {
			continue
		}
		f, old, readErr := l.readUsage(name)
		if readErr != nil || f.ID == "" {
			err = errors.Join(err, readErr)
			continue
		}
		sent, sendErr := l.reportFile(ctx, f)
		err = errors.Join(err, sendErr)
		done := sendErr == nil
		for day, d := range f.Days {
			done = done && (sent[day] >= d.Total || d.Reported >= d.Total || l.wall().Sub(d.At) > usageKept)
		}
		if !done || !old {
			left = true
			continue
		}
		err = errors.Join(err, l.dropUsage(name, f))
	}
	return left, err
}

// readUsage reads a file, and reports whether it is probably that of a process that has
// ended. A file that is not one has no ID.
func (l *License) readUsage(name string) (f usageFile, old bool, err error) {
	info, err := os.Stat(filepath.Join(l.disk.dir, name))
	if err != nil {
		return f, false, nil // another process has removed it
	}
	text, err := l.disk.read(name)
	if err == nil && json.Unmarshal([]byte(text), &f) != nil {
		f = usageFile{}
	}
	return f, time.Since(info.ModTime()).Abs() > orphanAge, err
}

// dropUsage removes a file that was reported, unless its process has changed it since.
func (l *License) dropUsage(name string, reported usageFile) error {
	taken := usagePrefix + rand.Text()
	if err := os.Rename(filepath.Join(l.disk.dir, name), filepath.Join(l.disk.dir, taken)); err != nil {
		return nil // another process has removed it
	}
	f, _, err := l.readUsage(taken)
	for day, d := range f.Days {
		if was := reported.Days[day]; err != nil || was == nil || was.Total != d.Total {
			return err // it is reported again, under the same IDs
		}
	}
	return l.disk.remove(taken)
}

// reportFile reports a file, and returns the totals that were counted.
func (l *License) reportFile(ctx context.Context, f usageFile) (sent map[string]int64, err error) {
	sent = map[string]int64{}
	open := slices.DeleteFunc(slices.Sorted(maps.Keys(f.Days)), func(name string) bool { return f.Days[name].Reported >= f.Days[name].Total })
	for names := range slices.Chunk(open, maxReports) {
		some := names
		err := l.reportDays(ctx, f, some, sent)
		if err == nil || !isVerdict(err) {
			if err != nil {
				return sent, err
			}
			continue
		}
		for _, name := range some { // one of them is refused
			if err := l.reportDays(ctx, f, []string{name}, sent); err != nil && !isVerdict(err) {
				return sent, err
			}
		}
	}
	return sent, nil
}

// isVerdict reports whether an error is the code of a refusal.
func isVerdict(err error) bool { return errors.As(err, new(api.Code)) }

func (l *License) reportDays(ctx context.Context, f usageFile, names []string, sent map[string]int64) error {
	reports := make([]api.UsageReport, len(names))
	for i, name := range names {
		meter, date, _ := strings.Cut(name, " ")
		at := within(f.Days[name].At, l.wall())
		reports[i] = api.UsageReport{Meter: meter, ID: f.ID + " " + date, Total: f.Days[name].Total, At: &at}
	}
	err := l.report(ctx, reports)
	if err == nil {
		for _, name := range names {
			sent[name] = f.Days[name].Total
		}
	}
	return err
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
	p := api.CountUsageParams{Key: l.key, ProductID: l.opts.ProductID, Usage: reports}
	l.mu.Unlock()
	if l.opts.URL == "" || p.Key == "" {
		return errors.New("program: usage needs a service and a license key")
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
