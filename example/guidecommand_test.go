package main

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// commandLine is an indented line of a guide that runs go.
var commandLine = regexp.MustCompile(`(?m)^    (go .*)$`)

// guideCommands are the commands of the guides, and whether a test runs them.
// Add a command here together with its test.
var guideCommands = map[string]string{
	"go test -run '^$' -bench API ./example":     "TestBenchmarkOfTheGuide",
	"go test -run '^$' -bench . ./store/sqlite":  "TestBenchmarkOfTheGuide",
	"go mod init example.com/shop":               "TestREADMEProgram builds the program in this module",
	"go get github.com/seed-d8a106b4/licensekit": "TestREADMEProgram builds the program in this module",
	"go -C example/e2e run ./onpostgres":         "example/e2e/onpostgres",
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
	out, err := exec.CommandContext(t.Context(), self, "-test.run=^$", "-test.bench=API", "-test.benchtime=1x", "-test.short").CombinedOutput()
	is.NoErr(err)
	for _, operation := range []string{"Create", "Get", "List", "Update", "Delete", "Token"} {
		if !strings.Contains(string(out), "BenchmarkAPI/"+operation) {
			t.Errorf("the benchmark does not measure %s:\n%s", operation, out)
		}
	}

	source, err := os.ReadFile("../store/sqlite/bench_test.go")
	is.NoErr(err)
	is.True(strings.Contains(string(source), "\nfunc Benchmark"))
}
