package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// noPage answers a request for an address without a page. An operator who is
// signed in keeps the navigation; with Options.Operator, the host may answer a
// stranger itself.
func (v *visit) noPage(problem error) error {
	if !v.reads() {
		return problem
	}
	r := &route{access: anybody}
	if v.h.opts.Operator != nil {
		r.access = operators
	}
	if done, err := v.identify(r); done || err != nil {
		return err
	}
	return problem
}

// whyMissing replaces the error about a license or a webhook that does not
// exist by one that says what became of it, as far as the audit log knows.
func (v *visit) whyMissing(err error) error {
	id := v.params["id"]
	if id == "" || !errors.Is(err, license.ErrNotFound) {
		return err
	}
	kind := "license"
	if strings.HasPrefix(v.path, "settings/webhooks/") {
		kind = "webhook"
	}
	newest, failed := v.licenses.Events(v.r.Context(), license.EventsParams{Subject: id, NewestFirst: true, Limit: 1})
	switch {
	case failed != nil && !errors.Is(failed, license.ErrInvalid): // an id that cannot be one
		return failed
	case len(newest.Data) > 0 && strings.HasSuffix(newest.Data[0].Type, ".deleted"):
		e := newest.Data[0]
		who := names{v: v}
		name, _ := who.actor(e.Actor)
		return &web.Problem{Status: http.StatusNotFound, Code: "deleted", Cause: err,
			Detail: "This " + kind + " was deleted on " + v.moment(e.Timestamp).Full + " by " + name + "."}
	case len(newest.Data) > 0: // it exists, or did when that happened
		return err
	}
	return &web.Problem{Status: http.StatusNotFound, Code: "not_found", Cause: err,
		Detail: "There is no " + kind + " with this id. If it was deleted, that is longer ago than events are kept."}
}
