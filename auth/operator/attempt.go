package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ErrThrottled means that too many attempts failed. The error is a
// [*ThrottledError], which says how long to wait.
var ErrThrottled = errors.New("operator: too many failed attempts")

// A ThrottledError refuses an attempt before the password is checked.
// [errors.Is] matches it with [ErrThrottled].
type ThrottledError struct {
	RetryAfter time.Duration
}

func (e *ThrottledError) Error() string {
	return ErrThrottled.Error() + "; try again in " + e.RetryAfter.Round(time.Second).String()
}

// Is reports whether target is [ErrThrottled].
func (e *ThrottledError) Is(target error) bool { return target == ErrThrottled }

// kindSignIn is the kind of the entries that count failed attempts.
const kindSignIn = "sign_in"

const (
	// maxFailures is the number of consecutive failures of an account, from
	// all addresses together, after which each address gets only a few more:
	// the limit of NIST SP 800-63B-4. The account itself is never locked.
	maxFailures = 100
	// attackDelay is how long an address waits between attempts on such an
	// account, after its first few.
	attackDelay = time.Hour
	// failuresKept is how long a failure counts.
	failuresKept = 24 * time.Hour
	// clockSkew is the largest difference between the clocks of processes
	// that share a store. A failure further in the future does not count: it
	// was written while a clock was ahead.
	clockSkew = time.Minute
	// maxWaiting is the number of attempts from one address that are checked
	// concurrently.
	maxWaiting = 4
)

// failures counts consecutive failed attempts.
type failures struct {
	N    int       `json:"n"`
	Last time.Time `json:"-"` // when the entry was written
}

// wait returns how long the next attempt must wait. It is never more than the
// delay itself, even if the clock was set back since the last failure.
func (f failures) wait(now time.Time, attacked bool) time.Duration {
	delay := signInDelay(f.N)
	if attacked && delay > 0 {
		delay = attackDelay
	}
	return min(f.Last.Add(delay).Sub(now), delay)
}

// signInDelay returns how long to wait after n consecutive failures from one
// place: zero at first, then a second, doubled each time up to 15 minutes.
func signInDelay(n int) time.Duration {
	if n < 3 {
		return 0
	}
	return min(time.Second<<min(n-3, 20), 15*time.Minute)
}

// An attempt has the keys of the counters for one sign-in.
type attempt struct {
	account string // by account, from anywhere
	place   string // by account and address
}

func newAttempt(email string, addr netip.Addr) attempt {
	key := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	}
	email = foldEmail(email)
	return attempt{account: key("account\x00" + email), place: key(rate.Key("place\x00"+email, addr))}
}

// begin counts the attempt as failed until it succeeds, so that concurrent
// attempts get no more guesses than consecutive ones. It returns a
// [*ThrottledError] if the attempt comes too early.
func (s *Service) begin(ctx context.Context, at attempt) error {
	return s.st.Update(ctx, func(tx store.Tx) error {
		now := s.now()
		account, err := readFailures(ctx, tx, at.account, now)
		if err != nil {
			return err
		}
		place, err := readFailures(ctx, tx, at.place, now)
		if err != nil {
			return err
		}
		if wait := place.wait(now, account.N >= maxFailures); wait > 0 {
			return &ThrottledError{wait}
		}
		account.N++
		place.N++
		for key, f := range map[string]failures{at.account: account, at.place: place} {
			if err := putJSON(ctx, tx, store.Entry{Kind: kindSignIn, Key: key, ExpiresAt: now.Add(failuresKept), CreatedAt: now, Move: store.Passing}, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// reset removes the counters after an attempt that succeeded.
func (at attempt) reset(ctx context.Context, tx store.Tx) error {
	return tx.DeleteEntries(ctx, kindSignIn, at.account, at.place)
}

// rewrite writes a counter unchanged, so that an attempt without an event takes
// as long as an attempt with one.
func (at attempt) rewrite(ctx context.Context, tx store.Tx) error {
	e, err := tx.Entry(ctx, kindSignIn, at.place)
	if errors.Is(err, store.ErrNotFound) {
		return nil // purged since it was counted
	}
	if err != nil {
		return err
	}
	return tx.PutEntries(ctx, e)
}

func readFailures(ctx context.Context, r store.Reader, key string, now time.Time) (f failures, err error) {
	e, err := r.Entry(ctx, kindSignIn, key)
	if errors.Is(err, store.ErrNotFound) {
		return failures{}, nil
	}
	if err != nil || !now.Before(e.ExpiresAt) || e.CreatedAt.After(now.Add(clockSkew)) {
		return failures{}, err
	}
	f.Last = e.CreatedAt
	return f, json.Unmarshal(e.Data, &f)
}

// An inFlight limits the concurrent attempts of each source.
type inFlight struct {
	limit int

	mu sync.Mutex
	n  map[netip.Addr]int
}

func newInFlight(limit int) *inFlight { return &inFlight{limit: limit, n: map[netip.Addr]int{}} }

// add reports whether the source of addr is below the limit, and counts the
// attempt if it is. After true, call done.
func (f *inFlight) add(addr netip.Addr) bool {
	addr = rate.Source(addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[addr] >= f.limit {
		return false
	}
	f.n[addr]++
	return true
}

func (f *inFlight) done(addr netip.Addr) {
	addr = rate.Source(addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[addr]--; f.n[addr] == 0 {
		delete(f.n, addr)
	}
}
