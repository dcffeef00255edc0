package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A notice shows the result of a POST once. The POST stores the notice under a
// random mark and redirects to a page with the mark in its query. The first GET
// with the mark shows the notice; a reload, a bookmark or a forged mark shows
// nothing.

// notices are the texts, by the stored word.
var notices = map[string]string{
	"created":            "The license has been created.",
	"updated":            "Your changes have been saved.",
	"unchanged":          "Nothing was changed.",
	"deleted":            "The license has been deleted.",
	"suspended":          "The license has been suspended.",
	"reinstated":         "The license has been reinstated.",
	"ended":              "The license has been revoked.",
	"renewed":            "The license has been renewed.",
	"released":           "The activation has been released.",
	"rekeyed":            "The license key has been replaced. The old key no longer works.",
	"files-voided":       "The license files have been voided.",
	"key-rotated":        "The next key signs license files now.",
	"key-compromised":    "The key has been marked as compromised.",
	"erased":             "The customer's data has been erased.",
	"password":           "Your password has been changed. Your other sessions have ended.",
	"disabled":           "The credential has been disabled and its access tokens revoked.",
	"enabled":            "The credential has been enabled. It can get access tokens again.",
	"credential-deleted": "The credential has been deleted.",
	"revoked":            "The secret and the access tokens issued for it have been revoked.",
	"invitation-revoked": "The invitation has been revoked.",
	"signed-out":         "All sessions of this operator have ended.",
	"factor-removed":     "The second factor has been removed. Your other sessions have ended.",
	"session-ended":      "The session has ended.",
	"paused":             "The webhook has been paused. Its events wait until you resume it.",
	"resumed":            "The webhook is active. Waiting events will be delivered.",
	"test-queued":        "A test event has been queued.",
	"test-sent":          "A test event has been sent.",
	"resend-queued":      "The event has been queued for delivery again.",
	"resent":             "The event has been sent again.",
	"webhook-deleted":    "The webhook has been deleted.",
	"repeated":           "This form was already submitted. Nothing was created this time.",
}

// redirectDone redirects to a page, given as a reference from dashboard/, which
// shows the notice for the given word. If the notice cannot be stored, the page
// shows none: the change itself is already made.
func (v *visit) redirectDone(to, word string) {
	mark := newMark()
	ctx := context.WithoutCancel(v.r.Context())
	if _, _, err := v.licenses.Once(ctx, mark, "", func(*license.Service) ([]byte, error) { return []byte(word), nil }); err != nil {
		v.h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "licensing: notice not stored", slog.String("request_id", v.id), slog.Any("error", err))
		v.redirect(to)
		return
	}
	v.redirect(withQuery(to, url.Values{"done": {mark}}.Encode()))
}

// withQuery adds a query to a reference. The query can be empty.
func withQuery(reference, query string) string {
	switch {
	case query == "":
		return reference
	case strings.Contains(reference, "?"):
		return reference + "&" + query
	}
	return reference + "?" + query
}

// notice returns the notice for the mark in the query, and marks the notice as
// shown. The mark is valid only for the operator who made the change.
func (v *visit) notice() string {
	mark := v.r.URL.Query().Get("done")
	if len(mark) != markLength || !v.signedIn || v.auth == nil || v.r.Method != http.MethodGet {
		return ""
	}
	ctx := v.r.Context()
	errUnknown := errors.New("no such notice")
	word, stored, err := v.licenses.Once(ctx, mark, "", func(*license.Service) ([]byte, error) { return nil, errUnknown })
	if err != nil || !stored {
		return ""
	}
	_, shown, err := v.licenses.Once(ctx, mark+" shown", "", func(*license.Service) ([]byte, error) { return nil, nil })
	if err != nil || shown {
		return ""
	}
	return notices[string(word)]
}
