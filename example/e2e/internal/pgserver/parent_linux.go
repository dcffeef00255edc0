package pgserver

import "syscall"

// endWithParent has a process end when this one does, however it ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
