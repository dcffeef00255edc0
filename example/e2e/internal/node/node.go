// Package node runs programs of Node.js and others in tests.
package node

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limit is the longest time that one command may take.
const limit = 3 * time.Minute

// Install copies a folder of testdata to a temporary folder, installs what its
// package.json requires, and returns the temporary folder. It skips the test if
// Node.js or npm is missing.
func Install(t *testing.T, folder string) (dir string) {
	t.Helper()
	for _, command := range []string{"node", "npm"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("Node.js and npm are needed: %v", err)
		}
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	Run(t, Command{Dir: dir}, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	return dir
}

// A Command is what a program runs with.
type Command struct {
	Dir   string
	Env   []string // "NAME=value", beside the environment of the test
	Input []byte   // standard input
}

// Run runs a program and returns what it prints. It fails the test with the
// program's error output if the program fails.
func Run(t *testing.T, c Command, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, append(os.Environ(), c.Env...), bytes.NewReader(c.Input)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, &complaint)
	}
	return out
}

// Python returns the first python3 that has PyJWT and cryptography. It skips the test
// if none has.
func Python(t *testing.T) (command string) {
	t.Helper()
	for _, command := range []string{"python3", "/usr/bin/python3"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if exec.CommandContext(ctx, command, "-c", "import jwt, cryptography").Run() == nil {
			return command
		}
	}
	t.Skip("no python3 has PyJWT and cryptography; on Debian, install python3-jwt and python3-cryptography")
	return ""
}
