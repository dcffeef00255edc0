package dashboard

import (
	"slices"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
)

// A step is one item of the setup checklist.
type step struct {
	Done         bool
	Title, Text  string
	Link, Action string // the page for the step, as a reference from dashboard/; empty if there is none
}

// steps returns the setup checklist, or nothing if each step is done.
func (v *visit) steps(licenses int64) ([]step, error) {
	ctx := v.r.Context()
	clients, err := v.auth.ListClients(ctx, auth.ListClientsParams{Limit: 1})
	if err != nil {
		return nil, err
	}
	list := []step{
		{
			Done: licenses > 0, Title: "Create the first license", Text: "A license allows a customer to use a product, and has a key that the licensed program validates.",
			Link: "licenses/new", Action: "New license",
		},
		{
			Done: len(clients.Data) > 0, Title: "Create an API credential", Text: "Your shop or build server uses it to create licenses over the API.",
			Link: "settings/credentials/new", Action: "New credential",
		},
	}
	if v.h.opts.Operator == nil {
		people, err := v.operators.List(ctx, operator.ListParams{Limit: 200})
		if err != nil {
			return nil, err
		}
		admins := 0
		for _, op := range people.Data {
			if op.Role == operator.RoleAdmin && !op.Disabled {
				admins++
			}
		}
		list = append(list, step{
			Done: admins > 1 || people.HasMore, Title: "Invite a second admin", Text: "Another admin can reset your password if you lose it.",
			Link: "settings/operators/new", Action: "Invite operator",
		})
	}
	list = append(list,
		step{
			Done: v.h.opts.PublicURL != "", Title: "Set the public URL",
			Text: "Set Options.PublicURL in the host application. Clients use it to find the OAuth endpoints, and the example programs show it.",
		},
		step{
			Done: v.h.opts.Sealed, Title: "Encrypt stored secrets",
			Text: "Set Options.MasterKey in the host application. It encrypts the secrets of webhooks and the keys that sign license files.",
		},
	)
	if !slices.ContainsFunc(list, func(s step) bool { return !s.Done }) {
		return nil, nil
	}
	return list, nil
}
