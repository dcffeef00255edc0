package program

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// saveCounts writes the file of this process. The caller holds l.counts.mu.
func (l *License) saveCounts() error {
	f := l.counts.file
	for name, d := range f.Days {
		if d.Reported >= d.Total && l.wall().Sub(d.At) > 48*time.Hour {
			delete(f.Days, name)
			delete(l.counts.outcomes, f.ID+" "+name)
		}
	}
	text, err := json.Marshal(f)
	if err != nil || f.ID == "" || string(text) == l.counts.saved {
		return err
	}
	if err = l.disk.write(usagePrefix+f.ID, string(text)); err == nil {
		l.counts.saved = string(text)
	}
	return err
}

// findCounts makes the loop report what other processes have left in Dir.
func (l *License) findCounts() {
	left := l.disk.names(usagePrefix)
	l.counts.mu.Lock()
	defer l.counts.mu.Unlock()
	if len(left) > 0 {
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
	own, err := l.ownCounts()
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

// ownCounts saves what this process has counted, and returns a copy.
func (l *License) ownCounts() (usageFile, error) {
	l.counts.mu.Lock()
	defer l.counts.mu.Unlock()
	err := l.saveCounts()
	return clone(l.counts.file), err
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
	for _, name := range l.disk.names(usagePrefix) {
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
	maps.DeleteFunc(f.Days, func(_ string, d *usageDay) bool { return d == nil })
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
	open := slices.DeleteFunc(slices.Sorted(maps.Keys(f.Days)), func(name string) bool {
		d := f.Days[name]
		o := l.outcome(f, name)
		if o.total == d.Total && o.refused.IsZero() {
			sent[name] = d.Total
		}
		return d.Reported >= d.Total || o.total == d.Total && (o.refused.IsZero() || time.Now().Before(o.refused))
	})
	for some := range slices.Chunk(open, maxReports) {
		err := l.reportDays(ctx, f, some, sent)
		if len(some) > 1 && isRefusal(err) { // perhaps of one of them
			for _, name := range some {
				if err = l.reportDays(ctx, f, []string{name}, sent); err != nil && !isRefusal(err) {
					break
				}
			}
		}
		if err != nil && !isRefusal(err) {
			return sent, err
		}
	}
	return sent, nil
}

// isRefusal reports whether the service has refused a report for what it says, and not
// because it could not answer.
func isRefusal(err error) bool {
	return errors.As(err, new(api.Code)) || codeOf(err) == api.CodeInvalidParameters
}

func (l *License) outcome(f usageFile, name string) outcome {
	l.counts.mu.Lock()
	defer l.counts.mu.Unlock()
	return l.counts.outcomes[f.ID+" "+name]
}

func (l *License) setOutcome(f usageFile, name string, refused time.Time) {
	l.counts.mu.Lock()
	defer l.counts.mu.Unlock()
	if l.counts.outcomes == nil {
		l.counts.outcomes = map[string]outcome{}
	}
	l.counts.outcomes[f.ID+" "+name] = outcome{f.Days[name].Total, refused}
}

func (l *License) reportDays(ctx context.Context, f usageFile, names []string, sent map[string]int64) error {
	reports := make([]api.UsageReport, len(names))
	for i, name := range names {
		date := max(0, strings.LastIndexByte(name, ' '))
		at := within(f.Days[name].At, l.wall())
		reports[i] = api.UsageReport{Meter: name[:date], ID: f.ID + name[date:], Total: f.Days[name].Total, At: &at}
	}
	err := l.report(ctx, reports)
	switch {
	case err == nil:
		for _, name := range names {
			sent[name] = f.Days[name].Total
			l.setOutcome(f, name, time.Time{})
		}
	case len(names) == 1 && isRefusal(err):
		l.setOutcome(f, names[0], time.Now().Add(refusedEvery))
	}
	return err
}
