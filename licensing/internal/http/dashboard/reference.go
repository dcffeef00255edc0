package dashboard

import (
	"net/http"
	"net/url"
	"strings"
)

// showReference shows the API reference, which go generate writes; see doc.go.
func showReference(v *visit) error {
	return v.render(http.StatusOK, "reference", page{Title: "API reference", Section: "reference", Body: strings.TrimSuffix(v.h.opts.PublicURL, "/")})
}

// showReferencePart redirects to an operation or an object in the reference.
func showReferencePart(v *visit) error {
	v.redirect("reference#" + url.PathEscape(v.params["name"]))
	return nil
}
