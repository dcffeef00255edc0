package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The cases of RunDurable on crashes and full disks run the test again in
// another process, with this variable set to a job and a directory. There,
// RunDurable does the job on the store in that directory and reports to its
// standard output what the store returned.
const childVariable = "STORETEST_DURABLE_CHILD"

const (
	jobWrite = "write" // until it is killed; followed by the number of the round
	jobFill  = "fill"  // documents, until no file can grow and commits fail
	jobSpill = "spill" // so much in each Update that calls fail
	jobEmpty = "empty" // appends an event and removes all
)

// childJob returns the job of this process, if RunDurable has started it.
func childJob() (job, dir string, child bool) {
	return strings.Cut(os.Getenv(childVariable), " ")
}

// An answer is a child's report of one Update.
type answer struct {
	word string // kept, failed, unnamed: so without ErrUnavailable, unknown, or ignored: a call failed, and the Update returned nil
	seq  int64  // of the event, if it was kept
	key  string
}

const childLine = "storetest-child "

// work does a job in a child.
func work(st store.Store, job string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	report := func(key string, seqs []int64, err, failed error) {
		word, seq := "kept", int64(0)
		if len(seqs) > 0 {
			seq = seqs[0]
		}
		switch {
		case errors.Is(err, store.ErrUnknownOutcome):
			word = "unknown"
		case err != nil && !errors.Is(err, store.ErrUnavailable): // which ErrFull wraps
			word = "unnamed"
		case err != nil:
			word = "failed"
		case failed != nil:
			word = "ignored"
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("\n%s%s %d %s\n", childLine, word, seq, key)
	}
	if job == jobEmpty {
		var seqs []int64
		err := st.Update(ctx, func(tx store.Tx) (err error) {
			seqs, err = appended(ctx, tx, event(1))
			return errors.Join(err, tx.PutEntries(ctx, entry("crash", 1)))
		})
		report(job, seqs, errors.Join(err, st.Update(ctx, func(tx store.Tx) error {
			_, err := tx.DeleteEvents(ctx, math.MaxInt64, many)
			return err
		})), nil)
		return
	}
	round, writes := strings.CutPrefix(job, jobWrite)
	if !writes {
		if !limitFiles(2 << 20) {
			return
		}
		updates, docs, size := 24, 1, maxDocument/4
		if job == jobSpill {
			updates, docs, size = 2, 8, maxDocument
		}
		noise := rand.NewChaCha8([32]byte{})
		for n := range updates {
			rows := make([]store.Entry, docs)
			for i := range rows {
				rows[i] = entry("crash", n)
				rows[i].Key = fmt.Sprintf("fill_%02d_%d", n, i)
				rows[i].Data = make([]byte, size)
				noise.Read(rows[i].Data)
			}
			var failed error
			err := st.Update(ctx, func(tx store.Tx) error {
				failed = nil
				for _, e := range rows {
					failed = errors.Join(failed, tx.PutEntries(ctx, e))
				}
				err := tx.AppendEvents(ctx, crashEvent(rows[0].Key))
				failed = errors.Join(failed, err)
				return nil
			})
			report(rows[0].Key, nil, err, failed)
		}
		return
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				e := entry("crash", n)
				e.Key = fmt.Sprintf("write_%s_%d_%06d", round, worker, n)
				var seqs []int64
				err := st.Update(ctx, func(tx store.Tx) (err error) {
					if err := tx.PutEntries(ctx, e); err != nil {
						return err
					}
					seqs, err = appended(ctx, tx, crashEvent(e.Key))
					return err
				})
				report(e.Key, seqs, err, nil)
			}
		})
	}
	all.Wait()
}

func crashEvent(key string) store.Event {
	e := event(1)
	e.ID, e.Subject = key, key
	return e
}

// runChild runs the test with the given name in another process, which does a job
// on the store in dir, and returns its report. It kills the process after kill
// Updates, or waits for its end if kill is 0.
func runChild(name, dir, job string, kill int) (answers []answer, err error) {
	var run []string
	for part := range strings.SplitSeq(name, "/") {
		run = append(run, "^"+regexp.QuoteMeta(part)+"$")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+strings.Join(run, "/"), "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"="+job+" "+dir)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var printed []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line, ok := strings.CutPrefix(lines.Text(), childLine)
		if !ok {
			printed = append(printed, lines.Text())
			continue
		}
		var a answer
		if n, _ := fmt.Sscan(line, &a.word, &a.seq, &a.key); n == 3 { // else it was killed in the middle of the line
			answers = append(answers, a)
		}
		if len(answers) == kill {
			cmd.Process.Kill()
		}
	}
	if err = cmd.Wait(); kill > 0 && len(answers) >= kill {
		return answers, nil
	}
	if err == nil && kill > 0 {
		err = errors.New("ended early")
	}
	if err != nil {
		err = fmt.Errorf("child process: %w\n%s%s", err, strings.Join(printed, "\n"), problems.String())
	}
	return answers, err
}

