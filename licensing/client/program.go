package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// ProgramOptions are the options of [Open]. ProductID is required. URL is for a
// program that asks the service, Trust for a program that runs from license
// files; set at least one. With both, the service issues the files.
type ProgramOptions struct {
	// URL is where the service is mounted, as in [Options].
	URL string

	// Key is the license key. Empty: none yet; see [Program.SetKey]. Without
	// URL, it is only used in [Program.Request], as a digest.
	Key string

	// ProductID is the product that the license must be for.
	ProductID string

	// Fingerprint identifies this installation: a machine, a container or a
	// user, as the program chooses, for example with [RandomID]. Open
	// activates the license for it, which takes a seat. Empty: the program takes
	// no seat.
	Fingerprint string

	// Name describes the activation to operators, such as a host name.
	Name string

	// Offline is how long the program stays valid when the service cannot be
	// reached, counted from its last answer. It does not depend on the lease of
	// the activation, and ends with the license. Answers are kept in memory
	// only: a program that starts while the service cannot be reached is not
	// valid. 0: 7 days. Negative: until the next check fails. With Trust, it is
	// the lifetime of the files that the program asks for, at least a minute;
	// the service may issue shorter ones.
	Offline time.Duration

	// StartWait is how long Open waits for the first answer. 0: 5 seconds.
	// Negative: not at all.
	StartWait time.Duration

	// ReleaseOnClose frees the seat on Close. Without it, a program that
	// restarts keeps its seat.
	ReleaseOnClose bool

	// OnChange is called after any part of the status but CheckedAt and
	// CheckError has changed. The calls begin when Open returns, and are made
	// one after the other. OnChange must not call Close.
	OnChange func(Status)

	// HTTPClient sends the requests, as in [Options].
	HTTPClient *http.Client

	// Trust holds the public keys with which the vendor signs license files. The
	// program embeds them; see [licensefile.ParseKeys]. With Trust, the program
	// is valid only with a license file that these keys verify, from State, Files
	// or the service. If the file has a fingerprint, it must be Fingerprint.
	//
	// Without URL, the program makes no requests. With URL, it asks the service
	// for a new file after half of the lifetime of the last one, with a nonce,
	// and keeps it in State. A positive verdict without such a file does not
	// count: the status has [CodeUntrusted]. A denial takes effect immediately
	// and lasts until a new file arrives. While the service cannot be reached, or
	// does not know the key, the last file counts until it expires, also after a
	// restart.
	Trust *licensefile.KeySet

	// State keeps the files that [Program.Install] verifies, and those of the
	// service; see [Dir]. Nil: they stay in memory. If it has files of the license
	// only for other fingerprints, the program takes no seat: the status is
	// [CodeFingerprintChanged] until [Program.SetKey].
	State *State

	// Files returns the texts of more license files and revocation lists, for
	// example from an environment variable or, with [ReadFiles], from a read-only
	// mount. It is called at Open, and every five minutes.
	Files func() ([]string, error)

	// MaxListAge is how old the newest revocation list may be, counted from when
	// it was issued. With an older list, or none, no license file counts: the
	// status has [CodeListStale]. 0: a list that is older than a week only gives
	// a warning, and none is needed.
	MaxListAge time.Duration
}

const (
	defaultOffline   = 7 * 24 * time.Hour
	defaultStartWait = 5 * time.Second
	maxText          = 255 // characters of names and IDs
)

