package client

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// A State is a directory in which a program keeps its license files. Create
// one with [Dir].
//
// Any number of processes may share the directory without locks, because no
// file in it is ever changed: a license file is named by its jti, with the
// extension .license, a revocation list by its sequence, with .revocations, and
// empty files keep in their names the latest time that is known for certain
// (floor-) and the request that waits for a file (request-). Files that do not
// verify are skipped. A user may also drop files with these extensions there.
// A user who can write to the directory can remove files and the floor, but not
// forge a license.
type State struct{ dir string }

// Dir returns the state in a directory, which is created when it is needed. It
// may be that of [RandomID].
func Dir(path string) *State { return &State{path} }

const (
	fileExt       = ".license"
	listExt       = ".revocations"
	floorPrefix   = "floor-"
	requestPrefix = "request-" // before a nonce
	nonceLength   = 22         // of 16 bytes in base64url
	tempPrefix    = ".tmp-"
)

// A storedText is the text of a license file or of a revocation list, and
// where it comes from.
type storedText struct{ name, text string }

// read returns the texts and the floor in the directory. A directory that does
// not exist is empty. A file that another process has removed in the meantime
// is no error.
func (s *State) read() (texts []storedText, floor time.Time, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}, err
	}
	var failed []error
	for _, e := range entries {
		name := e.Name()
		if n, ok := strings.CutPrefix(name, floorPrefix); ok {
			if seconds, err := strconv.ParseInt(n, 10, 64); err == nil {
				floor = later(floor, time.Unix(seconds, 0))
			}
			continue
		}
		if ext := filepath.Ext(name); strings.HasPrefix(name, ".") || ext != fileExt && ext != listExt {
			continue
		}
		path := filepath.Join(s.dir, name)
		text, err := readText(path)
		if err == nil {
			texts = append(texts, storedText{path, text})
		} else if !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return texts, floor, errors.Join(failed...)
}

// readText reads a file that may be a license file or a revocation list.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > licensefile.MaxListSize || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a license file", path)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// write makes a file with these contents appear, complete or not at all.
func (s *State) write(name, text string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(s.dir, name)
	if _, err := os.Lstat(path); err == nil {
		return nil // files never change
	}
	temp, err := os.CreateTemp(s.dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(text)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// writeFloor raises the floor.
func (s *State) writeFloor(t time.Time) error {
	name := floorPrefix + strconv.FormatInt(t.Unix(), 10)
	if err := s.write(name, ""); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		n, ok := strings.CutPrefix(e.Name(), floorPrefix)
		if seconds, err := strconv.ParseInt(n, 10, 64); ok && err == nil && seconds < t.Unix() {
			_ = os.Remove(filepath.Join(s.dir, e.Name())) // a lower floor is harmless
		}
	}
	return err
}

// pending returns the nonce of the request that waits for a file; empty: none.
func (s *State) pending() (nonce string, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		if nonce, ok := strings.CutPrefix(e.Name(), requestPrefix); ok && len(nonce) == nonceLength {
			return nonce, nil
		}
	}
	return "", nil
}

// answered forgets a request.
func (s *State) answered(nonce string) error {
	return os.Remove(filepath.Join(s.dir, requestPrefix+nonce))
}

// fileName returns the name of a license file in the directory.
func fileName(jti string) string {
	safe := len(jti) <= 64 && jti != ""
	for _, r := range jti {
		safe = safe && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}
	if !safe || strings.HasPrefix(jti, floorPrefix) {
		digest := sha256.Sum256([]byte(jti))
		jti = hex.EncodeToString(digest[:])
	}
	return jti + fileExt
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ReadFiles returns a function for ProgramOptions.Files that reads license
// files and revocation lists at these paths, such as read-only mounts. Of a
// directory it reads the files with the extension .license or .revocations.
// What does not exist is skipped.
func ReadFiles(paths ...string) func() ([]string, error) {
	return func() (texts []string, err error) {
		var failed []error
		for _, path := range paths {
			info, err := os.Stat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				failed = append(failed, err)
			case info.IsDir():
				found, _, err := Dir(path).read()
				failed = append(failed, err)
				for _, f := range found {
					texts = append(texts, f.text)
				}
			default:
				text, err := readText(path)
				failed = append(failed, err)
				texts = append(texts, text)
			}
		}
		return texts, errors.Join(failed...)
	}
}
