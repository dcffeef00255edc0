package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// TestMisuse: wrong arguments, panics, threads, calls while closing, fork, signals, many opens,
// and two libraries.
func TestMisuse(t *testing.T) {
	program, out := compile(t, "misuse.c")
	copy := filepath.Join(t.TempDir(), "other.so")
	if err := duplicate(filepath.Join(out, "liblicensekit.so"), copy); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"arguments", "panics", "threads", "closes", "forks", "handlers", "grows", "copies"} {
		t.Run(part, func(t *testing.T) {
			s := newScene(t, nil)
			options := s.options(nil)
			switch part {
			case "panics":
				options = s.options(map[string]any{"panic": true})
			case "closes":
				s.mode.Store("stalls")
			}
			cmd := command(out, program, part, options, copy)
			cmd.Stderr = nil // stacks of panics
			got, err := cmd.Output()
			if !strings.HasSuffix(string(got), "ok\n") || err != nil {
				t.Errorf("%v\n%s", err, got)
			}
			t.Logf("%s", got)
		})
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

// TestExports: a program sees the functions of the header, and no other of its namespace, in
// the library and in the archive.
func TestExports(t *testing.T) {
	out, err := library()
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile("licensekit.h")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^LK_API .*?\b(lk_\w+)\(`).FindAllStringSubmatch(string(header), -1) {
		want = append(want, m[1])
	}
	slices.Sort(want)
	if len(want) != 25 {
		t.Errorf("the header has %d functions", len(want))
	}
	for _, args := range [][]string{{"-D", "liblicensekit.so"}, {"-g", "liblicensekit.a"}} {
		symbols, err := exec.Command("nm", args[0], "--defined-only", filepath.Join(out, args[1])).Output()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(`(?m) T (lk_\w+)$`).FindAllStringSubmatch(string(symbols), -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s exports %v, and the header has %v", args[1], got, want)
		}
	}
}

// TestBuild: what ./build makes is all that a program needs, and names no folder of who built it.
func TestBuild(t *testing.T) {
	out, err := library()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	roots, err := exec.Command("go", "env", "GOROOT", "GOPATH", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"liblicensekit.so", "liblicensekit.a", "licensekit.h", "LICENSE.licensekit", "LICENSE.go"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Error(err)
		}
		for _, folder := range append(strings.Fields(string(roots)), filepath.Join(here, "../.."), out) {
			if bytes.Contains(text, []byte(folder)) {
				t.Errorf("%s names %s", name, folder)
			}
		}
	}
	header, _ := os.ReadFile("licensekit.h")
	if built, _ := os.ReadFile(filepath.Join(out, "licensekit.h")); !bytes.Equal(header, built) {
		t.Error("the header is not that of the source")
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := run(command(out, "cc", "-Wall", "-Werror", "-I{out}", "-o", program, "testdata/driver.c", "{out}/liblicensekit.a", "-lpthread")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader("fixed\t{\"valid\":true,\"entitlements\":{\"export\":true}}\nhas\texport\n")
	if got, err := cmd.Output(); err != nil || string(got) != "ok\ntrue\n" {
		t.Errorf("the program with the archive: %q %v", got, err)
	}
}
