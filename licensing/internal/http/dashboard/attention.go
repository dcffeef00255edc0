package dashboard

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/settings"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// An attentionItem is a problem or a note for the operator.
type attentionItem struct {
	Count   string // the affected object, or the number of them: the text of the link
	Text    string
	Link    string                   // a reference from dashboard/
	Failing *settings.FailingWebhook // instead of Text
	Problem bool

	Action, ActionLink string // what an admin can do; empty: nothing
}

// named is how many objects with the same problem are named; others are counted.
const named = 3

// attention returns what an operator can act on, problems first.
func attention(v *kit.Visit) (list []attentionItem, err error) {
	backlog, err := v.Opts.Backlog(v.R.Context())
	if err != nil {
		return nil, err
	}
	list = kit.Each(settings.FailingNotices(backlog), func(text string) attentionItem { return attentionItem{Text: text, Problem: true} })
	if err := v.Opts.Failing(); err != nil {
		list = append(list, attentionItem{Count: "Changes", Text: "fail: " + web.ProblemOf(err).Detail, Problem: true})
	}
	stalled := func(v *kit.Visit) (list []attentionItem, err error) {
		hooks, err := v.Webhooks.List(v.R.Context(), api.ListWebhooksParams{Limit: 1})
		if text := settings.StalledNotice(v, backlog); text != "" && len(hooks.Data) > 0 {
			list = append(list, attentionItem{Text: text, Problem: true})
		}
		return list, err
	}
	for _, part := range []func(*kit.Visit) ([]attentionItem, error){troubledWebhooks, stalled, unlicensed, refusedLicenses} {
		items, err := part(v)
		if err != nil {
			return nil, err
		}
		list = append(list, items...)
	}
	return list, nil
}

// troubledWebhooks returns the webhooks that fail or are disabled.
func troubledWebhooks(v *kit.Visit) (list []attentionItem, err error) {
	troubled, err := inner.Of(v.Webhooks).Troubled(v.R.Context())
	for i, w := range troubled {
		if i == named {
			rest := len(troubled) - named
			return append(list, attentionItem{Count: kit.Count(rest, "other webhook"), Text: kit.Verb(rest, "is", "are") + " failing or disabled", Link: "settings/webhooks", Problem: true}), nil
		}
		row := settings.WebhookRow{Webhook: w}
		item := attentionItem{Count: cmp.Or(w.Description, row.Host()), Text: "is " + row.State(), Link: kit.WebhookPath(w.ID), Problem: true}
		if item.Failing, err = settings.FailingWebhookOf(v, row); err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, err
}

// unlicensed returns the purchases that wait, with or without a license.
func unlicensed(v *kit.Visit) (list []attentionItem, err error) {
	rules := inner.Of(v.Licenses).Purchases()
	paid, unpaid, kept, more, err := rules.CountWaiting(v.R.Context())
	if err != nil {
		return nil, err
	}
	if paid > 0 {
		for f, err := range inner.Of(v.Licenses).Purchases().AllWaiting(v.R.Context()) {
			if err != nil {
				return nil, err
			}
			if f.License == nil && rules.Paid(f) {
				list = append(list, unlicensedItem(v, f))
			}
			if len(list) == named {
				break
			}
		}
		if rest := paid - len(list); rest > 0 {
			list = append(list, attentionItem{Count: kit.MatchCount{N: int64(rest), More: more}.Text("other purchase"), Text: "paid, no key", Link: "purchases#paid", Problem: true})
		}
	}
	if unpaid > 0 {
		list = append(list, attentionItem{Count: kit.MatchCount{N: int64(unpaid), More: more}.Text("purchase"), Text: "not paid yet", Link: "purchases#unpaid"})
	}
	if kept > 0 {
		list = append(list, attentionItem{Count: kit.Count(kept, "purchase"), Text: kit.Verb(kept, "waits although it has a license", "wait although they have a license"), Link: "purchases#kept", Problem: true})
	}
	return list, nil
}

// unlicensedItem says who paid for a purchase without a license, and why there is none.
func unlicensedItem(v *kit.Visit, f api.Purchase) attentionItem {
	row := purchaseRowOf(v, f)
	name, _ := f.Fields["name"].Value.(string)
	item := attentionItem{Count: cmp.Or(name, f.CustomerID, f.Reference), Link: purchasePath(f.Reference), Problem: true}
	switch {
	case row.PlanMissing():
		item.Text, item.Action, item.ActionLink = "paid and has no key: no plan "+row.Plan, "Create it", "plans/new?"+url.Values{"id": {row.Plan}}.Encode()
	case row.Waits != "":
		item.Text = "paid and has no key: " + strings.ToLower(row.Waits[:1]) + row.Waits[1:]
	default:
		item.Text, item.Action, item.ActionLink = "paid and has no key", "Create license", purchasePath(f.Reference)+"/license"
	}
	return item
}

// refusedLicenses returns how many licenses were refused in the last days because
// no seat is free or because they have expired, while that still applies. Other
// reasons are the choice of an operator or a mistake in the program.
func refusedLicenses(v *kit.Visit) (list []attentionItem, err error) {
	groups, more, err := inner.Of(v.Licenses).Refused().RefusalGroups(v.R.Context(), recentDays)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.Open > 0 && (g.Code == api.VerdictActivationLimit || g.Code == api.VerdictExpired) {
			list = append(list, attentionItem{
				Count: kit.MatchCount{N: int64(g.Open), More: more}.Text("license"), Link: refusedPath(g.Code, recentDays, true),
				Text: "refused in the last " + strconv.Itoa(recentDays) + " days: " + strings.ToLower(refusalReason(g.Code)) + " (" + kit.MatchCount{N: g.Calls, More: more}.Text("request") + ")",
			})
		}
	}
	return list, nil
}
