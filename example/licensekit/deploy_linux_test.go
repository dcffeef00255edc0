package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A backups runs the script licensekit-backup with the program and a clock of the test.
type backups struct {
	*testing.T
	folder string // of the backups
	store  string // the database
	path   string // folder of the programs that the script finds

}

func newBackups(t *testing.T) *backups {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	is := is.New(t)
	dir := t.TempDir()
	b := &backups{T: t, folder: filepath.Join(dir, "the backups"), store: filepath.Join(dir, "licenses.db"), path: filepath.Join(dir, "bin")}
	is.NoErr(os.Mkdir(b.path, 0o700))
	_, err := os.ReadFile("licensekit-backup") // so that a change of it runs the test again
	is.NoErr(err)
	clock, err := exec.LookPath("date")
	is.NoErr(err)
	b.program("date", fmt.Sprintf(`exec %s --date="$NOW" "$@"`, clock))
	b.licensekit("")
	st, err := sqlite.Open(b.store)
	is.NoErr(err)
	for i := range 50 {
		_, err := license.New(st, license.Options{}).Create(t.Context(), api.CreateLicenseParams{Name: fmt.Sprint("License ", i), ProductID: "atlas", CustomerID: "ada"})
		is.NoErr(err)
	}
	is.NoErr(st.Close())
	return b
}

// program makes a program of lines of the shell.
func (b *backups) program(name, text string) {
	b.Helper()
	is.New(b.T).NoErr(os.WriteFile(filepath.Join(b.path, name), []byte("#!/bin/sh\nset -eu\n"+text+"\n"), 0o700))
}

// licensekit makes the program, after whose commands the lines in then run.
func (b *backups) licensekit(then string) {
	b.program("licensekit", fmt.Sprintf("%s=1 %s \"$@\"\n%s", asProgram, os.Args[0], then))
}

// run makes a backup at a time, and returns the names of all backups.
func (b *backups) run(at time.Time) (names []string, err error) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "sh", "licensekit-backup", b.folder)
	cmd.Env = append(os.Environ(), "PATH="+b.path+":"+os.Getenv("PATH"), "LICENSEKIT_STORE="+b.store, "NOW="+at.Format(time.RFC3339))
	if out, err := cmd.CombinedOutput(); err != nil {
		return b.names(), fmt.Errorf("%w: %s", err, out)
	}
	return b.names(), nil
}

func (b *backups) names() (names []string) {
	list, err := os.ReadDir(b.folder)
	is.New(b.T).NoErr(err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestBackupScript: after 40 nights there is a backup of each of the last 7 days and of each of
// the last 4 weeks, which check has passed and which can be restored. A folder in which backups
// have stopped keeps what it has.
func TestBackupScript(t *testing.T) {
	is := is.New(t)
	b := newBackups(t)
	start := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC) // a Monday
	var names []string
	for day := range 40 { // up to 8 January, a Friday
		var err error
		names, err = b.run(start.AddDate(0, 0, day))
		is.NoErr(err)
		if day == 1 { // another one on the same day takes the place of the first
			is.NoErr(os.WriteFile(filepath.Join(b.folder, "note.txt"), nil, 0o600))
			_, err = b.run(start.AddDate(0, 0, day).Add(time.Hour))
			is.NoErr(err)
		}
	}
	want := []string{
		"20261220T023000Z-2026W51", "20261227T023000Z-2026W52", // the Sundays
		"20270102T023000Z-2026W53", "20270103T023000Z-2026W53", "20270104T023000Z-2027W01", "20270105T023000Z-2027W01",
		"20270106T023000Z-2027W01", "20270107T023000Z-2027W01", "20270108T023000Z-2027W01",
	}
	for i, name := range want {
		want[i] = "licensekit-" + name + ".db"
	}
	is.Equal(names, append(want, "note.txt"))
	newest := filepath.Join(b.folder, want[len(want)-1])
	for path, mode := range map[string]os.FileMode{newest: 0o600, b.folder: 0o700} {
		info, err := os.Stat(path)
		is.NoErr(err)
		is.Equal(info.Mode().Perm(), mode)
	}
	output(t, []string{"LICENSEKIT_STORE=" + b.store + ".restored"}, "restore", newest)

	names, err := b.run(start.AddDate(1, 0, 0)) // after a year without backups
	is.NoErr(err)
	is.Equal(len(names), 9)                                         // of weeks and days that have one
	names, err = b.run(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)) // a clock that is wrong
	is.NoErr(err)
	is.Equal(names[0], "licensekit-19700101T000000Z-1970W01.db")
}

