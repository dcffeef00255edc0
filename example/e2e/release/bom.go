package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
)

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

func componentOf(kind string, m debug.Module) component {
	return component{kind, m.Path, m.Version, fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version)}
}

// writeBOM writes the bill of materials of a program: CycloneDX 1.6, from the build
// information alone, without a time and a random number, so that it is the same each time.
func writeBOM(w io.Writer, info *debug.BuildInfo) error {
	modules := linked(info)
	bom := struct {
		Format     string         `json:"bomFormat"`
		Spec       string         `json:"specVersion"`
		Version    int            `json:"version"`
		Metadata   map[string]any `json:"metadata"`
		Components []component    `json:"components"`
	}{"CycloneDX", "1.6", 1, map[string]any{"component": componentOf("application", modules[0])},
		[]component{{"library", "std", info.GoVersion, "pkg:golang/std@" + info.GoVersion[len("go"):]}}}
	for _, m := range modules[1:] {
		bom.Components = append(bom.Components, componentOf("library", m))
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(bom)
}
