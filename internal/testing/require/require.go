// Package require provides assertions for tests. A failed assertion prints its
// source line and the values it compared, and ends the test. For equality, for
// errors that must be nil and for conditions, tests use github.com/matryer/is.
package require

import (
	"cmp"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Contains fails the test unless got contains each of the texts.
func Contains(t testing.TB, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			fail(t, got, "text that contains", text)
		}
	}
}

// NotContains fails the test if got contains one of the texts.
func NotContains(t testing.TB, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(got, text) {
			fail(t, got, "text that does not contain", text)
		}
	}
}

// HasPrefix fails the test unless got starts with prefix.
func HasPrefix(t testing.TB, got, prefix string) {
	t.Helper()
	if !strings.HasPrefix(got, prefix) {
		fail(t, got, "text that starts with", prefix)
	}
}

// HasSuffix fails the test unless got ends with suffix.
func HasSuffix(t testing.TB, got, suffix string) {
	t.Helper()
	if !strings.HasSuffix(got, suffix) {
		fail(t, got, "text that ends with", suffix)
	}
}

// Matches fails the test unless pattern matches got.
func Matches(t testing.TB, got string, pattern *regexp.Regexp) {
	t.Helper()
	if !pattern.MatchString(got) {
		fail(t, got, "text that matches", pattern.String())
	}
}

// Includes fails the test unless element is in the slice got.
func Includes[S ~[]E, E comparable](t testing.TB, got S, element E) {
	t.Helper()
	if !slices.Contains(got, element) {
		fail(t, got, "a slice that includes", element)
	}
}

// ErrorIs fails the test unless errors.Is(got, target).
func ErrorIs(t testing.TB, got, target error) {
	t.Helper()
	if !errors.Is(got, target) {
		fail(t, got, "an error that is", target)
	}
}

// ErrorAs fails the test unless errors.As(got, target), which sets *target.
func ErrorAs[E error](t testing.TB, got error, target *E) {
	t.Helper()
	if !errors.As(got, target) {
		fail(t, got, "an error of the type", reflect.TypeFor[E]())
	}
}

// Less fails the test unless got < limit.
func Less[T cmp.Ordered](t testing.TB, got, limit T) {
	t.Helper()
	if !(got < limit) {
		fail(t, got, "less than", limit)
	}
}

// AtMost fails the test unless got <= limit.
func AtMost[T cmp.Ordered](t testing.TB, got, limit T) {
	t.Helper()
	if !(got <= limit) {
		fail(t, got, "at most", limit)
	}
}

// Greater fails the test unless got > limit.
func Greater[T cmp.Ordered](t testing.TB, got, limit T) {
	t.Helper()
	if !(got > limit) {
		fail(t, got, "greater than", limit)
	}
}

// AtLeast fails the test unless got >= limit.
func AtLeast[T cmp.Ordered](t testing.TB, got, limit T) {
	t.Helper()
	if !(got >= limit) {
		fail(t, got, "at least", limit)
	}
}