// TestBackupScriptFails: a backup that check does not pass, or that cannot be made, removes no
// other one, and the script says so. The next run removes its remains.
func TestBackupScriptFails(t *testing.T) {
	is := is.New(t)
	b := newBackups(t)
	day := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	var good []string
	for i := range 7 {
		var err error
		good, err = b.run(day.AddDate(0, 0, i))
		is.NoErr(err)
	}
	b.licensekit(`case $1 in backup) for f; do :; done; dd if=/dev/zero of="$f" bs=4096 seek=1 count=2 conv=notrunc 2>/dev/null;; esac`) // a bad disk
	for i := 7; i < 15; i++ {
		names, err := b.run(day.AddDate(0, 0, i))
		is.True(err != nil)
		is.Equal(names[:7], good)
		is.Equal(len(names), 8)
		require.Contains(t, names[7], ".new")
	}
	b.licensekit("")
	is.NoErr(os.Rename(b.store, b.store+".lost"))
	names, err := b.run(day.AddDate(0, 0, 20))
	is.True(err != nil)
	require.Contains(t, err.Error(), "no such file")
	is.Equal(names, good)
	is.NoErr(os.Rename(b.store+".lost", b.store))
	names, err = b.run(day.AddDate(0, 0, 21))
	is.NoErr(err)
	is.Equal(len(names), 7)
}

// TestUnits: systemd reads the units without a complaint.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze")
	}
	is := is.New(t)
	dir := t.TempDir()
	args := []string{"verify"}
	for _, name := range []string{"licensekit.service", "licensekit-backup.service", "licensekit-backup.timer"} {
		text, err := os.ReadFile(name)
		is.NoErr(err)
		for _, program := range []string{"/usr/local/bin/licensekit-backup ", "/usr/local/bin/licensekit "} { // which are not installed here
			text = []byte(strings.ReplaceAll(string(text), program, "/bin/sh "))
		}
		args = append(args, filepath.Join(dir, name))
		is.NoErr(os.WriteFile(args[len(args)-1], text, 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
	is.NoErr(err)
	is.Equal(string(out), "")
}

// TestInstallOfTheGuide runs the commands with which deploy.md installs the program, below
// another root.
func TestInstallOfTheGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("linking the program takes a few seconds")
	}
	is := is.New(t)
	text, err := os.ReadFile("../../licensing/docs/deploy.md")
	is.NoErr(err)
	_, block, found := strings.Cut(string(text), "\n## systemd\n")
	is.True(found)
	block, _, _ = strings.Cut(block, "\nSave this as ")
	root := t.TempDir()
	var commands []string
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			commands = append(commands, strings.NewReplacer(" /etc/", " "+root+"/etc/", ">/etc/", ">"+root+"/etc/", " /usr/", " "+root+"/usr/").Replace(command))
		}
	}
	is.Equal(len(commands), 5)
	for _, folder := range []string{"usr/local/bin", "etc/systemd/system"} {
		is.NoErr(os.MkdirAll(filepath.Join(root, folder), 0o755))
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euxc", strings.Join(commands, ""))
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	is.NoErr(err)
	require.NotContains(t, string(out), " /etc/", " /usr/")
	for name, mode := range map[string]os.FileMode{
		"etc/licensekit/master.key": 0o600, "usr/local/bin/licensekit-backup": 0o755, "usr/local/bin/licensekit": 0o755,
		"etc/systemd/system/licensekit.service": 0o644, "etc/systemd/system/licensekit-backup.service": 0o644, "etc/systemd/system/licensekit-backup.timer": 0o644,
	} {
		info, err := os.Stat(filepath.Join(root, name))
		is.NoErr(err)
		is.Equal(info.Mode().Perm(), mode)
	}
}

// TestVariables: the variables in the files to copy are those of serve.
func TestVariables(t *testing.T) {
	is := is.New(t)
	help := output(t, nil, "serve", "-help")
	for _, name := range []string{"licensekit.service", "licensekit-backup.service", "compose.yaml", "Containerfile", "../../licensing/docs/deploy.md"} {
		text, err := os.ReadFile(name)
		is.NoErr(err)
		found := regexp.MustCompile(`LICENSEKIT_[A-Z_]+`).FindAllString(string(text), -1)
		require.Greater(t, len(found), 0)
		require.Contains(t, help, found...)
	}
}

// TestTimeZones: the program has the zones of the world, because the image has no files.
func TestTimeZones(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	is.New(t).NoErr(err)
	require.Contains(t, string(out), "\ntime/tzdata\n")
}
