package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"
)

// A Document is the result of an endpoint that caches may keep for a while.
type Document struct {
	MediaType string
	Keep      time.Duration
	Body      []byte
}

// write responds to a GET with d, or with 304 if the client has it. The entity tag
// is a digest of the document.
func (d Document) write(w http.ResponseWriter, r *http.Request) error {
	sum := sha256.Sum256(d.Body)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	known, err := notModified(r, etag)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(d.Keep.Seconds())))
	if known {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeBody(w, http.StatusOK, d.MediaType, d.Body)
	return nil
}
