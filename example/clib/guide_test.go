package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestGuide: the code of the guide for each language runs, and shows the user why a license is
// not valid.
func TestGuide(t *testing.T) {
	each(t, programs("testdata", "guide"), func(t *testing.T, start func(env ...string) *exec.Cmd) {
		s := newScene(t, start)
		for _, tt := range []struct {
			change map[string]any
			want   string
		}{
			{nil, "export\n"},
			{map[string]any{"key": nil, "dir": s.dir + "2"}, "show No license key is set; enter one.\n"},
			{map[string]any{"product_id": nil}, "fail product_id must be set\n"},
		} {
			cmd := s.start()
			cmd.Args = append(cmd.Args, s.options(tt.change))
			out, _ := cmd.Output()
			s.Equal(strings.ReplaceAll(string(out), "\r", ""), tt.want)
		}
	})
}

// TestGuideShows: the guide shows the code that TestGuide runs, between the comments guide.
func TestGuideShows(t *testing.T) {
	is := is.New(t)
	text, err := os.ReadFile("../../licensing/docs/native.md")
	is.NoErr(err)
	is.True(len(strings.Fields(string(text))) <= 1400)
	for file, language := range map[string]string{
		"guide.c": "c", "guide.cpp": "cpp", "guide.py": "python", "guide.mjs": "js", "Guide.cs": "csharp", "Guide.java": "java", "guide.rb": "ruby", "guide.rs": "rust",
	} {
		code, err := os.ReadFile("testdata/" + file)
		is.NoErr(err)
		var shown []string
		indent, within := "", false
		for line := range strings.Lines(string(code)) {
			word := strings.Trim(line, " \t\n/#*")
			if word == "guide" {
				indent, within = line[:len(line)-len(strings.TrimLeft(line, " \t"))], !within
			} else if within {
				shown = append(shown, strings.TrimPrefix(line, indent))
			}
		}
		is.True(len(shown) > 0 && len(shown) <= 5)
		require.Contains(t, string(text), "```"+language+"\n"+strings.Join(shown, "")+"```\n")
	}
}
