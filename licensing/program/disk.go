package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// The files in Options.Dir. Each is replaced as a whole, so any number of
// processes may share the directory without locks: a process that reads an
// earlier file has what it would have had a moment before.
const (
	licenseName = "license.json"    // the license file, and the digest of its key
	listName    = "revocations.jwt" // the newest revocation list
	denialName  = "denied.json"     // the last denial, until a newer license file
	displayName = "display.json"    // what the service last said for display
	clockName   = "clock"           // the floor of the clock, in Unix seconds
	dueName     = "next-check"      // when the next check is due, in Unix seconds
	keyName     = "key"             // the license key from SetKey
	// Beside these, each process has a file with what it has counted: see usagePrefix.
	requestName = "request"         // the nonce of the request that waits for a file
	idName      = "installation-id" // the random fingerprint
	ownerName   = "owner.json"      // whose default directory it is
	tempPrefix  = ".tmp-"           // a file that is being written
	tempMost    = 10 * time.Minute  // after which such a file was left by a crash
)

// A disk is the directory of a License.
type disk struct{ dir string }

// read returns the text of a file; empty: there is none.
func (d disk) read(name string) (string, error) {
	path := filepath.Join(d.dir, name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 2*licensefile.MaxListSize {
		return "", fmt.Errorf("%s is not a file of this program", path)
	}
	var text []byte
	err = whileBusy(runtime.GOOS, func() error {
		text, err = os.ReadFile(path)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// write replaces a file: the complete text appears, or nothing changes. The times and the
// counts are written often, and may be lost with the power.
func (d disk) write(name, text string) error {
	temp, err := d.temp(text, name != clockName && name != dueName && !strings.HasPrefix(name, usagePrefix))
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	return rename(temp, filepath.Join(d.dir, name))
}

// create writes a file unless it exists.
func (d disk) create(name, text string) error {
	temp, err := d.temp(text, true)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	path := filepath.Join(d.dir, name)
	if err = os.Link(temp, path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if _, err := os.Lstat(path); err == nil { // a file system without links
		return nil
	}
	return rename(temp, path)
}

// temp writes text to a file under a name that nothing reads.
func (d disk) temp(text string, durable bool) (path string, err error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(d.dir, tempPrefix+"*")
	if err != nil {
		return "", err
	}
	if _, err = temp.WriteString(text + "\n"); err == nil && durable {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		os.Remove(temp.Name())
		return "", err
	}
	return temp.Name(), nil
}

// rename moves a file.
func rename(from, to string) error {
	return whileBusy(runtime.GOOS, func() error { return os.Rename(from, to) })
}

// whileBusy repeats what Windows refuses for a moment while another process uses a file.
func whileBusy(system string, do func() error) (err error) {
	for range 5 {
		if err = do(); !isBusy(system, err) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return err
}

// isBusy reports whether an error says that another process uses a file.
func isBusy(system string, err error) bool {
	const accessDenied, sharingViolation, lockViolation = 5, 32, 33 // of Windows
	code, ok := errors.AsType[syscall.Errno](err)
	return ok && system == "windows" && (code == accessDenied || code == sharingViolation || code == lockViolation)
}

// remove removes files, if they exist.
func (d disk) remove(names ...string) error {
	var failed []error
	for _, name := range names {
		err := whileBusy(runtime.GOOS, func() error { return os.Remove(filepath.Join(d.dir, name)) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// names returns the names of the files that begin with a prefix; none, if the directory
// cannot be read.
func (d disk) names(prefix string) (names []string) {
	entries, _ := os.ReadDir(d.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// sweep removes what a crash has left.
func (d disk) sweep() {
	for _, name := range d.names(tempPrefix) {
		if info, err := os.Stat(filepath.Join(d.dir, name)); err == nil && time.Since(info.ModTime()) > tempMost {
			_ = d.remove(name)
		}
	}
}
