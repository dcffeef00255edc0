package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// assetTypes are the content types of the files, whatever the system has for an extension.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Assets are files that pages link to. The name of each contains the hash of its content,
// so that browsers can cache it forever. Names has these names by the plain ones.
type Assets struct {
	Names map[string]string
	files map[string]asset // by the names with a hash
}

// An asset returns the content of a file, without comments and indentation, and the same
// compressed. Both are made at the first request, since a host may show no page.
type asset func() (body, zipped []byte)

// NewAssets returns the files of a folder. It panics if they cannot be read.
func NewAssets(files fs.FS, folder string) Assets {
	a := Assets{Names: map[string]string{}, files: map[string]asset{}}
	found, err := fs.Glob(files, folder+"/*")
	if err != nil {
		panic(err)
	}
	for _, file := range found {
		body, err := fs.ReadFile(files, file)
		if err != nil {
			panic(err)
		}
		name, ext, sum := path.Base(file), path.Ext(file), sha256.Sum256(body)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.Names[name], a.files[hashed] = hashed, sync.OnceValues(func() ([]byte, []byte) {
			plain := squeeze(ext, body)
			return plain, Pack(plain, gzip.BestCompression)
		})
	}
	return a
}

// comments are the comments of a file, with the white space around them.
var comments = map[string]string{".css": `(?s)\s*/\*.*?\*/\s*`, ".js": `(?m)^\s*//.*\n`}

// squeeze returns a file without comments and indentation and, if it is a stylesheet, without
// line ends. It does not understand the file: no string of it may have such a comment.
func squeeze(ext string, body []byte) []byte {
	if c := comments[ext]; c != "" {
		body = regexp.MustCompile(c).ReplaceAll(body, []byte("\n"))
		body = regexp.MustCompile(`\n\s*`).ReplaceAll(body, []byte("\n"))
	}
	if ext == ".css" {
		body = regexp.MustCompile(`\s*([{};,])\s*`).ReplaceAll(body, []byte("$1"))
		body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte(": "), []byte(":")), []byte(";}"), []byte("}"))
	}
	return bytes.TrimSpace(body)
}

// Serve serves the file that the path of the route names. It requires no sign-in.
func (a Assets) Serve(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	file, ok := a.files[name]
	if !ok {
		return api.ErrNotFound
	}
	body, zipped := file()
	h := w.Header()
	h.Set("Content-Type", assetTypes[path.Ext(name)])
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if AcceptsGzip(r) && len(zipped) < len(body) {
		h.Set("Content-Encoding", "gzip")
		body = zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // fails if the browser has disconnected
	return nil
}
