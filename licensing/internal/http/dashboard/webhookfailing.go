package dashboard

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
)

// A failingWebhook is what pages say about a webhook that fails.
type failingWebhook struct {
	Does  string // what the last attempt showed, such as "Answers 500 (out of memory)"
	Since *moment
	Waits string  // how many events wait
	Next  *moment // when the next attempt starts; nil: none does
}

// failingWebhook returns what is wrong with a webhook, or nil if it does not fail.
func (v *visit) failingWebhook(w webhookRow) (*failingWebhook, error) {
	if w.State() != "failing" {
		return nil, nil
	}
	b, err := inner.Of(v.webhooks).Backlog(v.r.Context(), w.ID)
	if err != nil {
		return nil, err
	}
	out := &failingWebhook{Does: "Fails", Since: v.momentOf(w.FailingSince)}
	if a := b.Failure; a != nil && a.StatusCode != 0 {
		out.Does = "Answers " + strconv.Itoa(a.StatusCode)
		if a.Response != nil {
			out.Does += inParentheses(*a.Response)
		}
	} else if a != nil {
		out.Does += inParentheses(a.Error)
	}
	n := matchCount{int64(b.Events), b.More}
	out.Waits = n.text("event") + " " + verb(b.Events, "waits", "wait")
	if now := v.h.opts.Now(); !b.Next.IsZero() && b.Next.Before(now) {
		b.Next = now
	}
	out.Next = v.moment(b.Next)
	return out, nil
}

// inParentheses returns the first line of a text, cut to 80 characters.
func inParentheses(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return ""
	}
	if runes := []rune(line); len(runes) > 80 {
		line = string(runes[:79]) + "…"
	}
	return " (" + line + ")"
}

// brief returns the time of day of t if that is today, and the date otherwise.
func brief(t, now time.Time) string {
	if now = now.UTC(); t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 2006")
}
