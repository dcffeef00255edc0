package storetest

import "syscall"

// limitFiles limits the files of this process to size, and reports whether the
// platform supports that.
func limitFiles(size uint64) bool {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) != nil {
		return false
	}
	limit.Cur = min(size, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) == nil
}
