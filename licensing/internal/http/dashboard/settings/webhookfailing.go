package settings

import (
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// A FailingWebhook is what pages say about a webhook that fails.
type FailingWebhook struct {
	Does  string // what the last attempt showed, such as "Answers 500 (out of memory)"
	Since *kit.Moment
	Waits string      // how many events wait
	Next  *kit.Moment // when the next attempt starts; nil: none does
}

// FailingWebhookOf returns what is wrong with a webhook, or nil if it does not fail.
func FailingWebhookOf(v *kit.Visit, w WebhookRow) (*FailingWebhook, error) {
	if w.State() != "failing" {
		return nil, nil
	}
	b, err := inner.Of(v.Webhooks).Backlog(v.R.Context(), w.ID)
	if err != nil {
		return nil, err
	}
	out := &FailingWebhook{Does: "Fails", Since: v.MomentOf(w.FailingSince)}
	if a := b.Failure; a != nil && a.StatusCode != 0 {
		out.Does = "Answers " + strconv.Itoa(a.StatusCode)
		if a.Response != nil {
			out.Does += inParentheses(*a.Response)
		}
	} else if a != nil {
		out.Does += inParentheses(a.Error)
	}
	n := kit.MatchCount{N: int64(b.Events), More: b.More}
	out.Waits = n.Text("event") + " " + kit.Verb(b.Events, "waits", "wait")
	if now := v.Opts.Now(); !b.Next.IsZero() && b.Next.Before(now) {
		b.Next = now
	}
	out.Next = v.Moment(b.Next)
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