// durableKilled kills processes that write, one after another on the same data, and
// checks after each that everything that the store acknowledged is there, and each
// Seq once.
func durableKilled(b *bench) {
	rounds := 20
	if testing.Short() {
		rounds = 2
	}
	acknowledged := map[int64]string{} // events by Seq
	for n := 0; n < rounds && len(b.found()) == 0; n++ {
		for _, a := range b.afterChild(fmt.Sprint(jobWrite, n), 20+n*20) {
			if a.word != "kept" {
				continue
			}
			if first, again := acknowledged[a.seq]; again {
				b.under(20).fail(a.seq, "another", "Seq of event %s, which %s had before a process was killed", a.key, first)
			}
			acknowledged[a.seq] = a.key
		}
	}
	for after, more := int64(0), len(b.found()) == 0; more; {
		page := b.feed(store.EventQuery{After: after, Limit: store.MaxLimit})
		for _, e := range page {
			if key, ok := acknowledged[e.Seq]; ok {
				b.under(20).equal(e.ID, key, "event with Seq %d", e.Seq)
				delete(acknowledged, e.Seq)
			}
			if e.Seq <= after {
				b.under(20).stop(e.Seq, fmt.Sprintf("above %d", after), "Seq in the feed after %d processes were killed", rounds)
			}
			after = e.Seq
		}
		more = len(page) == store.MaxLimit
	}
	if len(b.found()) == 0 {
		b.equal(len(acknowledged), 0, "acknowledged events that are not in the feed after %d processes were killed", rounds)
	}
}

// durableKilledWhenEmpty has a process append an event, remove all, and end without a
// Close. An event that is appended then has a higher Seq.
func durableKilledWhenEmpty(b *bench) {
	var answers []answer
	var failed error
	b.reopen(func() { answers, failed = b.child(jobEmpty, 0) })
	b.ok(failed, "running the test in another process (%s)", jobEmpty)
	_, err := b.Entry(b.ctx, "crash", entry("", 1).Key)
	b.under(1).ok(err, "Entry that was acknowledged to a process which ended")
	b.append(event(2))
	if got := b.seqs(); len(answers) != 1 || len(got) != 1 || got[0] <= answers[0].seq {
		b.fail(got, fmt.Sprintf("one above that of %+v", answers), "Seqs after a process has removed the newest events and ended without Close")
	}
}

// durableFull has a process write until its files may not grow any more, so
// that commits fail.
func durableFull(b *bench) {
	b.afterChild(jobFill, 0)
}

// durableFullInCalls does the same with Updates so large that calls fail, and
// whose functions ignore it.
func durableFullInCalls(b *bench) {
	b.afterChild(jobSpill, 0)
}

// afterChild runs a child, opens the store and compares it with the child's
// report. An Update in progress when the child was killed may have taken effect
// or not, but not in part.
func (b *bench) afterChild(job string, kill int) (answers []answer) {
	var failed error
	b.reopen(func() { answers, failed = b.child(job, kill) })
	b.ok(failed, "running the test in another process (%s)", job)
	b.view(func(r store.Reader) error {
		for _, a := range answers {
			_, err := r.Entry(b.ctx, "crash", a.key)
			events, listed := r.Events(b.ctx, store.EventQuery{Subject: a.key, Limit: many})
			if listed != nil {
				return listed
			}
			entries := 1
			if errors.Is(err, store.ErrNotFound) {
				entries = 0
			} else if err != nil {
				return err
			}
			there := entries + len(events)
			switch a.word {
			case "kept":
				b.under(1).equal(there, 2, "an entry and an event that the store acknowledged to a process which ended (%s)", job)
			case "unnamed":
				if job == jobFill || job == jobSpill {
					b.under(28).fail("another error", "ErrFull or ErrUnavailable", "Update for which there is no room")
				}
				fallthrough
			case "failed":
				b.under(29).equal(there, 0, "entries and events of an Update that failed, after the store was opened again")
			case "ignored":
				b.under(28).fail("nil", "an error", "Update in which a call failed, and whose function returned nil")
				continue
			}
			if there == 1 {
				b.under(4).fail("one", "both or none", "an entry and an event of one Update")
			}
		}
		return nil
	})
	return answers
}

// inChild does the job of this process if RunDurable has started it. The
// process then ends without closing the store or running the test's cleanup.
func inChild(t *testing.T, open func(t *testing.T, dir string) store.Store) bool {
	job, dir, child := childJob()
	if child {
		work(open(t, dir), job)
		os.Exit(0)
	}
	return child
}
