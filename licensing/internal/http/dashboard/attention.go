package dashboard

import (
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An attentionItem is a problem or a note for the operator.
type attentionItem struct {
	Count   string // the affected object, or the number of them: the text of the link
	Text    string
	Link    string // a reference from dashboard/
	Problem bool
}

// attention returns what an operator can act on, problems first.
func (v *visit) attention(o api.Overview) (list []attentionItem, err error) {
	backlog, err := v.h.opts.Backlog(v.r.Context())
	if err != nil {
		return nil, err
	}
	for _, text := range failingNotices(backlog) {
		list = append(list, attentionItem{Text: text, Problem: true})
	}
	troubled, err := inner.Of(v.webhooks).Troubled(v.r.Context())
	if err != nil {
		return nil, err
	}
	if n := len(troubled); n > 0 {
		list = append(list, attentionItem{count(n, "webhook"), verb(n, "is", "are") + " failing or disabled", "settings/webhooks", true})
	}
	hooks, err := v.webhooks.List(v.r.Context(), api.ListWebhooksParams{Limit: 1})
	if err != nil {
		return nil, err
	}
	if text := stalledNotice(backlog); text != "" && len(hooks.Data) > 0 {
		list = append(list, attentionItem{Text: text, Problem: true})
	}
	paid, unpaid, kept, more, err := inner.Of(v.licenses).Purchases().CountWaiting(v.r.Context())
	if err != nil {
		return nil, err
	}
	if paid > 0 {
		list = append(list, attentionItem{matchCount{int64(paid), more}.text("purchase"), "paid, no key", "purchases#paid", true})
	}
	if unpaid > 0 {
		list = append(list, attentionItem{matchCount{int64(unpaid), more}.text("purchase"), "not paid yet", "purchases#unpaid", false})
	}
	if kept > 0 {
		list = append(list, attentionItem{count(kept, "purchase"), verb(kept, "waits although it has a license", "wait although they have a license"), "purchases#kept", true})
	}
	refused, err := v.refusedLicenses()
	if err != nil {
		return nil, err
	}
	list = append(list, refused...)
	if n := int(o.Expiring); n > 0 {
		list = append(list, attentionItem{count(n, "license"), verb(n, "expires", "expire") + " in the next 30 days", "licenses?status=active&expires=30d", false})
	}
	return list, nil
}

// refusedLicenses returns how many licenses were refused in the last days because
// no seat is free or because they have expired, while that still applies. Other
// reasons are the choice of an operator or a mistake in the program.
func (v *visit) refusedLicenses() (list []attentionItem, err error) {
	groups, more, err := inner.Of(v.licenses).Refused().RefusalGroups(v.r.Context(), recentDays)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.Open > 0 && (g.Code == api.VerdictActivationLimit || g.Code == api.VerdictExpired) {
			list = append(list, attentionItem{
				Count: matchCount{int64(g.Open), more}.text("license"), Link: refusedPath(g.Code, recentDays, true),
				Text: "refused in the last " + strconv.Itoa(recentDays) + " days: " + strings.ToLower(refusalReason(g.Code)) + " (" + matchCount{g.Calls, more}.text("request") + ")",
			})
		}
	}
	return list, nil
}

// verb returns the singular of a verb for 1, and the plural for other numbers.
func verb(n int, singular, plural string) string {
	if n == 1 {
		return singular
	}
	return plural
}
