package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// An attentionItem is a problem or a note for the operator.
type attentionItem struct {
	Count   string // the number of affected objects, the text of the link
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
	hooks, err := v.webhooks.List(v.r.Context())
	if err != nil {
		return nil, err
	}
	failing := int64(0)
	for _, w := range hooks {
		if w.FailingSince != nil || w.Status == webhook.StatusDisabled {
			failing++
		}
	}
	if failing > 0 {
		list = append(list, attentionItem{count(int(failing), "webhook"), isVerb(failing) + " failing or disabled", "settings/webhooks", true})
	}
	if text := stalledNotice(backlog); text != "" && len(hooks) > 0 {
		list = append(list, attentionItem{Text: text, Problem: true})
	}
	if n := o.Expiring; n > 0 {
		list = append(list, attentionItem{count(int(n), "license"), expireVerb(n) + " in the next 30 days", "licenses?status=active&expires=30d", false})
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
