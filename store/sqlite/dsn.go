package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cleanPath returns the absolute path, so that it names the same file after the
// process has changed its working directory.
func cleanPath(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty; name a file")
	case path == ":memory:":
		return "", fmt.Errorf("%q is not a file; use package store/memory for a store in memory", path)
	case strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("%q is a URI; use the path of the file", path)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%q contains a NUL byte", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s: the folder %s does not exist; create it first", path, folder)
	} else if err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s: %s is not a folder", path, folder)
	}
	return path, nil
}

// dsn returns the URI of the file at path, escaped, with the parameters of a
// connection.
func dsn(path, mode string, params url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/folder/file
	}
	if params == nil {
		params = url.Values{}
	}
	params.Set("mode", mode) // never rwc: claim creates the file, with permissions for its owner only
	return (&url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}).String()
}

// identityDSN reads the file as if it could not change: without locks and without
// its log. Use it only to read the header, or a file that no process has open.
func identityDSN(path string) string {
	return dsn(path, "ro", url.Values{"immutable": {"1"}})
}

// writerDSN is for the one connection that writes.
func writerDSN(path string, opts Options) string {
	return dsn(path, "rw", url.Values{"_dqs": {"0"}, "_pragma": {
		// While Open reads the file, another process may repair its log. Then
		// Open sets this to 0: the writer waits for other processes itself, so
		// that the end of a context ends the wait.
		"busy_timeout(" + strconv.FormatInt(opts.BusyTimeout.Milliseconds(), 10) + ")",
		// Readers and the writer do not wait for each other.
		"journal_mode(wal)",
		// Commits survive a power failure: one flush per commit.
		"synchronous(full)",
		// A checkpointer writes the log back before.
		"wal_autocheckpoint(" + strconv.Itoa(maxLogPages) + ")",
		// Truncate a log that grew during a long View, but not one of the
		// usual size: overwriting a file is faster than extending it.
		"journal_size_limit(67108864)",
		// Keep the pages that a savepoint would restore in memory.
		"temp_store(memory)",
		// In KiB. The cache of the operating system has the rest.
		"cache_size(-4096)",
		"mmap_size(" + strconv.FormatInt(opts.MmapSize, 10) + ")",
	}})
}

// readerDSN is for connections that only read.
func readerDSN(path string, opts Options) string {
	return dsn(path, "rw", url.Values{"_dqs": {"0"}, "_pragma": {
		// A reader waits only while another process opens the file for the
		// first time after a crash, or closes it as the last.
		"busy_timeout(" + strconv.FormatInt(opts.BusyTimeout.Milliseconds(), 10) + ")",
		"query_only(1)",
		// A scan collects its rows in memory.
		"temp_store(memory)",
		"cache_size(-2048)",
		"mmap_size(" + strconv.FormatInt(opts.MmapSize, 10) + ")",
	}})
}
