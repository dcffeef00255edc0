package licensing

import (
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// Dashboard returns the handler of the dashboard pages only, for hosts that serve
// them separately from the API, for instance on an internal address. The paths
// are the same as in h.
func (h *Handler) Dashboard() http.Handler { return h.pages }

func (h *Handler) section() *web.Section {
	o := h.opts
	failing := func() error {
		if f := h.store.failing(); f != nil {
			return f.err
		}
		return nil
	}
	return dashboard.New(kit.Options{
		Licenses: h.service, Webhooks: h.webhooks, Files: h.files, Backlog: h.engine.Backlog, Failing: failing, Sealed: o.MasterKey != nil, Auth: h.auth, Operators: h.operators, Now: o.Now, Logger: o.Logger,
		Portal: h.portals.Load, Office: h.office.Load, About: h.about(), PublicURL: o.PublicURL, Mailed: rate.New(20, time.Minute, 20), Host: kit.Host(o.Dashboard),
	}).Section()
}
