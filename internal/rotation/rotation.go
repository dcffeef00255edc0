// Package rotation has the rules for replacing secrets. A new secret does not
// expire; the ones before it stay valid for an overlap.
package rotation

import "time"

// Max is how many secrets can be valid at the same time.
const Max = 2

// A Secret is a stored secret, whatever its form.
type Secret[S any] interface {
	Expiry() time.Time     // zero: never
	Until(end time.Time) S // the secret with that expiry
}

// IsValid reports whether a secret is valid at a time.
func IsValid[S Secret[S]](s S, at time.Time) bool {
	return s.Expiry().IsZero() || at.Before(s.Expiry())
}

// Valid returns the secrets that are valid at a time.
func Valid[S Secret[S]](list []S, at time.Time) (valid []S) {
	for _, s := range list {
		if IsValid(s, at) {
			valid = append(valid, s)
		}
	}
	return valid
}

// Overlap returns the secrets that stay valid beside a new one. They expire after
// the overlap or, if that is sooner, when they would have anyway. With an overlap
// of zero, there are none.
func Overlap[S Secret[S]](list []S, now time.Time, overlap time.Duration) []S {
	end := now.Add(overlap).Truncate(time.Millisecond) // the precision of the store
	shortened := make([]S, len(list))
	for i, s := range list {
		if IsValid(s, end) {
			s = s.Until(end)
		}
		shortened[i] = s
	}
	return Valid(shortened, now)
}
