package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var static embed.FS

// assetTypes are the content types of the files, by extension.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// An asset is a file that pages link to. Its name contains the hash of its
// content, so that browsers can cache it forever.
type asset struct {
	contentType string
	body        []byte
}

// assets has the files by their hashed names; hashedNames has the hashed names
// by the plain names.
var assets, hashedNames = loadAssets()

func loadAssets() (map[string]asset, map[string]string) {
	files, err := fs.Glob(static, "static/*")
	if err != nil {
		panic(err)
	}
	byName, names := map[string]asset{}, map[string]string{}
	for _, file := range files {
		body, err := static.ReadFile(file)
		if err != nil {
			panic(err)
		}
		name, ext := path.Base(file), path.Ext(file)
		sum := sha256.Sum256(body)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
		byName[hashed] = asset{assetTypes[ext], body}
		names[name] = hashed
	}
	return byName, names
}

// serveAsset serves a file. It requires no sign-in.
func serveAsset(w http.ResponseWriter, r *http.Request) error {
	a, ok := assets[r.PathValue("name")]
	if !ok {
		return notFound("There is no such file.")
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // fails if the browser has disconnected
	return nil
}
