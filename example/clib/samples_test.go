package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestSamples: a user of each sample gets from the first start to a valid license in each way,
// also if all seats are taken.
func TestSamples(t *testing.T) {
	each(t, programs("samples", "menu"), func(t *testing.T, start func(env ...string) *exec.Cmd) {
		t.Run("by key", func(t *testing.T) { byKey(newScene(t, start)) })
		t.Run("by browser", func(t *testing.T) { byBrowser(newScene(t, start)) })
		t.Run("by file", func(t *testing.T) { byFile(newScene(t, start)) })
	})
}

const choose, free = "Choose:", "Free the seat of number (Enter: none):"

func byKey(s *scene) {
	for _, name := range []string{"Old laptop", "Office"} { // all seats
		_, err := s.service().Activate(s.Context(), api.ActivateKeyParams{Key: s.license.Key, ProductID: "atlas", Fingerprint: name, Name: name})
		s.NoErr(err)
	}
	m := s.menu(map[string]any{"key": nil})
	m.shows("Not licensed. No license key is set; enter one.")
	m.types("2", "License key:")
	m.types("AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", choose)
	m.shows("That had no effect: No license has this license key", "Not licensed. No license key is set")
	m.types("2", "License key:")
	m.types(s.license.Key, choose)
	m.shows("That had no effect: ", "Not licensed. All seats of the license are in use")
	m.types("5", free)
	m.shows("Office")
	m.types(m.found(`(\d) Old laptop`), choose)
	m.shows("Licensed. The license is valid.")
	m.types("5", free)
	m.shows("Office", "(this device)")
	m.types("", choose)
	_, err := s.service().Suspend(s.Context(), api.ChangeStateParams{ID: s.license.ID, Reason: "please pay"})
	s.NoErr(err)
	m.types("4", choose)
	m.shows("Not licensed. The license is suspended: please pay")
	_, err = s.service().Reinstate(s.Context(), api.ChangeStateParams{ID: s.license.ID})
	s.NoErr(err)
	m.types("4", choose)
	m.shows("Licensed. The license is valid.")
	m.quit()
	s.mode.Store("dead")
	m = s.menu(map[string]any{"key": nil})
	m.shows("Licensed. The license is valid.")
	m.quit()
}

func byBrowser(s *scene) {
	m := s.menu(map[string]any{"key": nil})
	m.types("1", "Waiting for the approval ...")
	m.shows("Open https://acme.example/account/licenses/link?code=")
	code := m.found(`the code: (\S+)\.`)
	_, err := s.service().Customer("cus_1").ApproveLink(s.Context(), api.ApproveLinkParams{Code: code, LicenseID: s.license.ID})
	s.NoErr(err)
	m.until(choose)
	m.shows("Licensed. The license is valid.")
	m.quit()
}

func byFile(s *scene) {
	m := s.menu(map[string]any{"url": nil, "key": nil})
	m.shows("Not licensed. ")
	m.types("3", "File that the vendor sent:")
	m.types("missing.jws", choose)
	m.shows("That had no effect: ")
	m.types("3", "File that the vendor sent:")
	request := m.found(`Send this to the vendor: (\S+)`)
	file, err := s.service().IssueFile(s.Context(), api.IssueFileParams{LicenseID: s.license.ID, Request: request, Lifetime: api.Duration{Hours: 10}})
	s.NoErr(err)
	text, err := s.handler.Files().Sign(s.Context(), *file.FileClaims())
	s.NoErr(err)
	path := filepath.Join(s.TempDir(), "license.jws")
	s.NoErr(os.WriteFile(path, []byte(text+"\n"), 0o600))
	m.types(path, choose)
	m.shows("Licensed. The license is valid.")
	m.quit()
}

// A menu is a running sample.
type menu struct {
	*scene
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	shown string // since the last input
}

// menu starts a sample, up to its menu.
func (s *scene) menu(change map[string]any) *menu {
	s.Helper()
	path := filepath.Join(s.TempDir(), "options.json")
	s.NoErr(os.WriteFile(path, []byte(s.options(change)), 0o600))
	m := &menu{scene: s, cmd: s.start("HOME="+filepath.Dir(s.dir), "XDG_CONFIG_HOME=")}
	m.cmd.Args = append(m.cmd.Args, path)
	in, err := m.cmd.StdinPipe()
	s.NoErr(err)
	out, err := m.cmd.StdoutPipe()
	s.NoErr(err)
	if err := m.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		m.cmd.Process.Kill()
		m.cmd.Wait()
	})
	m.in, m.out = in, bufio.NewReader(out)
	m.until(choose)
	return m
}

// types enters a line, and reads what the sample shows then, up to the end of a prompt.
func (m *menu) types(line, prompt string) {
	m.Helper()
	m.shown = ""
	_, err := io.WriteString(m.in, line+"\n")
	m.NoErr(err)
	m.until(prompt)
}

// until reads what the sample shows, up to the end of a prompt.
func (m *menu) until(prompt string) {
	m.Helper()
	for !strings.HasSuffix(m.shown, prompt) {
		b, err := m.out.ReadByte()
		if err != nil {
			m.Fatalf("%v before %q:\n%s", err, prompt, m.shown)
		}
		m.shown += string([]byte{b})
	}
}

func (m *menu) shows(texts ...string) {
	m.Helper()
	for _, text := range texts {
		require.Contains(m.T, m.shown, text)
	}
}

// found returns the group of a regular expression in what was shown.
func (m *menu) found(expression string) string {
	m.Helper()
	match := regexp.MustCompile(expression).FindStringSubmatch(m.shown)
	if match == nil {
		m.Fatalf("%s is not in:\n%s", expression, m.shown)
	}
	return match[1]
}

// quit leaves the menu, which ends the program.
func (m *menu) quit() {
	m.Helper()
	_, err := io.WriteString(m.in, "0\n")
	m.NoErr(err)
	kill := time.AfterFunc(30*time.Second, func() { m.cmd.Process.Kill() })
	defer kill.Stop()
	if err := m.cmd.Wait(); err != nil {
		m.Errorf("the sample does not end: %v", err)
	}
}
