package licensing

import (
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/dashboard"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Dashboard returns the part of h that people use, for hosts that serve it
// apart from the API, such as on an internal address. Its paths are the same.
func (h *Handler) Dashboard() http.Handler { return h.pages }

func (h *Handler) newPages(st store.Store) http.Handler {
	o := h.opts
	return dashboard.New(dashboard.Options{
		Licenses: h.service, Auth: h.auth, Now: o.Now, Logger: o.Logger, BodyTimeout: o.BodyTimeout,
		Operator: o.Operator, PublicURL: o.PublicURL, Origins: o.DashboardOrigins, Observe: h.observe,
		Description: api.Description, About: about(st, o),
	})
}

// isPage reports whether r is for the pages: they have all below dashboard/,
// and the root of the mount leads there.
func isPage(r *http.Request) bool {
	path := r.URL.Path
	return path == "/" || path == "" || path == "/dashboard" || strings.HasPrefix(path, "/dashboard/")
}
