package csvfile_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/csvfile"
)

func TestFormulasBecomeText(t *testing.T) {
	is := is.New(t)
	var out bytes.Buffer
	w := csvfile.NewWriter(&out)
	header := []string{"a", "b"}
	w.Write(header)
	for cell, want := range map[string]string{
		"text": "text", "a=b": "a=b", "'a": "'a", "": "",
		"=1": "'=1", "-1": "'-1", "+1": "'+1", "@a": "'@a", "＝1": "'＝1",
		"'=1": "''=1", "''@a": "'''@a", "a;'=1": "a;''=1",
		"a;=1": "a;'=1", "a; +1": "a; '+1", "=1;=2": "'=1;'=2",
	} {
		out.Reset()
		w.Write([]string{"x", cell})
		is.NoErr(w.Flush())
		_, got, _ := bytes.Cut(bytes.TrimSuffix(out.Bytes(), []byte("\r\n")), []byte("x,"))
		is.Equal(string(got), want)
	}
	is.Equal(header, []string{"a", "b"})
}

// TestCellsAreReadBack writes random cells of the characters that matter, and
// reads them again.
func TestCellsAreReadBack(t *testing.T) {
	is := is.New(t)
	const formulas = "=+-@\t＝＋－＠"
	alphabet := []rune(formulas + "'''';; \",\na1")
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]rune, random.IntN(8))
		for i := range text {
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		var out bytes.Buffer
		w := csvfile.NewWriter(&out)
		w.Write([]string{"x", string(text)})
		is.NoErr(w.Flush())
		row, err := csv.NewReader(&out).Read()
		is.NoErr(err)
		is.Equal(csvfile.Unescape(row[1]), string(text))
		for i, part := range strings.Split(row[1], ";") {
			if i > 0 {
				part = strings.TrimLeft(part, ` "`)
			}
			is.True(part == "" || !strings.ContainsRune(formulas, []rune(part)[0])) // a spreadsheet shows text
		}
	}
}

type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriter(t *testing.T) {
	is := is.New(t)
	var out bytes.Buffer
	w := csvfile.NewWriter(&out)
	w.Write([]string{"name", "reason"})
	w.Write([]string{"Zoë", "\ta, \"b\""})
	is.NoErr(w.Flush())
	is.Equal(out.String(), "\ufeffname,reason\r\nZoë,\"'\ta, \"\"b\"\"\"\r\n")

	w = csvfile.NewWriter(broken{})
	w.Write([]string{"a"})
	require.ErrorIs(t, w.Flush(), errBroken)
}
