package link

import (
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestCodes(t *testing.T) {
	is := is.New(t)
	seen := map[rune]int{}
	for range 2000 {
		code := newCode()
		parsed, ok := parseCode(strings.ToLower(shownCode(code)))
		is.True(ok)
		is.Equal(parsed, code)
		for _, letter := range code {
			seen[letter]++
		}
	}
	is.Equal(len(seen), len(codeLetters))
	for letter, n := range seen { // 800 on average
		if n < 600 || n > 1000 {
			t.Errorf("%c: %d of 16000", letter, n)
		}
	}
}

// TestTwoProgramsWithOneCode: a program that would get the code of another one gets the next
// code, until that of the other has ended.
func TestTwoProgramsWithOneCode(t *testing.T) {
	is := is.New(t)
	made, codes := newCode, []string{"BBBBBBBB", "BBBBBBBB", "CCCCCCCC", "BBBBBBBB"}
	t.Cleanup(func() { newCode = made })
	newCode = func() string {
		code := codes[0]
		codes = codes[1:]
		return code
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := call.New(memory.New(), call.Options{Now: func() time.Time { return now }})
	s := Of(&c)
	start := func(name string) api.Link {
		l, err := s.Start(t.Context(), api.StartLinkParams{ProductID: "atlas", Fingerprint: name, Name: name}, "https://acme.example")
		is.NoErr(err)
		return l
	}
	named := func(code string) string {
		r, err := s.Request(t.Context(), code)
		is.NoErr(err)
		return r.Name
	}
	is.Equal(start("one").Code, "BBBB-BBBB")
	is.Equal(start("two").Code, "CCCC-CCCC")
	is.Equal(named("BBBB-BBBB"), "one")
	is.Equal(named("CCCC-CCCC"), "two")
	now = now.Add(lifetime)
	is.Equal(start("three").Code, "BBBB-BBBB")
	is.Equal(named("BBBB-BBBB"), "three")
}
