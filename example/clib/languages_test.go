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
	build []string // a command in this directory; {out} is that of the library, for what it makes
	run   []string
	env   []string
}

const (
	jna   = "/usr/share/java/jna.jar"
	mingw = "x86_64-w64-mingw32-gcc"
)

// languages are the drivers of the tests.
var languages = programs("testdata", "driver")

// programs are those of a folder that have the same name in each language that has a binding,
// and in C, also with the DLL.
func programs(folder, name string) []language {
	title := strings.ToUpper(name[:1]) + name[1:]
	list := []language{
		{name: "C", needs: []string{"gcc"}, build: strings.Fields("gcc -Wall -Wextra -Werror -std=c11 -I. -o {bin}-c {source}.c -L{out} -llicensekit"), run: []string{"{bin}-c"}},
		{name: "C++", needs: []string{"c++"}, build: strings.Fields("c++ -Wall -Wextra -Werror -std=c++17 -I. -Ibindings -o {bin}-cpp {source}.cpp -L{out} -llicensekit"), run: []string{"{bin}-cpp"}},
		{name: "Python", needs: []string{"/usr/bin/python3"}, run: []string{"/usr/bin/python3", "-B", "{source}.py"}, env: []string{"PYTHONPATH=bindings"}},
		{name: "JavaScript", needs: []string{"node", "{out}/node_modules/koffi"}, build: strings.Fields("cp {source}.mjs {out}"), run: []string{"node", "{bin}.mjs"}},
		{name: "C#", needs: []string{"mcs", "mono"}, build: strings.Fields("mcs -out:{bin}-cs.exe {folder}/{title}.cs bindings/LicenseKit.cs"), run: []string{"mono", "{bin}-cs.exe"}},
		{name: "Java", needs: []string{"javac", jna}, build: strings.Fields("javac -cp " + jna + " -d {bin} bindings/LicenseKit.java {folder}/{title}.java"), run: strings.Fields("java -Djna.library.path={out} -cp " + jna + ":{bin} {title}")},
		{name: "Ruby", needs: []string{"ruby"}, run: []string{"ruby", "-Ibindings", "{source}.rb"}},
		{name: "Rust", needs: []string{"rustc"}, build: strings.Fields("rustc -Adead_code -O --edition 2021 -L {out} -o {bin}-rs {source}.rs"), run: []string{"{bin}-rs"}},
		{name: "Windows", needs: []string{mingw, "$WINE", "$WINEPREFIX/system.reg"}, build: strings.Fields(mingw + " -Wall -Wextra -Werror -std=c11 -I. -o {bin}-win.exe {source}.c {out}/licensekit.dll"), run: []string{"$WINE", "{bin}-win.exe"}},
	}
	if windows := &list[len(list)-1]; runtime.GOOS == "windows" { // without Wine, for which .ci/windows makes a prefix
		windows.needs, windows.build[0], windows.run = []string{"gcc"}, "gcc", windows.run[1:]
	}
	r := strings.NewReplacer("{bin}", "{out}/"+name, "{source}", folder+"/"+name, "{folder}", folder, "{title}", title)
	for _, l := range list {
		for _, words := range [][]string{l.build, l.run} {
			for i := range words {
				words[i] = r.Replace(words[i])
			}
		}
	}
	return list
}

// library builds the library, once and as a vendor does, and returns its directory. The
// directory also has what npm installs.
var library = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "licensekit")
	if err != nil {
		return "", err
	}
	err = run(command(dir, "bash", "./build", dir))
	if _, missing := exec.LookPath(mingw); err == nil && missing == nil && wants("Windows") && runtime.GOOS != "windows" {
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
	r := strings.NewReplacer("{out}", out, "{here}", here, "$WINEPREFIX", os.Getenv("WINEPREFIX"), "$WINE", os.Getenv("WINE")) // of .ci/windows
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
