package main

import (
	"os"
	"os/exec"
	"path/filepath"
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
	jna   = "/usr/share/java/jna.jar"
	mingw = "x86_64-w64-mingw32-gcc"
	wine  = "/usr/lib/wine/wine64"
)

// languages are those that have a binding, and C.
var languages = []language{
	{name: "C", needs: []string{"cc"}, build: strings.Fields("cc -Wall -Wextra -Werror -std=c11 -I. -o {out}/driver-c testdata/driver.c -L{out} -llicensekit"), run: []string{"{out}/driver-c"}},
	{name: "C++", needs: []string{"c++"}, build: strings.Fields("c++ -Wall -Wextra -Werror -std=c++17 -I. -Ibindings -o {out}/driver-cpp testdata/driver.cpp -L{out} -llicensekit"), run: []string{"{out}/driver-cpp"}},
	{name: "Python", needs: []string{"/usr/bin/python3"}, run: []string{"/usr/bin/python3", "testdata/driver.py"}, env: []string{"PYTHONPATH=bindings"}},
	{name: "JavaScript", needs: []string{"node", "{koffi}"}, run: []string{"node", "testdata/driver.mjs"}, env: []string{"LICENSEKIT_BINDING={here}/bindings/licensekit.mjs", "LICENSEKIT_KOFFI={koffi}/x.js"}},
	{name: "C#", needs: []string{"mcs", "mono"}, build: strings.Fields("mcs -out:{out}/driver.exe testdata/Driver.cs bindings/LicenseKit.cs"), run: []string{"mono", "{out}/driver.exe"}},
	{name: "Java", needs: []string{"javac", jna}, build: strings.Fields("javac -cp " + jna + " -d {out} bindings/LicenseKit.java testdata/Driver.java"), run: strings.Fields("java -Djna.library.path={out} -cp " + jna + ":{out} Driver")},
	{name: "Ruby", needs: []string{"ruby"}, run: []string{"ruby", "-Ibindings", "testdata/driver.rb"}},
	{name: "Windows", needs: []string{mingw, wine}, build: strings.Fields(mingw + " -Wall -Wextra -Werror -std=c11 -I. -o {out}/driver.exe testdata/driver.c {out}/licensekit.dll"), run: []string{wine, "{out}/driver.exe"}, env: []string{"WINEDLLOVERRIDES=bcryptprimitives=n", "WINEDEBUG=-all", "LANG=C.UTF-8"}},
	{name: "Rust", needs: []string{"rustc"}, build: strings.Fields("rustc -Adead_code -O --edition 2018 -L {out} -o {out}/driver-rs testdata/driver.rs"), run: []string{"{out}/driver-rs"}},
}

// library builds the library once, and returns its directory.
var library = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "licensekit")
	if err != nil {
		return "", err
	}
	err = command(dir, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(dir, "liblicensekit.so"), ".").Run()
	if _, missing := exec.LookPath(mingw); err == nil && missing == nil {
		build := command(dir, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(dir, "licensekit.dll"), ".")
		build.Env = append(build.Env, "GOOS=windows", "CGO_ENABLED=1", "CC="+mingw)
		err = build.Run()
	}
	return dir, err
})

func command(out string, args ...string) *exec.Cmd {
	here, _ := os.Getwd()
	koffi := os.Getenv("KOFFI") // a folder with node_modules
	if koffi == "" {
		koffi = filepath.Join(here, "testdata")
	}
	r := strings.NewReplacer("{out}", out, "{here}", here, "{koffi}", koffi)
	for i := range args {
		args[i] = r.Replace(args[i])
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+out, "LICENSEKIT_LIBRARY="+filepath.Join(out, "liblicensekit.so"))
	cmd.Stderr = os.Stderr
	return cmd
}

// each runs a test for each language that can run here.
func each(t *testing.T, test func(t *testing.T, start func(env ...string) *exec.Cmd)) {
	out, err := library()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, need := range l.needs {
				need = command(out, need).Args[0]
				if _, err := exec.LookPath(need); err != nil {
					if _, err := os.Stat(need); err != nil {
						t.Skipf("%s is missing", need)
					}
				}
			}
			if len(l.build) > 0 {
				if err := command(out, append([]string{}, l.build...)...).Run(); err != nil {
					t.Fatal(err)
				}
			}
			test(t, func(env ...string) *exec.Cmd {
				cmd := command(out, append([]string{}, l.run...)...)
				for _, e := range l.env {
					cmd.Env = append(cmd.Env, command(out, e).Args[0])
				}
				cmd.Env = append(cmd.Env, env...)
				return cmd
			})
		})
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := library(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}
