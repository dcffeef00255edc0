package web

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/seed-d8a106b4/licensekit/internal/testing/docs"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

var update = flag.Bool("update", false, "rewrite docs/errors.md")

// twoStatuses are the codes that stand for more than one status, as RFC 6749 says.
var twoStatuses = []api.Code{api.CodeInvalidRequest, api.CodeInvalidClient}

// TestCodes compares the tables in docs/errors.md with the constants of package api, with
// those of problems, and with the answers of this package. To rewrite the tables, run
//
//	go test ./licensing/internal/http/web -run Codes -update
func TestCodes(t *testing.T) {
	codes := "| code | status | what it means, and what to do |\n|---|---|---|\n"
	for _, c := range docs.Constants(t, "../../../api/code.go", "Code") {
		status, text, found := strings.Cut(c.Comment, ": ")
		if !found {
			t.Errorf("the comment of %s does not begin with its status", c.Name)
			continue
		}
		if strings.Contains(status, ",") != slices.Contains(twoStatuses, api.Code(c.Value)) {
			t.Errorf("%s has the status %s", c.Name, status)
		}
		for _, a := range answers {
			if a.code != api.Code(c.Value) {
				continue
			}
			if unicode.IsLower(rune(text[0])) { // a sentence says it better
				text = a.detail
			}
			if status != strconv.Itoa(a.status) {
				t.Errorf("the comment of %s has the status %s, and its answer %d", c.Name, status, a.status)
			}
		}
		codes += fmt.Sprintf("| `%s` | %s | %s |\n", c.Value, status, text)
	}
	verdicts := "| code | what it means |\n|---|---|\n"
	for _, c := range docs.Constants(t, "../../../api/verdict.go", "Verdict") {
		verdicts += fmt.Sprintf("| `%s` | %s |\n", c.Value, c.Comment)
	}
	problems := "| code | what it means | what to do |\n|---|---|---|\n"
	for _, c := range docs.Constants(t, "../../../healthcode.go", "Health") {
		meaning, fix, found := strings.Cut(strings.ReplaceAll(c.Doc, "\n\n", "|"), "|")
		if !found {
			t.Errorf("the comment of %s does not say what to do", c.Name)
		}
		problems += strings.ReplaceAll(fmt.Sprintf("| `%s` | %s | %s |", c.Value, meaning, fix), "\n", " ") + "\n"
	}
	docs.Compare(t, "../../../docs/errors.md", *update, codes, verdicts, problems)
}
