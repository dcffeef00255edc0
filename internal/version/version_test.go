package version

import (
	"runtime/debug"
	"testing"

	"github.com/matryer/is"
)

func TestIn(t *testing.T) {
	dep := func(version string, replace *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "example.com/app", Version: "v9.0.0"},
			Deps: []*debug.Module{{Path: "example.com/other", Version: "v8.0.0"}, {Path: module, Version: version, Replace: replace}}}
	}
	for _, test := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"no information", nil, "(devel)"},
		{"the module of the program", &debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.1.0"}}, "v0.1.0"},
		{"a work tree", &debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, "(devel)"},
		{"a work tree without version control", &debug.BuildInfo{Main: debug.Module{Path: module}}, "(devel)"},
		{"required", dep("v0.2.0", nil), "v0.2.0"},
		{"replaced", dep("v0.2.0", &debug.Module{Path: "../licensekit"}), "(devel)"},
		{"another program", &debug.BuildInfo{Main: debug.Module{Path: "example.com/app", Version: "v9.0.0"}}, "(devel)"},
	} {
		t.Run(test.name, func(t *testing.T) { is.New(t).Equal(in(test.info), test.want) })
	}
}

func TestUserAgent(t *testing.T) {
	is := is.New(t)
	was := Of
	defer func() { Of = was }()
	Of = func() string { return "v0.1.0" }
	is.Equal(UserAgent("licensekit"), "licensekit/0.1.0")
	Of = func() string { return Devel }
	is.Equal(UserAgent("licensekit"), "licensekit") // "(devel)" is a comment there
}
