package storetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestRulesAreThoseOfTheContract compares rules with the package comment of
// store.
func TestRulesAreThoseOfTheContract(t *testing.T) {
	text, err := os.ReadFile("../store/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "# The rules")
	list, _, _ = strings.Cut(list, "# Writing a backend")
	marks := regexp.MustCompile(`(?m)^ (\d+)\. `).FindAllStringSubmatchIndex(list, -1)
	if len(marks) != len(rules)-1 {
		t.Fatalf("the contract has %d rules, this package %d", len(marks), len(rules)-1)
	}
	for i, m := range marks {
		end := len(list)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		if number := list[m[2]:m[3]]; number != fmt.Sprint(i+1) {
			t.Errorf("rule %d of the contract has number %s", i+1, number)
		}
		if want := strings.Join(strings.Fields(list[m[1]:end]), " "); rules[i+1] != want {
			t.Errorf("rule %d\n\there %s\n\tthere %s", i+1, rules[i+1], want)
		}
	}
}

// TestEveryRuleHasCases also checks that no rule depends on itself, directly or
// indirectly.
func TestEveryRuleHasCases(t *testing.T) {
	has := map[int]bool{}
	names := map[string]bool{}
	for _, c := range slices.Concat(cases(), durableCases()) {
		has[c.rule] = true
		if name := c.area + "/" + c.name; names[name] {
			t.Errorf("two cases are called %s", name)
		} else {
			names[name] = true
		}
	}
	var rests func(rule int, on []int) bool
	rests = func(rule int, on []int) bool {
		for _, r := range on {
			if r == rule || rests(rule, foundations[r]) {
				return true
			}
		}
		return false
	}
	for rule := 1; rule < len(rules); rule++ {
		if !has[rule] {
			t.Errorf("rule %d has no case", rule)
		}
		if rests(rule, foundations[rule]) {
			t.Errorf("rule %d rests on itself", rule)
		}
		for _, r := range foundations[rule] {
			for _, deeper := range foundations[r] {
				if i, j := slices.Index(foundations[rule], deeper), slices.Index(foundations[rule], r); i < 0 || i > j {
					t.Errorf("rule %d rests on rule %d, and so on rule %d, which must stand before it", rule, r, deeper)
				}
			}
		}
	}
}

// TestPlainRecordsHaveEveryFieldSet fails if a new field of a record is missing
// from the cases.
func TestPlainRecordsHaveEveryFieldSet(t *testing.T) {
	l, a, ev, en := license(1), activation("lic", 1), event(1), entry("kind", 1)
	for _, row := range []any{&l, &a, &ev, &en} {
		for f, v := range fields(row, []string{"Seq"}) {
			if v.IsZero() {
				t.Errorf("%s of a plain %T is not set", f.Name, row)
			}
		}
	}
}

func TestAwkwardStringsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range slices.Concat(awkward, strangers) {
		if seen[s] {
			t.Errorf("%q is there twice", s)
		}
		seen[s] = true
	}
}

// TestHungCaseEnds runs a case that does not end.
func TestHungCaseEnds(t *testing.T) {
	s := newSuite(nil)
	s.limits.whole = 20 * time.Millisecond
	failures := s.try(testCase{"Area", "Case", 5, func(b *bench) { <-b.ctx.Done() }}, func(*bench) {})
	if len(failures) != 1 || failures[0].rule != 5 {
		t.Errorf("got %v; want one failure that cites rule 5", failures)
	}
}

// TestHungCaseBreaksNoFoundation has a case fail whose rule depends on rule 2, the
// cases of which do not end in time.
func TestHungCaseBreaksNoFoundation(t *testing.T) {
	s := newSuite(nil)
	s.limits.whole = 20 * time.Millisecond
	hang := func(b *bench) {
		if b.rule == 2 {
			b.Store = memory.New()
			<-b.ctx.Done()
		}
	}
	failures, causes := s.verdict(testCase{"Area", "Case", 4, func(b *bench) { b.equal(1, 2, "a number") }}, hang)
	if len(failures) != 1 || len(causes) != 0 {
		t.Errorf("got %v, skipped because of %d; want one failure", failures, causes)
	}
}

// skipping makes a process run TestSkippedCasesAloneFail as a suite whose only case
// is skipped.
const skipping = "STORETEST_SKIPPING"

