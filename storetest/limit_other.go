//go:build !linux

package storetest

// limitFiles limits the files of this process to size, and reports whether the
// platform supports that.
func limitFiles(uint64) bool { return false }
