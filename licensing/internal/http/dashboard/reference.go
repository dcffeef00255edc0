package dashboard

import (
	"net/http"
	"strings"
)

// showReference shows the index of the API reference, an operation or an object.
// go generate writes the pages; see doc.go.
func showReference(v *visit) error {
	part := v.r.PathValue("name")
	if part != "" && templates["reference"]().Lookup("part "+part) == nil {
		return notFound("The API has no such operation or object.")
	}
	title := "API reference"
	if part != "" {
		title = part + " (API reference)"
	}
	return v.render(http.StatusOK, "reference", page{Title: title, Section: "reference", Body: struct{ Address, Part string }{
		strings.TrimSuffix(v.h.opts.PublicURL, "/"), part,
	}})
}
