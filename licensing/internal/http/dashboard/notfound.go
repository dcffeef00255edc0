package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// notFoundPage responds to a path without a page. A signed-in operator keeps the
// navigation. With Options.Dashboard.Operator, the host application can respond
// instead.
func (h *Handler) notFoundPage(w http.ResponseWriter, r *http.Request) error {
	problem := kit.NotFound("This page does not exist. Check the address.")
	v := kit.VisitOf(&h.opts, w, r)
	if r.URL.Path == "" && v.IsRead() && r.RequestURI != "" {
		return redirectFromMount(w, r)
	}
	if !v.IsRead() || v.Path == "" || web.PathTooLong(r.URL.EscapedPath()) {
		return problem
	}
	rt := &kit.Route{Access: kit.Public}
	if h.opts.Operator != nil {
		rt.Access = kit.Operators
	}
	done, err := identify(v, rt)
	switch {
	case done:
		return nil
	case err == nil:
		err = problem
	}
	web.Fail(v.W, v.R, err)
	return nil
}

// explainNotFound replaces the error for an unknown record, which speaks of an API client. If
// the events show that the record was deleted, the new error
// says when and by whom.
func explainNotFound(v *kit.Visit, err error) error {
	if !errors.Is(err, api.ErrNotFound) || errors.As(err, new(*web.Problem)) {
		return err
	}
	unknown := kit.NotFound("This record does not exist. Check the address.")
	id := v.R.PathValue("id")
	if strings.HasPrefix(v.Path, "purchase/") {
		return kit.NotFound("There is no purchase with this reference. Check the address.")
	} else if id == "" {
		return unknown
	}
	kind := "license"
	switch {
	case strings.HasPrefix(v.Path, "plan/"):
		kind = "plan"
	case strings.HasPrefix(v.Path, "settings/operators/"):
		kind = "operator"
	case strings.HasPrefix(v.Path, "settings/credentials/"):
		kind = "API client"
	case strings.HasPrefix(v.Path, "settings/webhooks/"):
		kind = "webhook"
	}
	newest, failed := v.Licenses.Events(v.R.Context(), api.ListEventsParams{Subject: id, NewestFirst: true, Limit: 1})
	switch {
	case failed != nil && !errors.Is(failed, api.ErrInvalid): // ErrInvalid: the id is malformed
		return failed
	case len(newest.Data) > 0 && strings.HasSuffix(newest.Data[0].Type, ".deleted"):
		e := newest.Data[0]
		names := kit.ActorNames{V: v}
		name, _ := names.Actor(e.Actor)
		return web.NewProblem(http.StatusNotFound, "deleted",
			"This "+kind+" was deleted on "+v.Moment(e.Timestamp).Full+" by "+name+".").WithCause(err)
	case len(newest.Data) > 0: // the object exists; the error is about something else
		return unknown
	}
	return web.NewProblem(http.StatusNotFound, "not_found",
		"There is no "+kind+" with this ID. If there was one, the record of its deletion is no longer kept.").WithCause(err)
}
