package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ErrCredentials: the address or the password is wrong, or the operator is
// disabled. Which of them it was is not said.
var ErrCredentials = errors.New("auth: the e-mail address or the password is wrong")

// ErrThrottled: too many attempts failed. The error is a [*ThrottledError]
// that says how long to wait.
var ErrThrottled = errors.New("auth: too many failed attempts")

// A ThrottledError refuses an attempt to sign in before the password is
// looked at. It is [ErrThrottled] under [errors.Is].
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
	// maxFailures is how many attempts on an account may fail in a row, from
	// all addresses together, before each address gets only a few more: the
	// limit of NIST SP 800-63B-4. The account itself is never locked.
	maxFailures = 100
	// attackDelay is how long an address waits between attempts on such an
	// account, after its first few.
	attackDelay = time.Hour
	// failuresKept is how long a failure counts.
	failuresKept = 24 * time.Hour
	// clockSkew is how far the clocks of processes that share a store may
	// differ. A failure that is further in the future does not count: it was
	// written while a clock was ahead.
	clockSkew = time.Minute
	// maxWaiting is how many attempts from one address are checked at the
	// same time.
	maxWaiting = 4
	// maxSignInEvents is how many failures each process reports as events at
	// once and then per hour: of each operator, and of all unknown accounts
	// together.
	maxSignInEvents = 60
)

// failures counts the attempts that failed in a row.
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

// signInDelay is how long to wait after n failures in a row from one place:
// nothing at first, then twice as long each time, up to a quarter of an hour.
func signInDelay(n int) time.Duration {
	if n < 3 {
		return 0
	}
	return min(time.Second<<min(n-3, 20), 15*time.Minute)
}

// attempt is one try at a password: the counters it is counted in.
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
	return attempt{account: key("account\x00" + email), place: key("place\x00" + email + "\x00" + source(addr).String())}
}

