package dashboard

import (
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// An attentionItem is a problem or a note for the operator.
type attentionItem struct {
	Count   string // the affected object, or the number of them: the text of the link
	Text    string
	Link    string // a reference from dashboard/
	Problem bool
}

// attention returns what an operator can act on, problems first.
func (v *visit) attention(o license.Overview) (list []attentionItem, err error) {
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
		list = append(list, attentionItem{count(n, "webhook"), isVerb(int64(n)) + " failing or disabled", "settings/webhooks", true})
	}
	hooks, err := v.webhooks.List(v.r.Context(), webhook.ListParams{Limit: 1})
	if err != nil {
		return nil, err
	}
	if text := stalledNotice(backlog); text != "" && len(hooks.Data) > 0 {
		list = append(list, attentionItem{Text: text, Problem: true})
	}
	refused, err := v.refusedLicenses()
	if err != nil {
		return nil, err
	}
	list = append(list, refused...)
	if n := o.Expiring; n > 0 {
		list = append(list, attentionItem{count(int(n), "license"), expireVerb(n) + " in the next 30 days", "licenses?status=active&expires=30d", false})
	}
	return list, nil
}

// refusedLicenses returns licenses that were refused in the last days because
// no seat is free or because they have expired, while that still applies. Other
// reasons are the choice of an operator or a mistake in the program.
func (v *visit) refusedLicenses() (list []attentionItem, err error) {
	const most = 5
	refused, err := inner.Of(v.licenses).RecentlyRefused(v.r.Context())
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(refused))
	for i, r := range refused {
		ids[i] = r.License.ID
	}
	seats, err := inner.Of(v.licenses).SeatCounts(v.r.Context(), ids)
	if err != nil {
		return nil, err
	}
	for _, r := range refused {
		n := seats[r.License.ID] // without a stored count, none was used
		full := newSeatMeter(r.License, n).Full
		for _, x := range r.Refusals {
			if x.Code != license.VerdictActivationLimit && x.Code != license.VerdictExpired || !resolveRefusal(x.Code, r.License, full, "").Applies {
				continue
			}
			text := "was refused " + v.moment(x.LastAt).Relative + ": " + strings.ToLower(refusalReason(x.Code))
			list = append(list, attentionItem{Count: r.License.Name, Text: text, Link: licensePath(r.License.ID)})
			break
		}
		if len(list) == most {
			break
		}
	}
	return list, nil
}

func expireVerb(n int64) string {
	if n == 1 {
		return "expires"
	}
	return "expire"
}

func isVerb(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
