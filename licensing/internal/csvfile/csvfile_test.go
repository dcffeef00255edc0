package csvfile_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/csvfile"
)

func TestFormulasBecomeText(t *testing.T) {
	is := is.New(t)
	var out bytes.Buffer
	w := csvfile.NewWriter(&out)
	header := []string{"a", "b"}
	w.Write(header)
	for cell, want := range map[string]string{
		"text": "text", "a=b": "a=b", "'=1": "'=1", "": "",
		"=1": "'=1", "-1": "'-1", "+1": "'+1", "@a": "'@a", "＝1": "'＝1",
		"a;=1": "a;'=1", "a; +1": "a; '+1", "=1;=2": "'=1;'=2",
	} {
		out.Reset()
		w.Write([]string{"x", cell})
		is.NoErr(w.Flush())
		_, got, _ := bytes.Cut(bytes.TrimSuffix(out.Bytes(), []byte("\r\n")), []byte("x,"))
		is.Equal(string(got), want)
		if cell != "'=1" {
			is.Equal(csvfile.Unescape(want), cell)
		}
	}
	is.Equal(header, []string{"a", "b"})
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
	is.True(errors.Is(w.Flush(), errBroken))
}
