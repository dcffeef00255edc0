//go:build unix && !linux

package pgserver

import "syscall"

// endWithParent does nothing: only Linux ends a process with another.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}
