// Package payment gives users of a host licenses and trials. It has code of the guide on selling.
package payment

import (
	"context"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// EnsureLicense returns the license of a user of the host, and creates it when there
// is none. Call it at each sign-in: the reference makes the license the only one.
func EnsureLicense(ctx context.Context, sales *selling.Service, userID string, joined time.Time) (*api.License, error) {
	f, err := sales.RecordPurchase(ctx, api.RecordPurchaseParams{
		Reference: "user:" + userID, At: joined, CustomerID: userID, PlanID: "free", State: api.PurchaseActive,
	})
	return f.License, err
}

// StartTrial starts the trial of a customer on a device, once.
func StartTrial(ctx context.Context, sales *selling.Service, customer, mail, device string) (api.Trial, error) {
	return sales.StartTrial(ctx, api.StartTrialParams{
		PlanID: "trial", CustomerID: customer, Subjects: []string{"device:" + device, "mail:" + foldMail(mail)},
	})
}

// foldMail returns what is the same for the addresses of one mailbox: the address in
// lower case, and without what follows a plus sign.
func foldMail(address string) string {
	name, domain, _ := strings.Cut(strings.ToLower(address), "@")
	name, _, _ = strings.Cut(name, "+")
	return name + "@" + domain
}
