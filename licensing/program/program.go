package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// openWait is how long Open waits for the first attempt without a license file.
const openWait = 5 * time.Second

// A License is the license of a running program. It is safe for concurrent use.
// Create one with [Open], and close it with Close.
type License struct {
	opts        Options
	keys        *licensefile.KeySet
	disk        disk
	fingerprint string // empty: none, so no seat is taken
	alsoPrint   string // the same for a license of Options.AlsoProductID
	http        *http.Client
	own         *http.Transport // to close; nil: the caller's
	idError     error           // why there is no fingerprint

	ctx    context.Context // ends with Close; nil: the license is fixed
	cancel context.CancelFunc
	loop   sync.WaitGroup
	turn   chan struct{} // holds a value while a request of any method is in progress
	wake   chan struct{} // makes the loop look again
	tried  chan struct{} // closed after the first attempt, by attempted
	opened chan struct{} // closed when Open returns

	attempted func() // ends the wait of Open

	counts counts

	wall  func() time.Time // the clock of the machine, without a monotonic reading
	start time.Time        // with a monotonic reading
	now   atomic.Pointer[timeline]

	mu      sync.Mutex // guards the fields below
	clock   clock
	key     string
	product string            // of the license, or ProductID
	file    *licensefile.File // the newest for the key; nil: none
	display display           // for the key in it; zero: nothing
	denial  *denial           // of the service, later than file; nil: none
	revoked *licensefile.Revocations
	nonce   string // of the request that waits for a file; empty: none

	// What the service last answered:
	checkedAt time.Time   // zero: nothing
	failed    error       // why there was no answer; nil: there was one
	failures  int         // since the last answer
	fault     error       // what panicked since the last check; nil: nothing
	deniedAt  time.Time   // when the first denial came that a person can end; zero: none since the last valid answer
	unknown   bool        // no license has the key
	refused   *api.Reason // why the license is valid, and has no file; nil: it has one
	fresh     bool        // no answer has been positive yet, so a seat that was lost may be taken again
	released  bool        // by Release
	doubtful  bool        // the clock was not certain for long; the next file proves the time

	begun, completed int       // the numbers of the last checks
	next             time.Time // when to ask again
	verifiedText     string    // of verified, the stored file that was verified last
	verified         licensefile.File
	listText         string    // of revoked
	listAt           time.Time // when it was fetched
	listCode         api.Code  // of the verdict then
	listError        error     // why the last one does not count

	unsaved    map[string]string // by name: what could not be written to Dir yet
	dirError   error
	floorSaved time.Time
	shown      Status // the last status that OnChange received
}

var (
	errClosed = errors.New("program: the license is closed")
	errFixed  = errors.New("program: the license was made by Fixed")
)

// Open reads the license of this program, and starts to check it. With a license
// file that counts, it returns immediately, unless a check is overdue: then it waits
// for the end of the check, at most 1 second. Without one, it waits for the end of
// the first attempt to get one, at most 5 seconds. It fails only if an option is
// invalid, with an [*Error] that has the code invalid_option: look at [License.Status] for
// the license.
func Open(opts Options) (*License, error) {
	return open(opts, thisMachine(), func() time.Time { return time.Now().Round(0) })
}

func open(opts Options, m machine, wall func() time.Time) (*License, error) {
	if err := opts.complete(); err != nil {
		return nil, invalid(err)
	}
	keys, err := licensefile.ParseKeys(opts.Keys)
	if err != nil {
		return nil, invalid(fmt.Errorf("program: Options.Keys must be the answer of GET /file/keys: %w", err))
	}
	unsaved := map[string]string{}
	if opts.Dir == "" {
		dir, owner, err := defaultDir(opts.ProductID, keys.IDs())
		if err != nil {
			return nil, invalid(err)
		}
		if opts.Dir = dir; owner != "" {
			unsaved[ownerName] = owner
		}
	}
	l := &License{
		opts: opts, keys: keys, disk: disk{opts.Dir}, fingerprint: opts.Fingerprint, alsoPrint: opts.Fingerprint, product: opts.ProductID, key: opts.Key, fresh: true, unsaved: unsaved,
		turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), tried: make(chan struct{}), opened: make(chan struct{}),
		start: time.Now(), wall: wall, clock: clock{wall: wall},
	}
	l.attempted = sync.OnceFunc(func() { close(l.tried) })
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.connect()
	l.disk.sweep()
	l.save() // the owner first, because it makes the directory found again
	if l.fingerprint == "" {
		l.fingerprint, l.idError = m.fingerprint(opts.ProductID, l.disk)
		if opts.AlsoProductID != "" && l.idError == nil {
			l.alsoPrint, l.idError = m.fingerprint(opts.AlsoProductID, l.disk)
		}
	}
	if opts.PerProcess {
		part := processPart()
		l.fingerprint, l.alsoPrint = l.fingerprint+part, l.alsoPrint+part
	}
	l.mu.Lock()
	l.clock.start(time.Time{})
	l.load()
	l.clock.start(l.clock.certain())
	l.judge()
	wait := l.startTime()
	l.mu.Unlock()
	l.findCounts()
	l.loop.Go(l.run)
	if wait > 0 {
		l.await(wait)
	}
	l.mu.Lock()
	l.shown = l.Status()
	l.mu.Unlock()
	close(l.opened)
	l.poke()
	return l, nil
}

// invalid returns the error of Open for an invalid option.
func invalid(err error) error {
	return &Error{Code: CodeInvalidOption, text: err.Error(), cause: err}
}

// connect prepares the requests to the service.
func (l *License) connect() {
	l.http = &http.Client{}
	if l.opts.HTTPClient != nil {
		*l.http = *l.opts.HTTPClient
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		l.own = t.Clone()
		if l.own.OnProxyConnectResponse == nil {
			l.own.OnProxyConnectResponse = refuseSignIn
		}
		l.http.Transport = l.own
	}
	l.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// Fixed returns a License with a status that never changes, for the tests of a
// program. It makes no requests. If s.Code is empty, it follows from s.Valid.
func Fixed(s Status) *License {
	if s.Code == "" {
		s.Code = CodeUnreachable
		if s.Valid {
			s.Code = api.VerdictValid
		}
	}
	l := &License{start: time.Now()}
	l.now.Store(&timeline{{status: s}})
	return l
}

func (l *License) isFixed() bool { return l.cancel == nil }

// Close ends the checks, waits until a request in progress has ended, and reports what
// Count has counted, for at most 5 seconds. A panic in that is logged. The seat stays taken, but with
// Options.PerProcess; see [License.Release]. After Close, the status no longer follows
// the service. Another Close does nothing.
func (l *License) Close() error {
	if l.isFixed() || l.ctx.Err() != nil {
		return nil
	}
	if l.opts.PerProcess {
		_ = contain(l.leave)
	}
	l.cancel()
	l.loop.Wait()
	if _, waits := l.nextReport(); waits {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		_ = contain(func() { l.reportCounts(ctx) })
		cancel()
	}
	l.turn <- struct{}{} // a request in progress has ended
	defer func() { <-l.turn }()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saveClock()
	if l.own != nil {
		l.own.CloseIdleConnections()
	}
	return nil
}

// poke makes the loop look again.
func (l *License) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
