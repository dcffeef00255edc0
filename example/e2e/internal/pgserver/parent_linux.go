package pgserver

import "syscall"

// endWithParent makes a process end when this one ends for any reason.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
