//go:build linux

package office

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// With machineVariable set, the test binary is a machine that runs programs until its
// standard input ends. Its value is a job.
const machineVariable = "LICENSEKIT_OFFICE_MACHINE"

// A job is what a machine does.
type job struct {
	URL, Keys, Key, Dir string
	Programs            int    // with a seat for each
	Come                bool   // the programs come and go; otherwise they stay
	Machine             string // the fingerprint of one program more, which stays; empty: none
	Exports             int64  // how many each program uses when it has opened
}

// A saying is what a machine says about one of its programs, in a line of JSON.
type saying struct {
	Life   string    // of a program, from Open to Close
	Code   api.Code  // of its status
	Users  float64   // the entitlement
	Until  time.Time // ValidUntil
	Before time.Time // the status was read after this time
	After  time.Time // and before this one
	Ends   bool      // the program closes now
}

// runMachine runs the programs of a machine.
func runMachine() {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(machineVariable)), &j); err != nil {
		panic(err)
	}
	stop := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	say := func(s saying) {
		mu.Lock()
		defer mu.Unlock()
		if out.Encode(s) != nil {
			os.Exit(1)
		}
	}
	var work sync.WaitGroup
	for n := range j.Programs {
		work.Go(func() {
			for life := 0; ; life++ {
				j.live(fmt.Sprintf("%d-%d", n, life), "", say, stop)
				if !j.Come || !pause(stop, 500*time.Millisecond+rand.N(time.Second)) {
					return
				}
			}
		})
	}
	if j.Machine != "" {
		work.Go(func() { j.live("machine", j.Machine, say, stop) })
	}
	work.Wait()
}

// pause waits, and returns false if the machine stops before.
func pause(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(d):
		return true
	}
}

// live opens the license, and says what its status is until the program closes.
func (j job) live(life, fingerprint string, say func(saying), stop <-chan struct{}) {
	p, err := program.Open(program.Options{
		URL: j.URL, Keys: []byte(j.Keys), ProductID: "atlas", Key: j.Key, Fingerprint: fingerprint, PerProcess: fingerprint == "",
		Dir: filepath.Join(j.Dir, strconv.Itoa(os.Getpid()), life),
	})
	if err != nil {
		panic(err)
	}
	if j.Exports > 0 {
		if err := p.Use(context.Background(), "exports", j.Exports); err != nil {
			panic(err)
		}
	}
	stay := time.Hour
	if j.Come {
		stay = 100*time.Millisecond + rand.N(2*time.Second)
	}
	var last saying
	for opened, refreshed := time.Now(), time.Now(); ; {
		now := saying{Life: life, Before: time.Now()}
		status := p.Status()
		now.Code, now.Until, now.After = status.Code, status.ValidUntil, time.Now()
		now.Users, _ = status.Entitlements["users"].(float64)
		if now.Code != last.Code || !now.Until.Equal(last.Until) {
			if last.Code != "" {
				say(last)
			}
			say(now)
		}
		last = now
		if time.Since(opened) > stay || j.Come && !status.Valid || !pause(stop, 10*time.Millisecond) {
			break
		}
		if time.Since(refreshed) > lease/8 && fingerprint == "" {
			refreshed = time.Now()
			_ = p.Refresh(context.Background()) // the status has the error
		}
	}
	last.Ends = true
	say(last)
	p.Close()
}

// A span is a time in which a program may run: from when its status was read as valid to
// when it was last read so or, if its machine was killed, to the end of its license file.
type span struct{ from, to time.Time }

// A machine is a process with programs.
type machine struct {
	cmd   *exec.Cmd
	stdin io.Closer
	heard chan saying // closed when the process has ended
	lives map[string][]saying
}

