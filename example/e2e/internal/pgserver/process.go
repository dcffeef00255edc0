//go:build unix

package pgserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// A Process is a program that runs beside the test. On Linux it is stopped when this
// process ends.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// Run runs another program as the user of the server. Its output goes to a file with
// its name in the directory of the server.
func (s *Server) Run(name string, args ...string) (*Process, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	cmd := s.command(name, args...)
	cmd.Path = path
	endWithParent(cmd.SysProcAttr, syscall.SIGKILL) // also if it is stopped
	return start(cmd, filepath.Join(s.Dir, filepath.Base(name)+".log"))
}

// Start runs a command, such as another server, as the user of this process. Its output
// goes to a file.
func Start(cmd *exec.Cmd, output string) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	return start(cmd, output)
}

// start runs a command from a thread that exists as long as the process, because
// endWithParent depends on the thread that started it.
func start(cmd *exec.Cmd, output string) (*Process, error) {
	log, err := os.OpenFile(output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	p := &Process{cmd, make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Signal sends a signal.
func (p *Process) Signal(signal syscall.Signal) error { return p.cmd.Process.Signal(signal) }

// Stop stops the process with a signal and waits until it has ended.
func (p *Process) Stop(signal syscall.Signal) {
	p.Signal(signal)
	<-p.done
}
