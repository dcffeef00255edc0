package dashboard

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An attentionItem is a problem or a note for the operator.
type attentionItem struct {
	Count   string // the affected object, or the number of them: the text of the link
	Text    string
	Link    string          // a reference from dashboard/
	Failing *failingWebhook // instead of Text
	Problem bool

	Action, ActionLink string // what an admin can do; empty: nothing
}

// named is how many objects with the same problem are named; others are counted.
const named = 3

// attention returns what an operator can act on, problems first.
func (v *visit) attention() (list []attentionItem, err error) {
	backlog, err := v.h.opts.Backlog(v.r.Context())
	if err != nil {
		return nil, err
	}
	list = each(failingNotices(backlog), func(text string) attentionItem { return attentionItem{Text: text, Problem: true} })
	stalled := func() (list []attentionItem, err error) {
		hooks, err := v.webhooks.List(v.r.Context(), api.ListWebhooksParams{Limit: 1})
		if text := stalledNotice(backlog); text != "" && len(hooks.Data) > 0 {
			list = append(list, attentionItem{Text: text, Problem: true})
		}
		return list, err
	}
	for _, part := range []func() ([]attentionItem, error){v.troubledWebhooks, stalled, v.unfulfilled, v.refusedLicenses} {
		items, err := part()
		if err != nil {
			return nil, err
		}
		list = append(list, items...)
	}
	return list, nil
}

// troubledWebhooks returns the webhooks that fail or are disabled.
func (v *visit) troubledWebhooks() (list []attentionItem, err error) {
	troubled, err := inner.Of(v.webhooks).Troubled(v.r.Context())
	for i, w := range troubled {
		if i == named {
			rest := len(troubled) - named
			return append(list, attentionItem{Count: count(rest, "other webhook"), Text: verb(rest, "is", "are") + " failing or disabled", Link: "settings/webhooks", Problem: true}), nil
		}
		row := webhookRow{Webhook: w}
		item := attentionItem{Count: cmp.Or(w.Description, row.Host()), Text: "is " + row.State(), Link: webhookPath(w.ID), Problem: true}
		if item.Failing, err = v.failingWebhook(row); err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, err
}

// unfulfilled returns the purchases that wait, with or without a license.
func (v *visit) unfulfilled() (list []attentionItem, err error) {
	rules := inner.Of(v.licenses).Purchases()
	paid, unpaid, kept, more, err := rules.CountWaiting(v.r.Context())
	if err != nil {
		return nil, err
	}
	if paid > 0 {
		for f, err := range inner.Of(v.licenses).Purchases().AllWaiting(v.r.Context()) {
			if err != nil {
				return nil, err
			}
			if f.License == nil && rules.Paid(f) {
				list = append(list, v.unfulfilledItem(f))
			}
			if len(list) == named {
				break
			}
		}
		if rest := paid - len(list); rest > 0 {
			list = append(list, attentionItem{Count: matchCount{int64(rest), more}.text("other purchase"), Text: "paid, no key", Link: "purchases#paid", Problem: true})
		}
	}
	if unpaid > 0 {
		list = append(list, attentionItem{Count: matchCount{int64(unpaid), more}.text("purchase"), Text: "not paid yet", Link: "purchases#unpaid"})
	}
	if kept > 0 {
		list = append(list, attentionItem{Count: count(kept, "purchase"), Text: verb(kept, "waits although it has a license", "wait although they have a license"), Link: "purchases#kept", Problem: true})
	}
	return list, nil
}

// unfulfilledItem says who paid for a purchase without a license, and why there is none.
func (v *visit) unfulfilledItem(f api.Fulfillment) attentionItem {
	row := v.purchaseRow(f)
	name, _ := f.Fields["name"].Value.(string)
	item := attentionItem{Count: cmp.Or(name, f.CustomerID, f.Reference), Link: purchasePath(f.Reference), Problem: true}
	switch {
	case row.PlanMissing():
		item.Text, item.Action, item.ActionLink = "paid and has no key: no plan "+row.Plan, "Create it", "plans/new?"+url.Values{"id": {row.Plan}}.Encode()
	case row.Waits != "":
		item.Text = "paid and has no key: " + strings.ToLower(row.Waits[:1]) + row.Waits[1:]
	default:
		item.Text, item.Action, item.ActionLink = "paid and has no key", "Create license", purchasePath(f.Reference)+"/fulfill"
	}
	return item
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
