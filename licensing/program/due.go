package program

import (
	"strconv"
	"time"
)

const (
	// overdueWait is how long Open waits for an overdue check if the license file
	// counts: a command that ends immediately would otherwise never get the answer.
	overdueWait = time.Second

	// startDelay is after how long a program checks that was not overdue when it
	// started. A command that ends before that asks nothing.
	startDelay = 10 * time.Second

	// latestDue is the latest time until the next check; see [License.recheck].
	latestDue = 24 * time.Hour
)

// schedule sets when to ask again, for this process and for the next start. The
// caller holds l.mu.
func (l *License) schedule(wait time.Duration) {
	l.next = time.Now().Add(wait)
	l.storeDue(wait)
}

// storeDue stores when the next check is due, by the clock of the machine. The
// caller holds l.mu.
func (l *License) storeDue(wait time.Duration) {
	l.unsaved[dueName] = strconv.FormatInt(l.wall().Add(wait).Unix(), 10)
	l.save()
}

// overdue reports whether it is time to check, by what the last attempt of any
// process with this directory stored. A time that is too far ahead was stored while
// the clock was wrong.
func (l *License) overdue() bool {
	text, _ := l.disk.read(dueName) // what cannot be read is missing
	due, err := strconv.ParseInt(text, 10, 64)
	wait := time.Unix(due, 0).Sub(l.wall())
	return err != nil || wait <= 0 || wait > latestDue
}

// startTime decides when the first check of this process is made, and returns how
// long Open waits for its end. The caller holds l.mu.
func (l *License) startTime() time.Duration {
	switch {
	case !l.asks():
		return 0
	case !l.Status().Valid:
		return openWait
	case l.overdue():
		return overdueWait
	}
	l.next = time.Now().Add(startDelay)
	return 0
}

// await waits for the end of the first check, at most for a time. What the service
// has answered by then counts. If it has not answered, the next starts do not wait
// for a while.
func (l *License) await(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-l.tried:
		return
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next.IsZero() && l.Status().Valid {
		l.storeDue(longestBackoff)
	}
	l.judge() // the revocation list may be all that is missing
}
