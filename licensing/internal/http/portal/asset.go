package portal

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

//go:embed static
var static embed.FS

// hashedNames are the names of the assets with the hash of their content, so that
// browsers can keep them forever.
var hashedNames = map[string]string{"portal.css": hashedName("portal.css"), "portal.js": hashedName("portal.js")}

func hashedName(name string) string {
	body, err := static.ReadFile("static/" + name)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
}

// serveAsset serves a style sheet or a script. It asks for no customer.
func serveAsset(w http.ResponseWriter, r *http.Request) error {
	for name, hashed := range hashedNames {
		if hashed == r.PathValue("name") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			http.ServeFileFS(w, r, static, "static/"+name)
			return nil
		}
	}
	return api.ErrNotFound
}
