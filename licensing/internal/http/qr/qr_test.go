package qr

import (
	"os"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestKnownCodes compares codes of versions 1, 5 and 9 with codes that another
// encoder made: of one block, with alignment patterns, and with version
// information and several blocks. The first line of a file is the text.
func TestKnownCodes(t *testing.T) {
	for _, name := range []string{"1", "2", "3"} {
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
	is.Equal(len(Encode(strings.Repeat("x", MaxLength))), 53)
	is.Equal(Encode(strings.Repeat("x", MaxLength+1)), nil)
	is.Equal(len(Encode("")), 21)
}
