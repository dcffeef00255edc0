// Package process runs licensekit serve and office in tests.
package process

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Process is a service that runs as a process of its own.
type Process struct {
	URL     string // of the service, with the path at which it is mounted
	Metrics string // of the metrics; empty: none

	cmd   *exec.Cmd
	ended chan error // once
	mu    sync.Mutex
	log   strings.Builder
}

// Start starts cmd, which runs licensekit serve or office, waits until the service and, if
// withMetrics is true, the metrics listen, and kills it at the end of the test.
func Start(t *testing.T, cmd *exec.Cmd, withMetrics bool) *Process {
	t.Helper()
	p := &Process{cmd: cmd, ended: make(chan error, 1)}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	listens := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(stderr)
		for waiting := true; lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if !waiting {
				continue
			}
			p.read(lines.Bytes())
			if p.URL != "" && (p.Metrics != "" || !withMetrics) {
				close(listens)
				waiting = false
			}
		}
		p.ended <- cmd.Wait()
	}()
	select {
	case <-listens:
	case err := <-p.ended:
		t.Fatalf("the service ended: %v\n%s", err, p.Log())
	case <-time.After(time.Minute):
		t.Fatalf("the service does not listen\n%s", p.Log())
	}
	return p
}

// read looks for an address in a line of the log.
func (p *Process) read(line []byte) {
	var said struct {
		Msg, Address string
		TLS          bool
	}
	json.Unmarshal(line, &said)
	scheme := "http://"
	if said.TLS {
		scheme = "https://"
	}
	switch said.Msg {
	case "service listens", "office listens":
		p.URL = scheme + said.Address + "/licensing"
	case "metrics listen":
		p.Metrics = scheme + said.Address + "/metrics"
	}
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) { p.cmd.Process.Signal(s) }

// Kill ends the process with SIGKILL, and waits until it has ended.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// Wait waits for the end of the process, and fails the test if that is not an end by
// SIGTERM in which every request was answered.
func (p *Process) Wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.ended:
		if err != nil || !strings.Contains(p.Log(), "every request was answered") {
			t.Fatalf("the service ended: %v\n%s", err, p.Log())
		}
	case <-time.After(time.Minute):
		t.Fatalf("the service does not end\n%s", p.Log())
	}
}

// Says waits until the process has logged a text.
func (p *Process) Says(t *testing.T, text string) {
	t.Helper()
	for range 600 {
		if strings.Contains(p.Log(), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the service does not log %q\n%s", text, p.Log())
}

// Log returns what the process has logged.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}
