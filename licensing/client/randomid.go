package client

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// idFile is the name of the file that RandomID keeps.
const idFile = "installation-id"

// RandomID returns a random ID of this installation, of 26 letters and digits,
// for ProgramOptions.Fingerprint. It is created at the first call and kept in
// a file in dir, which must exist, so that later calls return the same ID. Any
// number of processes may call it concurrently. If the file has other contents,
// RandomID returns an error and keeps the file: a new ID would take another seat.
//
// The ID identifies the directory, not the machine: a copy of the directory is
// the same installation. In a container, keep dir on a volume, or use an ID of
// the deployment; otherwise each restart takes a seat.
func RandomID(dir string) (string, error) {
	path := filepath.Join(dir, idFile)
	id, err := readID(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	// A complete file appears under the final name, and never replaces
	// another.
	temp, err := os.CreateTemp(dir, idFile+"-*")
	if err != nil {
		return "", fmt.Errorf("client: random id: %w", err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(rand.Text() + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Link(temp.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = place(temp.Name(), path) // a file system without links
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("client: random id: %w", err)
	}
	return readID(path)
}

// place moves a file to a path, unless that exists.
func place(temp, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return os.Rename(temp, path)
}

func readID(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("client: random id: %w", err)
	}
	id := strings.TrimSpace(string(text))
	if len(id) != 26 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", fmt.Errorf("client: random id: %s does not contain an ID; restore it, or delete it to get a new one", path)
	}
	return id, nil
}
