package web

import (
	"cmp"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Download responds with a text that the browser stores under a name, which has
// no characters that a header must quote.
func Download(w http.ResponseWriter, mediaType, name, text string) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = io.WriteString(w, text) // fails if the browser has disconnected
}

// DownloadFile responds with the text of a license file. Its name has the product, the
// device if the file is for one, and the day on which the file ends, such as
// "atlas-front-desk-2027-01-31.license".
func DownloadFile(w http.ResponseWriter, file license.File, text string) {
	parts := []string{file.FileClaims().ProductID}
	if a := file.Activation; a != nil {
		parts = append(parts, cmp.Or(a.Name, a.Fingerprint))
	}
	name := ""
	for _, part := range parts {
		part = notInFileName.ReplaceAllString(part, "-")
		if part = strings.Trim(part[:min(len(part), 60)], "-."); part != "" {
			name += part + "-"
		}
	}
	Download(w, "application/jwt", name+file.ExpiresAt.UTC().Format(time.DateOnly)+".license", text)
}

// notInFileName matches what a file name must not have.
var notInFileName = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)