// TestSkippedCasesAloneFail runs a case that is skipped because rule 2 is broken,
// and no case of rule 2.
func TestSkippedCasesAloneFail(t *testing.T) {
	if os.Getenv(skipping) != "" {
		s := newSuite([]testCase{{"Area", "Case", 4, func(b *bench) { b.equal(1, 2, "a number") }}})
		s.broken[2] = true
		s.run(t, func(*testing.T) func(*bench) { return func(*bench) {} })
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), skipping+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "skipped because of rules [2]") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFailureSaysEverything runs a case that fails.
func TestFailureSaysEverything(t *testing.T) {
	failures := newSuite(nil).try(testCase{"Area", "Case", 19, func(b *bench) {
		b.equal(2, 0, "activations of %s", "lic_1")
	}}, func(*bench) {})
	if len(failures) != 1 {
		t.Fatalf("got %d failures, want 1", len(failures))
	}
	got := regexp.MustCompile(`:\d+:`).ReplaceAllString(failures[0].String(), ":0:")
	want := "suite_test.go:0: activations of lic_1\n\tgot  2\n\twant 0\n\tbroken: rule 19. " + rules[19]
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFailuresAreUTF8 fails with strings that are not, and with one that is cut.
func TestFailuresAreUTF8(t *testing.T) {
	failures := newSuite(nil).try(testCase{"Area", "Case", 24, func(b *bench) {
		b.fail("a\xffb", store.LicenseQuery{CustomerID: "\xed\xa0\x80", ProductID: strings.Repeat("許", 200)}, "by %s", "\xff")
	}}, func(*bench) {})
	if len(failures) != 1 || !utf8.ValidString(failures[0].String()) {
		t.Errorf("got %q", failures)
	}
}

// TestHangingCloseDoesNotHideFailures uses a store whose cleanup does not end.
func TestHangingCloseDoesNotHideFailures(t *testing.T) {
	r, out := io.Pipe()
	w := &watch{name: "TestStore/Licenses/Whole", after: time.Millisecond, out: out, report: []string{"a failure"}}
	w.closing()
	defer w.closed()
	said := make([]byte, 200)
	n, err := r.Read(said)
	if err != nil || !strings.Contains(string(said[:n]), "Licenses/Whole") || !strings.Contains(string(said[:n]), "a failure") {
		t.Errorf("got %q, %v", said[:n], err)
	}
}

// TestHangingCloseIsAFailure uses a store that RunDurable cannot close.
func TestHangingCloseIsAFailure(t *testing.T) {
	s := newSuite(nil)
	s.limits.answer = 20 * time.Millisecond
	failures := s.try(testCase{"Durable", "Case", 1, func(b *bench) { b.equal(1, 2, "a number") }}, onDirectory(t, t.Name(),
		func(*testing.T, string) store.Store { return hangs{memory.New()} }))
	if len(failures) != 2 || failures[0].what != "a number" || failures[1].what != "Close" {
		t.Errorf("got %v; want a number and Close", failures)
	}
}

type hangs struct{ store.Store }

func (hangs) Close() error { select {} }

// TestMissingRecordsAreNamed uses a store that does not find licenses by the
// customer they were moved to.
func TestMissingRecordsAreNamed(t *testing.T) {
	failures := newSuite(nil).try(testCase{"Licenses", "Whole", 9, licenses.whole}, func(b *bench) { b.Store = loses{memory.New()} })
	if len(failures) == 0 || failures[0].gotten != "not found by its new CustomerID" {
		t.Errorf("got %v; want one that is not found by its new CustomerID", failures)
	}
}

type loses struct{ store.Store }

func (s loses) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.CustomerID == license(3).CustomerID {
		return nil, ctx.Err()
	}
	return s.Store.Licenses(ctx, q)
}

// TestEveryShapeIsAsked compares questions with the table in store/indexes.go.
func TestEveryShapeIsAsked(t *testing.T) {
	page, err := os.ReadFile("../store/indexes.go")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, q := range questions {
		asked[q.shape] = true
	}
	rows := regexp.MustCompile(`(?m)^\t(\w.*\S) {2,}(?:license|activation|event|entry): `).FindAllStringSubmatch(string(page), -1)
	if len(rows) < 30 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		for shape := range strings.SplitSeq(strings.ReplaceAll(row[1], "Entry, ", "Entry\n"), "\n") {
			if !asked[shape] {
				t.Errorf("no question has the shape %q", shape)
			}
		}
	}
	for method := range reflect.TypeFor[store.Reader]().Methods() {
		if !slices.ContainsFunc(questions, func(q question) bool { return strings.HasPrefix(q.shape+":", method.Name+":") }) {
			t.Errorf("no question calls %s", method.Name)
		}
	}
}
