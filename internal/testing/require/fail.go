package require

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode"
)

// fail prints the source line of the assertion, the value that the test got and
// what it wanted, and ends the test.
func fail(t testing.TB, got any, relation string, want any) {
	t.Helper()
	t.Fatalf("%s\ngot %s\nwant %s %s", sourceLine(), show(got), relation, show(want))
}

// sourceLine returns the line that calls the assertion, with its comment.
func sourceLine() string {
	_, file, line, _ := runtime.Caller(3) // after sourceLine, fail and the assertion
	source, err := os.ReadFile(file)
	lines := strings.Split(string(source), "\n")
	if err != nil || line > len(lines) {
		return "the assertion does not hold" // built with -trimpath
	}
	return strings.TrimSpace(lines[line-1])
}

// show formats a value. It quotes a text, unless the text has several printable
// lines: these follow unchanged on lines of their own.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case error:
		return fmt.Sprintf("%T: %s", v, shorten(v.Error()))
	case string:
		v = shorten(v)
		if strings.Contains(v, "\n") && strings.IndexFunc(v, unreadable) < 0 {
			return "\n" + v
		}
		return fmt.Sprintf("%#q", v)
	case []string:
		return shorten(fmt.Sprintf("%q", v))
	}
	return shorten(fmt.Sprintf("%+v", v))
}

func unreadable(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }

// maxShown is the number of characters above which a text is cut in the middle.
const maxShown = 2000

func shorten(s string) string {
	r := []rune(s)
	if len(r) <= maxShown {
		return s
	}
	left, right := r[:maxShown/2], r[len(r)-maxShown/2:]
	return fmt.Sprintf("%s\n… %d characters …\n%s", string(left), len(r)-maxShown, string(right))
}