// boot starts a machine.
func (s *site) boot(j job) *machine {
	s.t.Helper()
	is := is.New(s.t)
	j.URL, j.Keys, j.Key, j.Dir = "http://"+s.addr+"/licensing", s.keys, s.license.Key, s.path("machines")
	text, err := json.Marshal(j)
	is.NoErr(err)
	m := &machine{cmd: s.within(s.programs, os.Args[0]), heard: make(chan saying, 1000), lives: map[string][]saying{}}
	m.cmd.Env = append(os.Environ(), machineVariable+"="+string(text))
	m.cmd.Stderr = os.Stderr
	m.stdin, err = m.cmd.StdinPipe()
	is.NoErr(err)
	out, err := m.cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(m.cmd.Start())
	go func() {
		defer close(m.heard)
		for lines := json.NewDecoder(out); ; {
			var said saying
			if lines.Decode(&said) != nil {
				m.cmd.Wait() // a machine that was killed returns the signal as an error
				return
			}
			m.heard <- said
		}
	}()
	return m
}

// kill ends a machine with SIGKILL.
func (m *machine) kill() {
	m.cmd.Process.Kill()
	m.drain()
}

// stop closes the programs of a machine.
func (m *machine) stop() {
	m.stdin.Close()
	m.drain()
}

func (m *machine) drain() {
	for said := range m.heard {
		m.hear(said)
	}
}

func (m *machine) hear(said saying) { m.lives[said.Life] = append(m.lives[said.Life], said) }

// await waits until a program of the machine says a code, and returns when its status ends.
func (m *machine) await(t *testing.T, code api.Code) time.Time {
	t.Helper()
	return m.until(t, string(code), func(s saying) bool { return s.Code == code }).Until
}

// until waits until a program of the machine says what is wanted.
func (m *machine) until(t *testing.T, what string, wanted func(saying) bool) saying {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case said, ok := <-m.heard:
			if !ok {
				t.Fatalf("the machine ended before a program said %s", what)
			}
			if m.hear(said); wanted(said) {
				return said
			}
		case <-limit:
			t.Fatalf("no program says %s; all said: %v", what, m.lives)
		}
	}
}

// spans returns when the programs of a machine that has ended ran or may have run.
func (m *machine) spans() (all []span) {
	for _, life := range m.lives {
		var s span
		for i, said := range life {
			valid := !said.Until.IsZero()
			if !s.from.IsZero() && (!valid || said.After.After(s.to)) {
				all, s = append(all, s), span{}
			}
			if valid && s.from.IsZero() {
				s.from = said.After
			}
			if s.to = said.Until; said.Ends || i+1 < len(life) && life[i+1].Until.IsZero() {
				s.to = said.Before
			}
		}
		if !s.from.IsZero() {
			all = append(all, s)
		}
	}
	return all
}

// most returns the largest number of spans that have an instant in common, of those after
// a time, and one such instant.
func most(all []span, after time.Time) (n int, at time.Time) {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, s := range all {
		if s.from.Before(after) {
			s.from = after
		}
		if s.from.Before(s.to) {
			edges = append(edges, edge{s.from, 1}, edge{s.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), a.step-b.step) })
	now := 0
	for _, e := range edges {
		if now += e.step; now > n {
			n, at = now, e.at
		}
	}
	return n, at
}

// TestMost: spans that only touch have no instant in common.
func TestMost(t *testing.T) {
	is := is.New(t)
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	all := []span{{at(1), at(4)}, {at(2), at(3)}, {at(3), at(5)}, {at(9), at(8)}}
	n, when := most(all, time.Time{})
	is.Equal(n, 2)
	is.True(when.Equal(at(2)))
	n, _ = most(all, at(4))
	is.Equal(n, 1)

	said := func(before, until int, ends bool) saying {
		s := saying{Life: "0", Before: at(before), After: at(before), Ends: ends}
		if until > 0 {
			s.Until = at(until)
		}
		return s
	}
	m := machine{lives: map[string][]saying{"0": {
		said(1, 9, false), said(3, 9, false), said(4, 0, false), // valid from 1 to 3
		said(5, 7, false), said(6, 8, false), // from 5 to 8
		said(9, 12, false), said(10, 12, true), // from 9 to 10
	}, "1": {said(2, 6, false)}}}
	got := m.spans()
	slices.SortFunc(got, func(a, b span) int { return a.from.Compare(b.from) })
	is.Equal(got, []span{{at(1), at(3)}, {at(2), at(6)}, {at(5), at(8)}, {at(9), at(10)}})
}
