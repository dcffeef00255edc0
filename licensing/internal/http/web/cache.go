package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
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
	tags, any, err := entityTags(r, "If-None-Match")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(d.Body)
	opaque := base64.RawURLEncoding.EncodeToString(sum[:16])
	h := w.Header()
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(d.Keep.Seconds())))
	h.Set("ETag", `"`+opaque+`"`)
	if any || slices.ContainsFunc(tags, func(tag entityTag) bool { return tag.opaque == opaque }) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeBody(w, http.StatusOK, d.MediaType, d.Body)
	return nil
}
