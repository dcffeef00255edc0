package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A notice shows the result of a POST once. The POST stores the notice under a
// random mark and redirects to a page with the mark in its query. The first GET
// with the mark shows the notice and writes a cookie with the mark; a reload, a
// bookmark or a forged mark shows nothing.

// noticeCookie has the marks of the last notices that a browser has shown, the
// last one first. It has no Path, so that a browser sends it with the pages of
// the same folder, such as the same page again.
const noticeCookie = "licensing_notices"

// maxNotices is how many marks the cookie has at most.
const maxNotices = 10

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
	"transferred":        "The license has been transferred to the customer.",
	"plan-applied":       "The license has the terms of the plan.",
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
	"plan-created":       "The plan has been created.",
	"plan-deleted":       "The plan has been deleted.",
	"reopened":           "The purchase has been reopened.",
	"trial-allowed":      "Another trial is allowed.",
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

// notice returns the notice for the mark in the query, unless the browser has
// shown it. The mark is valid only for the operator who made the change.
func (v *visit) notice() string {
	mark := v.r.URL.Query().Get("done")
	if len(mark) != markLength || !v.signedIn || v.auth == nil || v.r.Method != http.MethodGet {
		return ""
	}
	shown := ""
	if c, err := v.r.Cookie(noticeCookie); err == nil {
		shown = c.Value
	}
	if strings.Contains(shown, mark) {
		return ""
	}
	word, stored, err := inner.Of(v.licenses).Replay(v.r.Context(), mark, "")
	if err != nil || !stored {
		return ""
	}
	http.SetCookie(v.w, &http.Cookie{
		Name: noticeCookie, Value: mark + shown[:min(len(shown), (maxNotices-1)*markLength)], MaxAge: 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return notices[string(word)]
}
