package main

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The most words of a page and of all that is written: the guides and the README.
const (
	pageWords  = 1400
	guideWords = 20_000
)

// isGenerated are the pages that tests write, the changelog and llms.txt, which are not limited.
var isGenerated = map[string]bool{
	"CHANGELOG.md": true, "licensing/docs/options.md": true, "licensing/docs/eventtypes.md": true, "licensing/docs/errors.md": true,
	"licensing/docs/llms.txt": true,
}

// word is a word of a text: it has a letter or a digit, as the bars of a table have not.
var word = regexp.MustCompile(`\S*[\pL\pN]\S*`)

// TestGuidesAreShort counts the words of the guides and of the README.
func TestGuidesAreShort(t *testing.T) {
	docs, total := documents(t), 0
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		words := len(word.FindAllString(docs[name], -1))
		if isGenerated[name] {
			t.Logf("%6d %s (generated)", words, name)
			continue
		}
		t.Logf("%6d %s", words, name)
		total += words
		if words > pageWords {
			t.Errorf("%s has %d words, want at most %d", name, words, pageWords)
		}
	}
	t.Logf("%6d in all, of at most %d", total, guideWords)
	if total > guideWords {
		t.Errorf("the guides and the README have %d words, want at most %d", total, guideWords)
	}
}

// TestContents: the contents lead to each page, and the README and llms.txt to the contents.
func TestContents(t *testing.T) {
	docs := documents(t)
	links := func(name string) (found []string) {
		for _, m := range regexp.MustCompile(`\]\(([^)\s#]+)`).FindAllStringSubmatch(docs[name], -1) {
			found = append(found, path.Join(path.Dir(name), m[1]))
		}
		return found
	}
	contents := links("licensing/docs/README.md")
	for name := range docs {
		if strings.HasPrefix(name, "licensing/docs/") && path.Ext(name) == ".md" && path.Base(name) != "README.md" && !slices.Contains(contents, name) {
			t.Errorf("the contents in licensing/docs/README.md lack %s", name)
		}
	}
	if !slices.Contains(links("README.md"), "licensing/docs/README.md") {
		t.Error("the README has no link to the contents")
	}
	if !slices.Contains(links("licensing/docs/llms.txt"), "licensing/docs/README.md") {
		t.Error("llms.txt has no link to the contents")
	}
}
