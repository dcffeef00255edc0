package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"

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
	files fs.FS
	plain map[string]string // the paths by the names with a hash
}

// NewAssets returns the files of a folder. It panics if they cannot be read.
func NewAssets(files fs.FS, folder string) Assets {
	a := Assets{Names: map[string]string{}, files: files, plain: map[string]string{}}
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
		a.Names[name], a.plain[hashed] = hashed, file
	}
	return a
}

// Serve serves the file that the path of the route names. It requires no sign-in.
func (a Assets) Serve(w http.ResponseWriter, r *http.Request) error {
	file, ok := a.plain[r.PathValue("name")]
	if !ok {
		return api.ErrNotFound
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(file)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeFileFS(w, r, a.files, file)
	return nil
}
