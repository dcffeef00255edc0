package require_test

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// A recorder is a test that keeps the message it failed with.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run returns the message with which an assertion fails, or "" if it holds.
func run(assertion func(t testing.TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		assertion(r)
	}()
	<-done
	return r.message
}

var errNotFound = fmt.Errorf("open key.pem: %w", fs.ErrNotExist)

func TestFailedAssertionsPrintGotAndWant(t *testing.T) {
	long := "begin" + strings.Repeat(".", 5000) + "end"
	var path *fs.PathError
	for _, tt := range []struct {
		assertion func(t testing.TB)
		want      string
	}{
		{func(t testing.TB) { require.Contains(t, "abc", "b", "x") }, "got `abc`\nwant text that contains `x`"},
		{func(t testing.TB) { require.NotContains(t, "abc", "x", "b") }, "got `abc`\nwant text that does not contain `b`"},
		{func(t testing.TB) { require.HasPrefix(t, "abc", "b") }, "got `abc`\nwant text that starts with `b`"},
		{func(t testing.TB) { require.HasSuffix(t, "abc", "b") }, "got `abc`\nwant text that ends with `b`"},
		{func(t testing.TB) { require.Matches(t, "abc", regexp.MustCompile(`^\d`)) }, "got `abc`\nwant text that matches `^\\d`"},
		{func(t testing.TB) { require.Includes(t, []string{"a", "b c"}, "c") }, "got [\"a\" \"b c\"]\nwant a slice that includes `c`"},
		{func(t testing.TB) { require.ErrorIs(t, nil, fs.ErrExist) }, "got nil\nwant an error that is *errors.errorString: file already exists"},
		{func(t testing.TB) { require.ErrorIs(t, errNotFound, nil) }, "got *fmt.wrapError: open key.pem: file does not exist\nwant an error that is nil"},
		{func(t testing.TB) { require.ErrorAs(t, errNotFound, &path) }, "got *fmt.wrapError: open key.pem: file does not exist\nwant an error of the type *fs.PathError"},
		{func(t testing.TB) { require.Less(t, 2*time.Second, 2*time.Second) }, "got 2s\nwant less than 2s"},
		{func(t testing.TB) { require.AtMost(t, 3, 2) }, "got 3\nwant at most 2"},
		{func(t testing.TB) { require.Greater(t, 2, 2) }, "got 2\nwant greater than 2"},
		{func(t testing.TB) { require.AtLeast(t, "a", "b") }, "got `a`\nwant at least `b`"},
		{func(t testing.TB) { require.Contains(t, "<p>\n\t\"a\"", "x") }, "got \n<p>\n\t\"a\"\nwant text that contains `x`"},
		{func(t testing.TB) { require.Contains(t, "\x1b[2J\r\n", "x") }, "got \"\\x1b[2J\\r\\n\"\nwant text that contains `x`"},
		{func(t testing.TB) { require.Contains(t, long, "x") }, "got \n" + long[:1000] + "\n… 3008 characters …\n" + long[4008:] + "\nwant text that contains `x`"},
	} {
		is := is.New(t)
		line, message, _ := strings.Cut(run(tt.assertion), "\n")
		is.Equal(message, tt.want)
		is.True(strings.HasPrefix(line, "{func(t testing.TB) { require.")) // the source line
	}
}

func TestAssertionsThatHoldPrintNothing(t *testing.T) {
	is := is.New(t)
	var path *fs.PathError
	is.Equal(run(func(t testing.TB) {
		require.Contains(t, "abc", "a", "b")
		require.NotContains(t, "abc", "x", "y")
		require.HasPrefix(t, "abc", "ab")
		require.HasSuffix(t, "abc", "bc")
		require.Matches(t, "abc", regexp.MustCompile("^a.c$"))
		require.Includes(t, []int{1, 2}, 2)
		require.ErrorIs(t, errNotFound, fs.ErrNotExist)
		require.ErrorAs(t, fmt.Errorf("read: %w", &fs.PathError{Err: errors.New("bad")}), &path)
		require.Less(t, 1, 2)
		require.AtMost(t, 2, 2)
		require.Greater(t, 2, 1)
		require.AtLeast(t, 2, 2)
	}), "")
	is.True(path != nil)
}