// begin counts the attempt as failed until it has succeeded, so that many at
// once get no more guesses than one after another. It refuses with a
// [*ThrottledError] if it comes too early.
func (a *Auth) begin(ctx context.Context, at attempt) error {
	return a.st.Update(ctx, func(tx store.Tx) error {
		now := a.now()
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
		// Each attempt writes two entries and removes more of the old ones, so
		// their number stays bounded without Purge.
		if _, err := purgeKind(ctx, tx, kindSignIn, now); err != nil {
			return err
		}
		account.N++
		place.N++
		for key, f := range map[string]failures{at.account: account, at.place: place} {
			if err := putJSON(ctx, tx, store.Entry{Kind: kindSignIn, Key: key, ExpiresAt: now.Add(failuresKept), CreatedAt: now}, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// forget ends the row of failures after an attempt that succeeded.
func forget(ctx context.Context, tx store.Tx, at attempt) error {
	for _, key := range []string{at.account, at.place} {
		if err := tx.DeleteEntry(ctx, kindSignIn, key); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// touch writes what is there, so that an attempt that the feed is not told of
// takes as long as another.
func touch(ctx context.Context, tx store.Tx, at attempt) error {
	e, err := tx.Entry(ctx, kindSignIn, at.place)
	if errors.Is(err, store.ErrNotFound) {
		return nil // removed since it was counted
	}
	if err != nil {
		return err
	}
	return tx.PutEntry(ctx, e)
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

// signedIn is an operator who has just shown their password, and the
// generation of sessions that this opens.
type signedIn struct {
	Operator
	generation int64
}

// checkCredentials returns the operator with that address and password. An
// unknown address, a wrong password and a disabled operator get the same
// answer after the same work. The address is throttled first, in memory, so
// that it can neither fill the store nor occupy every place to hash in.
func (a *Auth) checkCredentials(ctx context.Context, email, password string, addr netip.Addr) (signedIn, error) {
	if addr.IsValid() {
		if !a.signIns.enter(addr) {
			return signedIn{}, &ThrottledError{time.Second}
		}
		defer a.signIns.leave(addr)
		// The attempt counts as failed until it has succeeded.
		if wait := a.failures.fail("sign-in", addr, a.now()); wait > 0 {
			return signedIn{}, &ThrottledError{wait}
		}
	}
	at := newAttempt(email, addr)
	if err := a.begin(ctx, at); err != nil {
		return signedIn{}, err
	}
	id, hash, err := a.passwordOf(ctx, email)
	if err != nil {
		return signedIn{}, err
	}
	if len(password) > 4*maxPassword {
		password = "" // nobody's; and nothing longer is ever hashed
	}
	ok, weak, err := verifyPassword(ctx, password, hash)
	if err != nil {
		return signedIn{}, err
	}
	fresh := ""
	if ok && weak && id != "" {
		if fresh, err = hashPassword(ctx, password); err != nil {
			return signedIn{}, err
		}
	}

	// The store keeps events, and webhooks send them, so their number is
	// bounded. Without an event the attempt writes as much.
	reported := sync.OnceValue(func() bool { return a.signInEvents.fail(id, netip.Addr{}, a.now()) == 0 })
	var in signedIn
	fail := func(tx store.Tx) error {
		if !reported() {
			return touch(ctx, tx, at)
		}
		return a.signInFailed(ctx, tx, id, addr)
	}
	err = a.st.Update(ctx, func(tx store.Tx) error {
		in = signedIn{}
		if id == "" || !ok {
			return fail(tx)
		}
		e, rec, err := readOperator(ctx, tx, id)
		if err != nil {
			return err
		}
		if rec.Disabled || rec.Password != hash { // changed while it was being checked
			return fail(tx)
		}
		if fresh != "" {
			rec.Password = fresh
		}
		if err := forget(ctx, tx, at); err != nil {
			return err
		}
		in, err = a.recordSignIn(ctx, tx, e, rec)
		return err
	})
	if err != nil {
		return signedIn{}, err
	}
	if in.ID == "" {
		return signedIn{}, ErrCredentials
	}
	a.failures.forgive("sign-in", addr)
	return in, nil
}

// recordSignIn writes rec with the time of the sign-in, and its event.
func (a *Auth) recordSignIn(ctx context.Context, tx store.Tx, e store.Entry, rec operatorRecord) (signedIn, error) {
	rec.LastSignInAt = a.now()
	if err := putJSON(ctx, tx, e, rec); err != nil {
		return signedIn{}, err
	}
	in := signedIn{rec.operator(e), rec.Generation}
	return in, a.asOperator(in.ID).operatorEvent(ctx, tx, "operator.signed_in", in.Operator, nil)
}

// passwordOf returns the operator with that address and the hash of their
// password. If there is none, the id is empty and the hash nobody's; the store
// is asked as much.
func (a *Auth) passwordOf(ctx context.Context, email string) (id, hash string, err error) {
	e, err := a.st.Entry(ctx, kindOperatorEmail, foldEmail(email))
	if errors.Is(err, store.ErrNotFound) {
		e, err = store.Entry{Owner: "nobody"}, nil
	}
	if err != nil {
		return "", "", err
	}
	_, rec, err := readOperator(ctx, a.st, e.Owner)
	if errors.Is(err, ErrNotFound) {
		return "", dummyHash(), nil
	}
	return e.Owner, rec.Password, err
}

// signInFailed appends the event of a failed attempt. Its actor is the operator
// who is signed in, if any, and else "anonymous". The e-mail address that was
// typed is not in it: people type passwords there.
func (a *Auth) signInFailed(ctx context.Context, tx store.Tx, id string, addr netip.Addr) error {
	if a.caller.Actor == "" {
		a = a.As(Caller{Actor: "anonymous", RequestID: a.caller.RequestID})
	}
	from := ""
	if addr.IsValid() {
		from = addr.String()
	}
	data, err := json.Marshal(map[string]string{"address": from})
	if err != nil {
		return err
	}
	return a.appendOperatorEvent(ctx, tx, "operator.sign_in_failed", id, data)
}
