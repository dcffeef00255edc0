package main

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/internal/testing/docs"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// optionTables are the tables of docs/options.md with options: the path of each struct in the
// configuration file.
var optionTables = []string{"Options", "Options.Limits", "Options.Tokens", "Options.Events", "Options.Webhooks", "Options.Dashboard", "Portal"}

// optionType returns the type of the struct at a path.
func optionType(path string) reflect.Type {
	if path == "Portal" {
		return reflect.TypeFor[licensing.Portal]()
	}
	options := reflect.TypeFor[licensing.Options]()
	if _, field, found := strings.Cut(path, "."); found {
		f, _ := options.FieldByName(field)
		return f.Type
	}
	return options
}

// TestOptionsPage compares docs/options.md with the comments of the options, with
// licensekit.json and with the flags of serve. To rewrite the page, run
//
//	go test -run OptionsPage -update
func TestOptionsPage(t *testing.T) {
	values := allValues(t)
	var tables []string
	for _, path := range optionTables {
		var b strings.Builder
		b.WriteString("| option | default | what it does | in licensekit.json |\n|---|---|---|---|\n")
		of := optionType(path)
		comments := fieldComments(t, of)
		for f := range of.Fields() {
			at := path + "." + f.Name
			text, standard := splitDefault(f.Name, comments[f.Name])
			setting := "Go only"
			switch value := values[at]; {
			case slices.Contains(optionTables, at): // a table of its own
				continue
			case settings.IsOwn(at):
				setting = "set by the program"
			case at == "Portal.Texts":
				setting = "`Portal.Texts`, or `Language`"
			case value != nil:
				setting = fmt.Sprintf("`%q: %s`", f.Name, value)
			}
			if standard == "" && f.Type.Kind() == reflect.Bool {
				standard = "off"
			}
			if text == "" || standard == "" && path != "Portal" {
				t.Errorf("the comment of %s has no text or no default", at)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, standard, text, setting)
		}
		tables = append(tables, b.String())
	}
	docs.Compare(t, "../../licensing/docs/options.md", *update, append(tables, flagTable(t))...)
}

var (
	spaces     = regexp.MustCompile(`\s+`)
	ofDefault  = regexp.MustCompile(` ?Default: (.*?)\.( |$)`)
	docLink    = regexp.MustCompile(`\[([A-Za-z.]+)\]`)
	flagInHelp = regexp.MustCompile(`(?m)^  --(\S+) +(\S+)\n      (.*)$`)
)

// splitDefault returns the comment of a field in one line, without its name and the sentence
// with the default, and the default.
func splitDefault(name, comment string) (text, standard string) {
	text = strings.ReplaceAll(spaces.ReplaceAllString(strings.TrimSpace(comment), " "), "|", `\|`)
	text = docLink.ReplaceAllString(text, "`$1`")
	if m := ofDefault.FindStringSubmatchIndex(text); m != nil {
		standard = text[m[2]:m[3]]
		text = strings.TrimSpace(text[:m[0]] + " " + text[m[1]:])
	}
	for _, words := range []string{name + " ", "is ", "are "} {
		text = strings.TrimPrefix(text, words)
	}
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text, standard
}

// flagTable returns the table of the flags of serve.
func flagTable(t *testing.T) string {
	t.Helper()
	is := is.New(t)
	var help bytes.Buffer
	set := settings.New(name, &help)
	set.AddConfig()
	set.AddStore()
	addFlags(set)
	_, err := set.Parse([]string{"-help"})
	is.True(err != nil) // it printed the help
	table := "| flag | variable | what it is | in licensekit.json |\n|---|---|---|---|\n"
	for _, m := range flagInHelp.FindAllStringSubmatch(help.String(), -1) {
		setting := settings.SettingOf(m[1])
		if setting != "" {
			setting = "`" + setting + "`"
		}
		table += fmt.Sprintf("| `--%s` | `%s` | %s | %s |\n", m[1], m[2], m[3], setting)
	}
	return table
}

// TestSplitDefault: the default is a column of its own.
func TestSplitDefault(t *testing.T) {
	is := is.New(t)
	text, standard := splitDefault("A", "A is how\nmany, of [B.C]. Default: 1,000. Negative: no limit.")
	is.Equal(text, "How many, of `B.C`. Negative: no limit.")
	is.Equal(standard, "1,000")
	text, standard = splitDefault("A", "A is for tests.")
	is.Equal(text, "For tests.")
	is.Equal(standard, "")
}
