package program

import (
	"io"
	"log"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func init() { log.SetOutput(io.Discard) } // the stacks of panics

// faults are what ends a process, or a goroutine of it.
var faults = map[string]func(){
	"panic":  func() { panic("out of order") },
	"Goexit": func() { runtime.Goexit() },
}

// TestFaultyRequests: whatever fails while the program asks the service ends neither the
// process nor the checks. The program keeps its last answer, with a warning.
func TestFaultyRequests(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				faulty := func(*http.Request, func() answerOf) answerOf { fault(); return answerOf{} }
				b := s.box("pc-1")
				l := b.open()
				s.is(l, "valid")
				l.Count("exports", 1)
				s.meddle(faulty)
				start := time.Now()
				first := s.box("pc-2").open() // without an answer to keep
				require.Less(s.T, time.Since(start), time.Second)
				s.Equal(first.Status().Code, CodeUnreachable)
				s.requests()
				time.Sleep(3 * time.Hour)
				s.is(l, "valid", api.CodeInternal)
				s.is(first, CodeUnreachable, api.CodeInternal)
				require.Contains(s.T, l.Status().Warnings[0].Detail, "A part of the program failed", map[string]string{"panic": "out of order", "Goexit": "ended its goroutine"}[name])
				require.AtMost(s.T, len(s.requests()), 2*3*60) // it waits longer and longer
				s.meddle(nil)
				time.Sleep(10 * time.Minute)
				s.is(l, "valid")
				s.is(first, "valid")
				s.move((*license.Service).Suspend, "unpaid")
				time.Sleep(time.Hour)
				s.is(l, api.VerdictSuspended)
				s.meddle(faulty)
				s.NoErr(l.Close())
			})
		})
	}
}

// TestFaultyOnChange: OnChange ends neither the process nor the calls.
func TestFaultyOnChange(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				var seen []api.Code
				broken := true
				b := s.box("pc-1")
				b.opts.OnChange = func(st Status) {
					if seen = append(seen, st.Code); broken {
						fault()
					}
				}
				l := b.open()
				s.move((*license.Service).Suspend, "unpaid")
				time.Sleep(90 * time.Minute)
				s.is(l, api.VerdictSuspended, api.CodeInternal)
				require.AtMost(s.T, len(seen), 30)
				broken = false
				s.move((*license.Service).Reinstate, "")
				time.Sleep(time.Hour)
				s.is(l, "valid")
				s.Equal(seen[len(seen)-1], api.VerdictValid)
			})
		})
	}
}

// TestDamagedFiles: nothing in Dir ends the process, or keeps the program from what the
// service says.
func TestDamagedFiles(t *testing.T) {
	for _, text := range []string{"", "null", "[]", "{}", `{"id":"x","days":{"exports":null}}`, `{"key":null,"meters":[{}],"upcoming":[{}]}`, "999999999999", "-999999999999999", "9223372036854775807", strings.Repeat("x", 100)} {
		t.Run(text[:min(len(text), 20)], func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				for _, name := range []string{licenseName, listName, denialName, displayName, clockName, dueName, requestName, usagePrefix + "x"} {
					s.NoErr(disk{b.opts.Dir}.write(name, text))
				}
				s.move((*license.Service).Suspend, "unpaid")
				l := b.open()
				l.Count("exports", 1)
				time.Sleep(5 * time.Minute)
				s.is(l, api.VerdictSuspended)
				s.move((*license.Service).Reinstate, "")
				time.Sleep(6 * time.Minute)
				s.is(l, "valid")
			})
		})
	}
}
