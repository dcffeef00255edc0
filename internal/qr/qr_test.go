package qr

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestKnownCodes compares codes of versions 1, 5, 9, 16 and 25 with codes that other
// encoders made: of one block, with alignment patterns, with version information and
// several blocks, and with blocks of two lengths. The first line of a file is the text.
func TestKnownCodes(t *testing.T) {
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			file, err := os.ReadFile("testdata/" + name + ".txt")
			is.NoErr(err)
			text, want, _ := strings.Cut(string(file), "\n")
			var got strings.Builder
			for _, row := range Encode(text) {
				for _, dark := range row {
					if dark {
						got.WriteByte('#')
					} else {
						got.WriteByte('.')
					}
				}
				got.WriteByte('\n')
			}
			is.Equal(got.String(), want)
		})
	}
}

func TestLength(t *testing.T) {
	is := is.New(t)
	is.Equal(len(Encode(strings.Repeat("x", MaxLength))), 117)
	is.Equal(Encode(strings.Repeat("x", MaxLength+1)), nil)
	is.Equal(len(Encode("")), 21)
}

// TestDraw: the path has each dark module, and nothing else, inside the border.
func TestDraw(t *testing.T) {
	is := is.New(t)
	d, modules := Draw("licensekit"), Encode("licensekit")
	is.Equal(d.Size, len(modules)+8)
	drawn := 0
	for _, run := range strings.SplitAfter(d.Path, "z") {
		var x, y, n int
		if read, _ := fmt.Sscanf(run, "M%d %dh%dv1", &x, &y, &n); read < 3 {
			is.Equal(run, "")
			continue
		}
		is.Equal(run, fmt.Sprintf("M%d %dh%dv1h-%dz", x, y, n, n))
		for range n {
			is.True(modules[y-4][x-4])
			drawn++
			x++
		}
	}
	dark := 0
	for _, row := range modules {
		for _, d := range row {
			if d {
				dark++
			}
		}
	}
	is.Equal(drawn, dark)
	is.Equal(Draw(strings.Repeat("x", MaxLength+1)), nil)
}
