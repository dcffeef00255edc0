package dashboard_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/matryer/is"
)

// pairs are the combinations of foreground and background colors, with the
// minimum contrast of WCAG 2.2: 4.5 for text (1.4.3), 3 for the parts that
// identify a control (1.4.11).
var pairs = []struct {
	color, ground string
	least         float64
}{
	{"text", "ground", 4.5}, {"text", "surface", 4.5}, {"text", "sunken", 4.5},
	{"muted", "ground", 4.5}, {"muted", "surface", 4.5}, {"muted", "sunken", 4.5},
	{"quiet", "surface", 4.5}, {"quiet", "ground", 4.5}, {"quiet", "quiet-soft", 4.5},
	{"accent", "ground", 4.5}, {"accent", "surface", 4.5}, {"accent", "accent-soft", 4.5},
	{"accent-hover", "ground", 4.5}, {"accent-hover", "surface", 4.5}, {"accent-hover", "accent-soft", 4.5},
	{"surface", "accent", 4.5}, {"surface", "accent-hover", 4.5}, // buttons
	{"surface", "bad", 4.5}, {"surface", "bad-hover", 4.5},
	{"good", "good-soft", 4.5}, {"warn", "warn-soft", 4.5}, {"bad", "bad-soft", 4.5}, {"bad", "surface", 4.5}, {"bad", "sunken", 4.5},
	{"control", "surface", 3}, {"control", "ground", 3}, {"control", "sunken", 3}, // borders of controls
	{"accent", "sunken", 3}, // focus ring
}

func TestContrast(t *testing.T) {
	css, err := os.ReadFile("static/app.css")
	is.New(t).NoErr(err)
	tokens := map[string][2]string{}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(string(css), -1) {
		tokens[m[1]] = [2]string{m[2], m[3]}
	}
	for _, p := range pairs {
		used[p.color], used[p.ground] = true, true
		for theme, name := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%s on %s, %s", p.color, p.ground, name), func(t *testing.T) {
				is := is.New(t)
				a, okA := tokens[p.color]
				b, okB := tokens[p.ground]
				is.True(okA && okB) // both are tokens of the stylesheet
				if got := contrast(a[theme], b[theme]); got < p.least {
					t.Errorf("%s on %s is %.2f, want %.1f", a[theme], b[theme], got, p.least)
				}
			})
		}
	}
	for name := range tokens {
		if name != "line" && !used[name] { // lines between rows are decoration
			t.Errorf("no pair has the color %s", name)
		}
	}
	if rest := regexp.MustCompile(`(?s)^.*?\n}\n`).ReplaceAllString(string(css), ""); regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgb\(|hsl\(`).MatchString(rest) {
		t.Error("the stylesheet has a color that is not a token")
	}
}

// contrast returns the contrast ratio of WCAG 2.2.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(hex string) float64 {
	channel := func(s string) float64 {
		n, _ := strconv.ParseUint(s, 16, 8)
		c := float64(n) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(hex[1:3]) + 0.7152*channel(hex[3:5]) + 0.0722*channel(hex[5:7])
}
