package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestBindingsAreWhole: each binding, also that in Swift, which nothing compiles here, uses each
// function of the header, and none that is not there.
func TestBindingsAreWhole(t *testing.T) {
	is := is.New(t)
	header, err := os.ReadFile("licensekit.h")
	is.NoErr(err)
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^LK_API .*\blk_(\w+)\(`).FindAllStringSubmatch(string(header), -1) {
		declared[m[1]] = true
	}
	is.Equal(len(declared), 25)
	paths, err := filepath.Glob("bindings/*")
	is.NoErr(err)
	found := 0
	for _, path := range append(paths, "bindings/swift/LicenseKit.swift") {
		code, err := os.ReadFile(path)
		if err != nil {
			continue // a folder
		}
		found++
		for name := range declared { // tables of Python and Ruby have no prefix
			if !regexp.MustCompile(`\blk_` + name + `\b|\b` + name + `: \[|"` + name + `": \(`).Match(code) {
				t.Errorf("%s has no %s", path, name)
			}
		}
		for _, m := range regexp.MustCompile(`\blk_(\w+)`).FindAllStringSubmatch(string(code), -1) {
			if name := m[1]; !declared[name] && name != "license" && name != "reason" {
				t.Errorf("%s: there is no %s", path, m[0])
			}
		}
	}
	is.Equal(found, 8)
}

// TestSamplesAreShort: a sample has at most 80 lines.
func TestSamplesAreShort(t *testing.T) {
	paths, err := filepath.Glob("samples/*")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no samples", err)
	}
	for _, path := range paths {
		code, err := os.ReadFile(path)
		if n := strings.Count(string(code), "\n"); err != nil || n > 80 {
			t.Errorf("%s: %d lines, %v", path, n, err)
		}
	}
}
