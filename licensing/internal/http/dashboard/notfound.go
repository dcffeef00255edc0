package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// unlessGone returns an error, or nil if it only says that a record does not exist.
func unlessGone(err error) error {
	if errors.Is(err, api.ErrNotFound) {
		return nil
	}
	return err
}

// notFoundPage responds to a path without a page. A signed-in operator keeps the
// navigation. With Options.Dashboard.Operator, the host application can respond
// instead.
func (h *Handler) notFoundPage(w http.ResponseWriter, r *http.Request) error {
	problem := notFound("This page does not exist. Check the address.")
	v := h.visit(w, r)
	if r.URL.Path == "" && v.isRead() && r.RequestURI != "" {
		return redirectFromMount(w, r)
	}
	if !v.isRead() || v.path == "" || web.PathTooLong(r.URL.EscapedPath()) {
		return problem
	}
	rt := &route{access: public}
	if h.opts.Operator != nil {
		rt.access = operators
	}
	done, err := v.identify(rt)
	switch {
	case done:
		return nil
	case err == nil:
		err = problem
	}
	web.Fail(v.w, v.r, err)
	return nil
}

// explainNotFound replaces the error for an unknown license, webhook or
// credential. If the events show that the object was deleted, the new error says
// when and by whom.
func (v *visit) explainNotFound(err error) error {
	id := v.r.PathValue("id")
	if id == "" || !errors.Is(err, api.ErrNotFound) {
		return err
	}
	kind := "license"
	switch {
	case strings.HasPrefix(v.path, "settings/credentials/"):
		kind = "credential"
	case strings.HasPrefix(v.path, "settings/webhooks/"):
		kind = "webhook"
	}
	newest, failed := v.licenses.Events(v.r.Context(), api.ListEventsParams{Subject: id, NewestFirst: true, Limit: 1})
	switch {
	case failed != nil && !errors.Is(failed, api.ErrInvalid): // ErrInvalid: the id is malformed
		return failed
	case len(newest.Data) > 0 && strings.HasSuffix(newest.Data[0].Type, ".deleted"):
		e := newest.Data[0]
		names := actorNames{v: v}
		name, _ := names.actor(e.Actor)
		return web.NewProblem(http.StatusNotFound, "deleted",
			"This "+kind+" was deleted on "+v.moment(e.Timestamp).Full+" by "+name+".").WithCause(err)
	case len(newest.Data) > 0: // the object exists; the error is about something else
		return err
	}
	return web.NewProblem(http.StatusNotFound, "not_found",
		"There is no "+kind+" with this ID. If there was one, the record of its deletion is no longer kept.").WithCause(err)
}
