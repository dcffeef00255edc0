package dashboard

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// fail writes the page for a problem.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, p *web.Problem) {
	web.SetHeaders(w.Header(), kit.PageHeader)
	if web.PathTooLong(r.URL.EscapedPath()) {
		// Without links: each relative link would be as long as the path.
		http.Error(w, p.Detail, p.Status)
		return
	}
	kit.VisitOf(&h.opts, w, r).RenderError(p)
}
