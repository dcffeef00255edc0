package dashboard

import "net/url"

// webhookPath is the page of a webhook, as a reference from dashboard/.
func webhookPath(id string) string { return "settings/webhooks/" + url.PathEscape(id) }
