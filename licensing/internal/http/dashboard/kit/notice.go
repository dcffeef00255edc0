package kit

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

// noticeMark tells the mark of a notice from that of a form.
const noticeMark = "notice"

// maxNotices is how many marks the cookie has at most.
const maxNotices = 10

// The notices of several changes.
const (
	SaveChanges        = "Save changes" // the label of the button
	NoticeSaved        = "Your changes have been saved."
	NoticeUnchanged    = "Nothing was changed."
	NoticeRepeated     = "This form was already submitted. Nothing was created this time."
	NoticeSessionEnded = "The session has ended."
)

// RedirectDone redirects to a page, given as a reference from dashboard/, which
// shows the notice. If the notice cannot be stored, the page
// shows none: the change itself is already made.
func (v *Visit) RedirectDone(to, notice string) error {
	mark := NewMark()
	ctx := context.WithoutCancel(v.R.Context())
	if _, _, err := v.Licenses.Once(ctx, mark, noticeMark, func(*license.Service) ([]byte, error) { return []byte(notice), nil }); err != nil {
		v.Opts.Logger.LogAttrs(ctx, slog.LevelWarn, "licensing: notice not stored", slog.String("request_id", v.Id), slog.Any("error", err))
		return v.Redirect(to)
	}
	return v.Redirect(WithQuery(to, url.Values{"done": {mark}}.Encode()))
}

// WithQuery adds a query to a reference. The query can be empty.
func WithQuery(reference, query string) string {
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
func (v *Visit) notice() string {
	mark := v.R.URL.Query().Get("done")
	if len(mark) != MarkLength || !v.SignedIn || v.Auth == nil || v.R.Method != http.MethodGet {
		return ""
	}
	shown := ""
	if c, err := v.R.Cookie(noticeCookie); err == nil {
		shown = c.Value
	}
	if strings.Contains(shown, mark) {
		return ""
	}
	text, stored, err := inner.Of(v.Licenses).Call().Replay(v.R.Context(), mark, noticeMark)
	if err != nil || !stored {
		return ""
	}
	http.SetCookie(v.W, &http.Cookie{
		Name: noticeCookie, Value: mark + shown[:min(len(shown), (maxNotices-1)*MarkLength)], MaxAge: 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return string(text)
}
