package web

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

// TestBodiesAreReadIntoLittleMemory reads bodies of various lengths, and one that
// is longer than expected.
//
// Fault: reading an import takes several times its size.
func TestBodiesAreReadIntoLittleMemory(t *testing.T) {
	for _, length := range []int{0, 1, 99, 100, 101, 5000, 1 << 20} {
		is := is.New(t)
		text := []byte(strings.Repeat("x", length))
		data, err := readAll(bytes.NewReader(text), make([]byte, 0, 100), int64(length))
		is.NoErr(err)
		is.True(bytes.Equal(data, text))
		require.AtMost(t, cap(data), max(length+512, 1024))
		text = text[:min(length, 5000)] // beyond most, the buffer grows in small steps
		data, err = readAll(iotest.HalfReader(bytes.NewReader(text)), make([]byte, 0, 1), 10)
		is.NoErr(err)
		is.True(bytes.Equal(data, text))
	}
}
