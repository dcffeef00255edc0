package storetest

import "syscall"

// limitFiles keeps files of this process from growing beyond size, and reports
// whether it can.
func limitFiles(size uint64) bool {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) != nil {
		return false
	}
	limit.Cur = min(size, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) == nil
}
