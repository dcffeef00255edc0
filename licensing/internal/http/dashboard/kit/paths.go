package kit

import (
	"net/url"
)

func CredentialPath(id string) string { return "settings/credentials/" + url.PathEscape(id) }

func OperatorPath(id string) string { return "settings/operators/" + url.PathEscape(id) }

// PlanPath returns the page of a plan, as a reference from dashboard/.
func PlanPath(id string) string { return "plan/" + url.PathEscape(id) }

// WebhookPath returns the page of a webhook, as a reference from dashboard/.
func WebhookPath(id string) string { return "settings/webhooks/" + url.PathEscape(id) }
