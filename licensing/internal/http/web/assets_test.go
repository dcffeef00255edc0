package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matryer/is"
)

// TestAssetsAreServedSmall: comments and indentation are dropped, and a browser that
// decompresses gets the same bytes compressed.
func TestAssetsAreServedSmall(t *testing.T) {
	is := is.New(t)
	css := "/* Tokens. */\n:root {\n  --gap: 2px; /* of\n  all */\n}\na:not(.b) > i,\nb { color: red; }\n"
	js := "// About it.\nconst a = 'x // y'\n  // more\n  b(`c\n`)\n"
	for len(css) < 400 { // so that it becomes smaller
		css += "p { margin: 0; }\n"
	}
	a := NewAssets(fstest.MapFS{"static/app.css": {Data: []byte(css)}, "static/app.js": {Data: []byte(js)}}, "static")
	get := func(name, accepts string) (*http.Response, string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("name", a.Names[name])
		r.Header.Set("Accept-Encoding", accepts)
		w := httptest.NewRecorder()
		is.NoErr(a.Serve(w, r))
		res := w.Result()
		is.Equal(res.ContentLength, int64(w.Body.Len()))
		is.Equal(res.Header.Get("Vary"), "Accept-Encoding")
		return res, w.Body.String()
	}
	_, plain := get("app.css", "")
	is.Equal(plain[:len(":root{--gap:2px}a:not(.b) > i,b{color:red}")], ":root{--gap:2px}a:not(.b) > i,b{color:red}")
	_, script := get("app.js", "gzip") // it would become larger
	is.Equal(script, "const a = 'x // y'\nb(`c\n`)")

	res, packed := get("app.css", "gzip, br")
	is.Equal(res.Header.Get("Content-Encoding"), "gzip")
	is.True(len(packed) < len(plain))
	body, err := gzip.NewReader(strings.NewReader(packed))
	is.NoErr(err)
	unpacked, err := io.ReadAll(body)
	is.NoErr(err)
	is.Equal(string(unpacked), plain)
}
