//go:build !linux

package storetest

// limitFiles keeps files of this process from growing beyond size, and reports
// whether it can.
func limitFiles(uint64) bool { return false }
