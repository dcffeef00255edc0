package bidi

import (
	"html/template"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestVisible: every control is shown or left out, and letters of every script stay.
func TestVisible(t *testing.T) {
	is := is.New(t)
	is.Equal(Visible("a\u202ab\u202bc\u202cd\u202de\u202ef\u2066g\u2067h\u2068i\u2069j"), "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh\ufffdi\ufffdj")
	is.Equal(Visible("\u200fשלום\u200e \u061cمرحبا"), "שלום مرحبا")
	const plain = "Ünïcode <\ufeff👩‍💻 日本"
	is.Equal(Visible(plain), plain)
}

// TestPage: all of a page but the values of its forms; a text cannot look like a value.
func TestPage(t *testing.T) {
	is := is.New(t)
	source := `<p title="{{.}}">{{.}}</p><input value="{{.}}"><textarea>{{.}}</textarea><input type="hidden" value="{{.}}"><b>{{.}}</b>`
	var b strings.Builder
	is.NoErr(template.Must(template.New("").Parse(source)).Execute(&b, "x\u202e value=\"\u2066\" <textarea>\u2067"))
	text := string(Page([]byte(b.String())))
	is.Equal(strings.Count(text, "\u202e"), 3)
	is.Equal(strings.Count(text, "\ufffd"), 9)
	for _, shown := range []string{"<p title=\"x\ufffd ", ">x\ufffd value", "<b>x\ufffd "} {
		is.True(strings.Contains(text, shown))
	}
	is.Equal(string(Page([]byte("<p>plain</p>"))), "<p>plain</p>")
}
