package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
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
	// maxFailures is how often in a row a password may be guessed wrong
	// before the account rests: the limit of NIST SP 800-63B-4.
	maxFailures = 100
	// failuresKept is how long a failure is remembered.
	failuresKept = 24 * time.Hour
)

// failures counts the attempts that failed in a row.
type failures struct {
	N    int       `json:"n"`
	Next time.Time `json:"next"` // no attempt before this
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
	if addr = addr.Unmap(); addr.Is6() {
		p, _ := addr.Prefix(64) // whoever has one address of a /64 has them all
		addr = p.Addr()
	}
	key := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	}
	email = foldEmail(email)
	return attempt{account: key("account\x00" + email), place: key("place\x00" + email + "\x00" + addr.String())}
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
		if next := later(account.Next, place.Next); now.Before(next) {
			return &ThrottledError{next.Sub(now)}
		}
		account.N++
		if account.N >= maxFailures {
			account.Next = now.Add(failuresKept)
		}
		place.N++
		place.Next = now.Add(signInDelay(place.N))
		if err := putJSON(ctx, tx, store.Entry{Kind: kindSignIn, Key: at.account, ExpiresAt: now.Add(failuresKept), CreatedAt: now}, account); err != nil {
			return err
		}
		return putJSON(ctx, tx, store.Entry{Kind: kindSignIn, Key: at.place, ExpiresAt: now.Add(failuresKept), CreatedAt: now}, place)
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
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(e.ExpiresAt) {
		return failures{}, nil
	}
	if err != nil {
		return failures{}, err
	}
	return f, json.Unmarshal(e.Data, &f)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// signedIn is an operator who has just shown their password, and the
// generation of sessions that this opens.
type signedIn struct {
	Operator
	generation int64
}

// checkCredentials returns the operator with that address and password. An
// unknown address, a wrong password and a disabled operator get the same
// answer after the same work.
func (a *Auth) checkCredentials(ctx context.Context, email, password string, addr netip.Addr) (signedIn, error) {
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

	// In the name of nobody, anybody may fail as often as they like. The
	// feed keeps what it is told, so it is told of so many a minute.
	told := id != "" || a.failures.fail("sign-in", addr, a.now()) == 0

	var in signedIn
	err = a.st.Update(ctx, func(tx store.Tx) error {
		in = signedIn{}
		if !told {
			return touch(ctx, tx, at)
		}
		if id == "" || !ok {
			return a.signInFailed(ctx, tx, id, addr)
		}
		e, rec, err := readOperator(ctx, tx, id)
		if err != nil {
			return err
		}
		if rec.Disabled || rec.Password != hash { // changed while it was being checked
			return a.signInFailed(ctx, tx, id, addr)
		}
		if fresh != "" {
			rec.Password = fresh
		}
		rec.LastSignInAt = a.now()
		if err := putJSON(ctx, tx, e, rec); err != nil {
			return err
		}
		if err := forget(ctx, tx, at); err != nil {
			return err
		}
		in = signedIn{rec.operator(e), rec.Generation}
		b := a.As(Caller{Actor: "operator:" + id, RequestID: a.caller.RequestID})
		return b.operatorEvent(ctx, tx, "operator.signed_in", in.Operator, nil)
	})
	if err != nil {
		return signedIn{}, err
	}
	if in.ID == "" {
		return signedIn{}, ErrCredentials
	}
	return in, nil
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

// signInFailed appends the event of a failed attempt. The address that was
// typed is not in it: people type passwords there.
func (a *Auth) signInFailed(ctx context.Context, tx store.Tx, id string, addr netip.Addr) error {
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
