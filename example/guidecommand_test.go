package main

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/example/internal/admin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// commandLine is an indented line of a guide that runs a command, and updateCommand is
// a command that rewrites what a test compares.
var (
	commandLine   = regexp.MustCompile(`(?m)^    ((?:go|licensekit) .*)$`)
	updateCommand = regexp.MustCompile("`go test \\./(\\S+) -run (\\S+) -update`")
)

// guideCommands are the commands of the guides, and whether a test runs them.
// Add a command here together with its test.
var guideCommands = map[string]string{
	"go run ./example": "TestSessions",
	"go test ./...":    "this test is a part of it",
	"go test ./example ./store/sqlite ./storetest -repeats":                                    ".ci/run",
	"go test ./storetest/internal/mutants -mutants":                                            ".ci/run",
	"licensekit backup --store licenses.db copy.db":                                            "TestAdminCommandsOfTheGuides",
	"licensekit check --store copy.db":                                                         "TestAdminCommandsOfTheGuides",
	"licensekit restore --store restored.db copy.db":                                           "TestAdminCommandsOfTheGuides",
	"licensekit export --store licenses.db archive.ndjson":                                     "TestAdminCommandsOfTheGuides",
	"licensekit create-operator --store licenses.db ada@example.com admin":                     "TestAdminCommandsOfTheGuides",
	"licensekit reset-password --store licenses.db grace@example.com":                          "TestAdminCommandsOfTheGuides",
	"licensekit remove-second-factor --store licenses.db grace@example.com":                    "TestAdminCommandsOfTheGuides",
	"licensekit create-client --store licenses.db shop license:read,license:write":             "TestAdminCommandsOfTheGuides",
	"licensekit export-customer --store licenses.db cus_1 cus_1.json":                          "TestAdminCommandsOfTheGuides",
	"licensekit checkpoint --store licenses.db":                                                "TestAdminCommandsOfTheGuides",
	"licensekit erase-customer --store licenses.db cus_1":                                      "TestAdminCommandsOfTheGuides",
	"licensekit create-keys --store licenses.db":                                               "TestAdminCommandsOfTheGuides",
	"licensekit import --store postgres://licensekit@db.example.com/licensekit archive.ndjson": "example/e2e/licensekit",
	"licensekit serve --store postgres://licensekit@db.example.com/licensekit":                 "example/e2e/licensekit",
	"licensekit serve --store licenses.db":                                                     "example/licensekit",
	"licensekit setup-code --store licenses.db":                                                "example/licensekit",
	"licensekit serve --store test.db --addr 127.0.0.1:8182":                                   "TestTestMode in example/licensekit",
	"licensekit office --license-key-file license.key --seats 25":                              "example/licensekit",
	"licensekit setup-code --store office.db":                                                  "example/licensekit",
	"licensekit office --store office.db":                                                      "example/licensekit",
	"licensekit serve --config licensekit.json":                                                "example/e2e/licensekit",
	"licensekit setup-code --store /var/lib/licensekit/licenses.db":                            "example/licensekit",
	"licensekit help":                                                             "example/licensekit",
	"go -C example/licensekit install .":                                          ".ci/run",
	"go test -run '^$' -bench API ./example":                                      "TestBenchmarkOfTheGuide",
	"go test -run '^$' -bench Usage ./example":                                    "TestBenchmarkOfTheGuide",
	"go test -run '^$' -bench . ./store/sqlite":                                   "TestBenchmarkOfTheGuide",
	"go run ./example -db atlas.db -seed":                                         "TestSeedOnRequest",
	"go run ./example/program -keys keys.json -key AAAAA-AAAAA-AAAAA-AAAAA-AAAAA": "example/program",
}

// TestGuideCommands finds commands that no test runs, and tests of commands
// that no guide has.
func TestGuideCommands(t *testing.T) {
	found := make(map[string]bool)
	for name, text := range documents(t) {
		for _, m := range commandLine.FindAllStringSubmatch(text, -1) {
			command, _, _ := strings.Cut(m[1], " #")
			if guideCommands[command] == "" {
				t.Errorf("%s: no test runs the command %s", name, command)
			}
			found[command] = true
		}
	}
	is.New(t).Equal(slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(guideCommands)))
	require.Contains(t, documents(t)["README.md"], "\n    go run ./example\n    go test ./...\n")
}

// TestGuidesDoNotCountTheCode: a number of operations, lines or files is wrong after the
// next change.
func TestGuidesDoNotCountTheCode(t *testing.T) {
	for name, text := range documents(t) {
		if m := regexp.MustCompile(`(?i)\b\d+ (operations|endpoints|routes|commands|lines of|lines\]|files\.)`).FindString(text); m != "" {
			t.Errorf("%s: %q; name the thing without its number", name, m)
		}
	}
}

// TestAdminCommandsOfTheGuides runs the commands for operators in the order of
// the guides to stores, to privacy and to security.
func TestAdminCommandsOfTheGuides(t *testing.T) {
	is := is.New(t)
	docs := documents(t)
	t.Chdir(t.TempDir())
	st, err := sqlite.Open("licenses.db")
	is.NoErr(err)
	defer st.Close()
	_, err = licensing.NewHandler(st, licensing.Options{}).Operators().Create(t.Context(),
		operator.CreateParams{Email: "grace@example.com", Password: "the train was late on monday", Role: operator.RoleAdmin})
	is.NoErr(err)
	n := 0
	for _, name := range []string{"licensing/docs/stores.md", "licensing/docs/privacy.md", "licensing/docs/security.md"} {
		for _, m := range commandLine.FindAllStringSubmatch(docs[name], -1) {
			if guideCommands[m[1]] != "TestAdminCommandsOfTheGuides" {
				continue
			}
			n++
			if err := admin.Run(t.Context(), "licensekit", admin.OpenFile, strings.Fields(m[1])[1:], io.Discard, io.Discard); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			}
		}
	}
	is.Equal(n, 12)
}

// TestUpdateCommands looks for the tests of the commands that rewrite files.
func TestUpdateCommands(t *testing.T) {
	is := is.New(t)
	found := updateCommand.FindAllStringSubmatch(documents(t)["licensing/docs/contributing.md"], -1)
	is.Equal(len(found), 3)
	for _, m := range found {
		sources, err := filepath.Glob(filepath.Join("..", m[1], "*_test.go"))
		is.NoErr(err)
		exists := slices.ContainsFunc(sources, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(text), "\nfunc Test"+m[2]+"(")
		})
		is.True(exists) // for each command
	}
}

// TestBenchmarkOfTheGuide runs each benchmark once: the pattern finds it, and
// all operations that the guide names are in it.
func TestBenchmarkOfTheGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("running benchmarks takes a second")
	}
	is := is.New(t)
	self, err := os.Executable()
	is.NoErr(err)
	out, err := exec.CommandContext(t.Context(), self, "-test.run=^$", "-test.bench=^BenchmarkAPI$|^BenchmarkUsage$", "-test.benchtime=1x", "-test.short").CombinedOutput()
	is.NoErr(err)
	for _, name := range []string{"API/Create", "API/Get", "API/List", "API/Update", "API/Delete", "API/Token", "Usage/Create", "Usage/Report", "Usage/Validate"} {
		if !strings.Contains(string(out), "Benchmark"+name) {
			t.Errorf("the benchmarks do not measure %s:\n%s", name, out)
		}
	}

	source, err := os.ReadFile("../store/sqlite/bench_test.go")
	is.NoErr(err)
	require.Contains(t, string(source), "\nfunc Benchmark")
}
