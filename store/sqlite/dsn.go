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

// cleanPath returns path in full, so that it means the same file after the
// process has changed its working directory.
func cleanPath(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty; name a file")
	case path == ":memory:":
		return "", fmt.Errorf("%q is no file; use package store/memory for a store that is not kept", path)
	case strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("%q is a URI; give the plain path of the file", path)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%q holds a zero byte, which no path can", path)
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

// dsn returns the URI of the file at path, in which its every character stands
// for itself, with the parameters of a connection.
func dsn(path, mode string, params url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/folder/file
	}
	if params == nil {
		params = url.Values{}
	}
	params.Set("mode", mode) // never rwc: the file is made by claim, for its owner alone
	return (&url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}).String()
}

// identityDSN reads the file as if nothing could change it: without locks,
// without its log, and without a trace. It is good for one look at its header.
func identityDSN(path string) string {
	return dsn(path, "ro", url.Values{"immutable": {"1"}})
}

// writerDSN is for the one connection that writes.
func writerDSN(path string, opts Options) string {
	return dsn(path, "rw", url.Values{"_dqs": {"0"}, "_pragma": {
		// Waiting for other processes is the writer's own affair, so that
		// the end of a context ends it.
		"busy_timeout(0)",
		"foreign_keys(1)",
		// Readers and the writer do not wait for one another.
		"journal_mode(wal)",
		// What is committed survives a power failure: one flush a commit.
		"synchronous(full)",
		// Write the log back every 40 MB instead of every 4: pages that
		// change often are written back once instead of ten times.
		"wal_autocheckpoint(10000)",
		// Cut a log that a long View has let grow, but never one of its
		// usual size: writing over a file is faster than making it longer.
		"journal_size_limit(67108864)",
		// The pages that a savepoint would restore are kept in memory, not
		// in a file.
		"temp_store(memory)",
		// In KiB. The system's own cache holds the rest.
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
		// A scan collects its rows in memory, not in a file.
		"temp_store(memory)",
		"cache_size(-2048)",
		"mmap_size(" + strconv.FormatInt(opts.MmapSize, 10) + ")",
	}})
}
