package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/seed-d8a106b4/licensekit/example/internal/configfile"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
)

// allSettings is a configuration file with each setting as a comment, below its description.
// TestAllSettings writes it.
//
//go:embed licensekit.json
var allSettings string

// settingLine is a line with the beginning or the end of a group, or with a setting.
var settingLine = regexp.MustCompile(`^( *)(//)?(?:"(\w+)": (\{$)?.*|\},?)$`)

// printConfig prints all settings and, of a configuration file, what it says.
func printConfig(args []string, out io.Writer) error {
	set := settings.New(name+" config FLAGS", os.Stdout)
	set.AddConfig()
	if err := set.ParseFlags(args); err != nil {
		return err
	}
	if set.Config(); set.Err() != nil {
		return set.Err()
	}
	_, err := io.WriteString(out, withValues(allSettings, set.Values()))
	return err
}

// withValues returns a file with all settings in which values, by their paths, take the place
// of comments.
func withValues(file string, values map[string]json.RawMessage) string {
	var b strings.Builder
	var groups []string // the names of the groups that the line is in
	for line := range strings.Lines(file) {
		m := settingLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		path := ""
		if m != nil && m[3] != "" {
			path = configfile.Join(strings.Join(groups, "."), m[3])
		} else if m != nil && len(groups) > 0 {
			path = strings.Join(groups, ".")
			groups = groups[:len(groups)-1]
		}
		value, ok := values[path]
		switch {
		case m == nil || !ok:
			b.WriteString(line)
		case m[3] == "" || m[4] != "": // the beginning or the end of a group
			b.WriteString(strings.Replace(line, "//", "", 1))
		default:
			var text bytes.Buffer
			_ = json.Compact(&text, value) // which was read before
			fmt.Fprintf(&b, "%s%q: %s,\n", m[1], m[3], text.String())
		}
		if m != nil && m[4] != "" {
			groups = append(groups, m[3])
		}
	}
	return b.String()
}
