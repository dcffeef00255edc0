package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/forms"
)

// A notice tells the operator, once, what a POST has done. The POST stores the
// notice and redirects to a page whose query names it by a random mark. The
// first GET with the mark shows the notice; a reload, a bookmark or a made-up
// mark shows nothing.

// notices are the texts, by the word that is stored.
var notices = map[string]string{
	"created":         "The license has been created.",
	"updated":         "Your changes have been saved.",
	"unchanged":       "Nothing was changed.",
	"deleted":         "The license has been deleted.",
	"suspended":       "The license is suspended.",
	"reinstated":      "The license has been reinstated.",
	"ended":           "The license is revoked.",
	"renewed":         "The license has been renewed.",
	"released":        "The seat has been released.",
	"rekeyed":         "The license has a new key. The one before has stopped working.",
	"password":        "Your password has been changed. Every other session of yours has ended.",
	"disabled":        "The credential is disabled, and its access tokens have ended.",
	"enabled":         "The credential is enabled. It can ask for access tokens again.",
	"revoked":         "The secret has been revoked, and the access tokens it was used for have ended.",
	"withdrawn":       "The invitation has been withdrawn.",
	"signed-out":      "Every session of this operator has ended.",
	"paused":          "The webhook is paused. Its events wait until it is resumed.",
	"resumed":         "The webhook is active, and gets what has waited for it.",
	"tested":          "A test event is on its way. See below how it goes.",
	"resent":          "The event is on its way again.",
	"webhook-deleted": "The webhook has been deleted.",
	"repeated":        "This form was sent before: what it asked for had already been created.",
}

// redirectDone answers 303 to a page, given as a reference from dashboard/,
// that shows the notice named by word. If the notice cannot be stored, the
// page shows none: the change itself is already made.
func (v *visit) redirectDone(to, word string) {
	mark := forms.NewMark()
	ctx := context.WithoutCancel(v.r.Context())
	if _, _, err := v.once(ctx, mark, func() (string, error) { return word, nil }); err != nil {
		v.h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "licensing: notice not stored", slog.String("request_id", v.id), slog.Any("error", err))
		v.redirect(to)
		return
	}
	v.redirect(withQuery(to, url.Values{"done": {mark}}.Encode()))
}

// withQuery adds parameters, if there are any, to a reference.
func withQuery(reference, query string) string {
	switch {
	case query == "":
		return reference
	case strings.Contains(reference, "?"):
		return reference + "&" + query
	}
	return reference + "?" + query
}

// notice returns the notice that the query names, and marks it as shown. The
// mark is bound to the operator who made the change.
func (v *visit) notice() string {
	mark := v.r.URL.Query().Get("done")
	if len(mark) != forms.MarkLength || !v.known || v.auth == nil || v.r.Method != http.MethodGet {
		return ""
	}
	ctx := v.r.Context()
	errUnknown := errors.New("no such notice")
	word, stored, err := v.once(ctx, mark, func() (string, error) { return "", errUnknown })
	if err != nil || !stored {
		return ""
	}
	_, shown, err := v.once(ctx, mark+" shown", func() (string, error) { return "", nil })
	if err != nil || shown {
		return ""
	}
	return notices[word]
}
