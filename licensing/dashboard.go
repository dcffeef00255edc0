package licensing

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

// Dashboard returns the part of h that people use, for hosts that serve it
// apart from the API, such as on an internal address. Its paths are the same.
func (h *Handler) Dashboard() http.Handler { return h.pages }

func (h *Handler) section() *web.Section {
	o := h.opts
	return dashboard.New(dashboard.Options{
		Licenses: h.service, Auth: h.auth, Operators: h.operators, Forms: h.forms, Now: o.Now, Logger: o.Logger,
		Operator: o.Dashboard.Operator, PublicURL: o.PublicURL, Origins: o.Dashboard.Origins,
		Description: api.Description, About: h.about(),
	}).Section()
}
