package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compile builds a program in C with the library, and returns it with the directory of the
// library.
func compile(t *testing.T, source string, flags ...string) (program, out string) {
	t.Helper()
	out, err := library()
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "program")
	args := append(strings.Fields("cc -Wall -Wextra -Werror -std=gnu11 -pthread -I. -o "+program+" testdata/"+source), flags...)
	if err := command(out, append(args, strings.Fields("-L{out} -llicensekit -ldl")...)...).Run(); err != nil {
		t.Fatal(err)
	}
	return program, out
}

// TestMisuse: wrong arguments, closed handles, threads, fork, signals, and two libraries.
func TestMisuse(t *testing.T) {
	s := newScene(t, nil)
	program, out := compile(t, "misuse.c")
	copy := filepath.Join(t.TempDir(), "other.so")
	if err := duplicate(filepath.Join(out, "liblicensekit.so"), copy); err != nil {
		t.Fatal(err)
	}
	got, err := command(out, program, s.options(nil), copy).Output()
	if string(got) != "ok\n" || err != nil {
		t.Errorf("%v\n%s", err, got)
	}
}

func duplicate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := os.Create(to)
	if err == nil {
		_, err = io.Copy(file, in)
		file.Close()
	}
	return err
}

// TestExports: a program sees the functions of the header, and no other of its namespace.
func TestExports(t *testing.T) {
	out, err := library()
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile("licensekit.h")
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := exec.Command("nm", "-D", "--defined-only", filepath.Join(out, "liblicensekit.so")).Output()
	if err != nil {
		t.Skip("nm is missing")
	}
	found := 0
	for line := range strings.Lines(string(symbols)) {
		fields := strings.Fields(line)
		if name := fields[len(fields)-1]; strings.HasPrefix(name, "lk_") {
			found++
			if !strings.Contains(string(header), name+"(") {
				t.Errorf("%s is not in the header", name)
			}
		}
	}
	if declared := strings.Count(string(header), "\nLK_API "); found != declared {
		t.Errorf("%d functions are exported, and %d declared", found, declared)
	}
}
