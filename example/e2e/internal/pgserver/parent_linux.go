package pgserver

import "syscall"

// endWithParent makes a process get a signal when this one ends for any reason.
func endWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