func (o ProgramOptions) check() error {
	for _, f := range []struct {
		name, value string
		required    bool
	}{{"ProductID", o.ProductID, true}, {"Fingerprint", o.Fingerprint, false}, {"Name", o.Name, false}} {
		switch {
		case f.required && f.value == "":
			return fmt.Errorf("client: ProgramOptions.%s must be set", f.name)
		case !utf8.ValidString(f.value) || utf8.RuneCountInString(f.value) > maxText:
			return fmt.Errorf("client: ProgramOptions.%s must be at most %d characters of UTF-8", f.name, maxText)
		case strings.TrimSpace(f.value) != f.value || strings.ContainsFunc(f.value, isControl):
			return fmt.Errorf("client: ProgramOptions.%s must not have control characters, or white space at its ends", f.name)
		}
	}
	switch {
	case o.Trust == nil && (o.State != nil || o.Files != nil):
		return errors.New("client: ProgramOptions.Trust must be set for license files in State or Files")
	case o.MaxListAge < 0 || o.MaxListAge > 0 && o.Trust == nil:
		return errors.New("client: ProgramOptions.MaxListAge must not be negative, and needs Trust")
	case o.Trust != nil && o.ReleaseOnClose:
		return errors.New("client: ProgramOptions.ReleaseOnClose must not be set with Trust: the license file holds the seat until it expires")
	case o.Trust != nil && o.URL != "" && o.Offline != 0 && o.Offline < time.Minute:
		return errors.New("client: ProgramOptions.Offline must be at least a minute with Trust and URL")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// A Program is the license of a running program. It is safe for concurrent
// use. Create one with [Open], and close it with Close.
type Program struct {
	opts ProgramOptions
	api  *Client
	own  *http.Transport // to close; nil: the caller's

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	turn   chan struct{} // holds a value while a check is in progress
	wake   chan struct{} // makes the schedule look again
	first  chan struct{} // closed after the first answer
	opened chan struct{} // closed when Open returns

	start time.Time // with a monotonic reading
	now   atomic.Pointer[timeline]

	mu               sync.Mutex // guards the fields below
	key              string
	seated           bool    // the fingerprint had an activation in this process
	good             *answer // the last valid verdict; nil after a denial
	bad              *answer // the last verdict, if it was not valid
	failure          error   // of the last check; nil: it was answered
	failures         int     // since the last answer
	begun, completed int     // the numbers of the last checks
	next             time.Time
	slept            time.Duration // since good; see timeline
	setBack          bool          // whether the clock was set back since the last answer
	shown            Status        // the last status that OnChange received

	// With Trust:
	file     fileState
	refused  *Reason   // why a positive verdict came without a file; nil: it had one or needed none
	lastCode Code      // of the last verdict
	listedAt time.Time // when the revocation list was fetched

	offline offline
	scanned time.Time // the last scan; guarded by offline.mu
}

// errClosed is returned by methods that ask the service after Close.
var errClosed = errors.New("client: the program's license is closed")

// Open starts to check the license of this program, and waits for the first
// answer, at most opts.StartWait. It fails only if an option is invalid: look
// at [Program.Status] for the license. Without an answer, the status is
// [CodeUnreachable], and the schedule keeps asking.
func Open(opts ProgramOptions) (*Program, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	var base string
	if opts.Trust == nil || opts.URL != "" {
		var err error
		if base, err = parseURL(opts.URL); err != nil {
			return nil, fmt.Errorf("client: ProgramOptions.URL %w", err)
		}
	}
	if opts.Offline == 0 {
		opts.Offline = defaultOffline
	}
	if opts.StartWait == 0 {
		opts.StartWait = defaultStartWait
	}
	p := &Program{
		opts: opts,
		turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), first: make(chan struct{}), opened: make(chan struct{}),
	}
	p.start = time.Now()
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if opts.Trust != nil {
		p.scanned = p.start
		p.rescan()
	}
	if base != "" {
		p.key = strings.TrimSpace(opts.Key)
		p.connect(base)
	}
	p.work.Go(p.run)
	if p.key != "" && opts.StartWait > 0 {
		timer := time.NewTimer(opts.StartWait)
		defer timer.Stop()
		select {
		case <-p.first:
		case <-timer.C:
		}
	}
	p.mu.Lock()
	p.shown = p.Status()
	p.mu.Unlock()
	close(p.opened)
	p.poke()
	return p, nil
}

// connect prepares the requests to the service.
func (p *Program) connect(base string) {
	h := p.opts.HTTPClient
	if h == nil {
		h = &http.Client{}
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			p.own = t.Clone()
			h.Transport = p.own
		}
	}
	p.api = newClient(base, "", "", h)
	p.api.maxAttempts = 1 // the schedule repeats
	p.publish()
}

// isFixed reports whether p is from Fixed.
func (p *Program) isFixed() bool { return p.cancel == nil }

// Fixed returns a Program with a status that never changes, for tests. It
// makes no requests. If s.Code is empty, it follows from s.Valid.
func Fixed(s Status) *Program {
	if s.Code == "" {
		s.Code = CodeUnreachable
		if s.Valid {
			s.Code = CodeValid
		}
	}
	p := &Program{start: time.Now()}
	p.now.Store(&timeline{{status: s}})
	return p
}

// Close ends the schedule and waits until it has ended. With ReleaseOnClose, it
// then frees the seat within 5 seconds, or returns an error. After Close, the
// status no longer follows the service. Another Close does nothing.
func (p *Program) Close() error {
	if p.isFixed() || p.ctx.Err() != nil {
		return nil
	}
	p.cancel()
	p.work.Wait()
	p.turn <- struct{}{} // a check in progress has ended
	defer func() { <-p.turn }()
	var err error
	p.mu.Lock()
	key, release := p.key, p.opts.ReleaseOnClose && p.seated
	p.seated = false
	p.mu.Unlock()
	if release {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err = p.api.DeactivateKey(ctx, DeactivateKeyParams{Key: key, Fingerprint: p.opts.Fingerprint})
		if errors.Is(err, CodeNotFound) {
			err = nil // there is nothing to free
		}
	}
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
	return err
}

// Status returns the status at the moment of the call. It does no I/O, never
// blocks and allocates nothing.
func (p *Program) Status() Status { return p.current().status }

func (p *Program) current() *phase { return p.now.Load().at(time.Since(p.start)) }

// poke makes the schedule look again.
func (p *Program) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Err returns the status as an error: nil if it is valid, otherwise a
// [*StatusError].
func (p *Program) Err() error { return p.Status().Err() }
