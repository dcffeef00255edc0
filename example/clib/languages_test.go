package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A language is one in which a program uses the library.
type language struct {
	name  string
	needs []string // commands and files; the first that is missing skips the language
	build []string // a command in this directory; {out} is the directory for what it makes
	run   []string
	env   []string
}

const (
	koffi = "{out}/node_modules/koffi"
	jna   = "/usr/share/java/jna.jar"
	mingw = "x86_64-w64-mingw32-gcc"
	wine  = "/usr/lib/wine/wine64"
)

// languages are those that have a binding, and C.
var languages = []language{
	{name: "C", needs: []string{"cc"}, build: strings.Fields("cc -Wall -Wextra -Werror -std=c11 -I. -o {out}/driver-c testdata/driver.c -L{out} -llicensekit"), run: []string{"{out}/driver-c"}},
	{name: "C++", needs: []string{"c++"}, build: strings.Fields("c++ -Wall -Wextra -Werror -std=c++17 -I. -Ibindings -o {out}/driver-cpp testdata/driver.cpp -L{out} -llicensekit"), run: []string{"{out}/driver-cpp"}},
	{name: "Python", needs: []string{"/usr/bin/python3"}, run: []string{"/usr/bin/python3", "testdata/driver.py"}, env: []string{"PYTHONPATH=bindings"}},
	{name: "JavaScript", needs: []string{"node", koffi}, run: []string{"node", "testdata/driver.mjs"}, env: []string{"LICENSEKIT_BINDING={here}/bindings/licensekit.mjs", "LICENSEKIT_KOFFI={out}/x.js"}},
	{name: "C#", needs: []string{"mcs", "mono"}, build: strings.Fields("mcs -out:{out}/driver-cs.exe testdata/Driver.cs bindings/LicenseKit.cs"), run: []string{"mono", "{out}/driver-cs.exe"}},
	{name: "Java", needs: []string{"javac", jna}, build: strings.Fields("javac -cp " + jna + " -d {out} bindings/LicenseKit.java testdata/Driver.java"), run: strings.Fields("java -Djna.library.path={out} -cp " + jna + ":{out} Driver")},
	{name: "Ruby", needs: []string{"ruby"}, run: []string{"ruby", "-Ibindings", "testdata/driver.rb"}},
	{name: "Windows", needs: []string{mingw, wine, "$WINEPREFIX/system.reg"}, build: strings.Fields(mingw + " -Wall -Wextra -Werror -std=c11 -I. -o {out}/driver.exe testdata/driver.c {out}/licensekit.dll"), run: []string{wine, "{out}/driver.exe"}, env: []string{"WINEDLLOVERRIDES=bcryptprimitives=n", "WINEDEBUG=-all", "LANG=C.UTF-8"}},
	{name: "Rust", needs: []string{"rustc"}, build: strings.Fields("rustc -Adead_code -O --edition 2018 -L {out} -o {out}/driver-rs testdata/driver.rs"), run: []string{"{out}/driver-rs"}},
}

// library builds the library, once and as a vendor does, and returns its directory. The
// directory also has what npm installs.
var library = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "licensekit")
	if err != nil {
		return "", err
	}
	err = run(command(dir, "bash", "./build", dir))
	if _, missing := exec.LookPath(mingw); err == nil && missing == nil && wants("Windows") {
		build := command(dir, "bash", "./build", dir)
		build.Env = append(build.Env, "GOOS=windows", "CC="+mingw)
		err = run(build)
	}
	if err == nil && wants("JavaScript") {
		err = install(dir)
	}
	return dir, err
})

// install installs the packages of JavaScript, unless npm is missing.
func install(dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil
	}
	text, err := os.ReadFile("testdata/package.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package.json"), text, 0o600)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command(npm, "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	cmd.Dir = dir
	return run(cmd)
}

// run runs a command, whose output is in the error.
func run(cmd *exec.Cmd) error {
	cmd.Stderr = nil
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// libraryName is the name of the library on this system.
func libraryName() string {
	switch runtime.GOOS {
	case "windows":
		return "licensekit.dll"
	case "darwin":
		return "liblicensekit.dylib"
	}
	return "liblicensekit.so"
}

func command(out string, args ...string) *exec.Cmd {
	here, _ := os.Getwd()
	r := strings.NewReplacer("{out}", out, "{here}", here, "$WINEPREFIX", os.Getenv("WINEPREFIX"))
	for i := range args {
		args[i] = r.Replace(args[i])
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+out, "DYLD_LIBRARY_PATH="+out, "LICENSEKIT_LIBRARY="+filepath.Join(out, libraryName()))
	if runtime.GOOS == "windows" {
		cmd.Env = append(cmd.Env, "PATH="+out+";"+os.Getenv("PATH"))
	}
	cmd.Stderr = os.Stderr
	return cmd
}

var chosen = flag.String("languages", "", "run the scenarios in these languages, such as c,python; one that cannot run fails; without it, those run that can")

// wants reports whether a language was chosen.
func wants(name string) bool {
	return *chosen == "" || slices.Contains(strings.Split(strings.ToLower(*chosen), ","), strings.ToLower(name))
}

// each runs a test for each language of a table that was chosen.
func each(t *testing.T, table []language, test func(t *testing.T, start func(env ...string) *exec.Cmd)) {
	out, err := library()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range table {
		if !wants(l.name) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, need := range l.needs {
				need = command(out, need).Args[0]
				_, err := exec.LookPath(need)
				if _, statErr := os.Stat(need); err != nil && statErr != nil {
					if *chosen != "" {
						t.Fatalf("%s is missing", need)
					}
					t.Skipf("%s is missing", need)
				}
			}
			if len(l.build) > 0 {
				if err := run(command(out, slices.Clone(l.build)...)); err != nil {
					t.Fatal(err)
				}
			}
			test(t, func(env ...string) *exec.Cmd {
				cmd := command(out, slices.Clone(l.run)...)
				for _, e := range l.env {
					cmd.Env = append(cmd.Env, command(out, e).Args[0])
				}
				cmd.Env = append(cmd.Env, env...)
				return cmd
			})
		})
	}
}

// TestChosen: each language that was chosen is one of the table.
func TestChosen(t *testing.T) {
	for name := range strings.SplitSeq(*chosen, ",") {
		if name != "" && !slices.ContainsFunc(languages, func(l language) bool { return strings.EqualFold(l.name, name) }) {
			t.Errorf("there is no language %q", name)
		}
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if dir, _ := library(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}
