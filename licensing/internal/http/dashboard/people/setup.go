package people

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// A Step is one item of the setup checklist.
type Step struct {
	Done         bool
	Title, Text  string
	Link, Action string // the page for the step, as a reference from dashboard/; empty if there is none
}

// setupCookie says that the operator has dismissed the setup checklist; see themeCookie.
const setupCookie = "licensing_setup"

// DismissSetup hides the setup checklist in this browser for a year.
func DismissSetup(v *kit.Visit) error {
	http.SetCookie(v.W, &http.Cookie{Name: setupCookie, Value: "dismissed", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	return v.Redirect("")
}

// Checked reports whether a license was validated lately.
func Checked(v *kit.Visit) (bool, error) {
	usage, err := inner.Of(v.Licenses).Refused().Usage(v.R.Context())
	for _, day := range usage {
		if day.Validations > 0 {
			return true, err
		}
	}
	return false, err
}

// Steps returns the setup checklist, or nothing if each step is done or the operator has
// dismissed it. Without licenses it is always there: the overview has nothing else.
func Steps(v *kit.Visit, licenses int64) ([]Step, error) {
	ctx := v.R.Context()
	if _, err := v.R.Cookie(setupCookie); err == nil && licenses > 0 {
		return nil, nil
	}
	clients, err1 := v.Auth.ListClients(ctx, auth.ListClientsParams{Limit: 1})
	plans, err2 := selling.New(v.Licenses).ListPlans(ctx, api.ListPlansParams{Limit: 1})
	checked, err3 := Checked(v)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	list := []Step{
		{
			Done: len(plans.Data) > 0, Title: "Create a plan", Text: "A plan has the terms of what a price buys. Purchases, trials and new licenses name it.",
			Link: "plans/new", Action: "New plan",
		},
		{
			Done: licenses > 0, Title: "Create the first license", Text: "A license allows a customer to use a product, and has a key that the licensed program validates.",
			Link: "licenses/new", Action: "New license",
		},
		{
			Done: len(clients.Data) > 0, Title: "Create an API client", Text: "Your shop or build server uses it to create licenses over the API.",
			Link: "settings/credentials/new", Action: "New API client",
		},
		{
			Done: checked, Title: "Check a license in the program", Text: "The program validates its license key, with package licensing/program or over the API. The page of the license shows how.",
			Link: "licenses", Action: "View licenses",
		},
		{
			Done: v.Opts.Portal(), Title: "Add the customer pages",
			Text: v.Opts.Says("Mount Handler.Portal in the host application.", "Set Mail and "+v.Opts.Option("PublicURL")+".") + " Customers see their licenses there, remove devices and get license files.",
		},
	}
	if v.Opts.Operator == nil {
		people, err := v.Operators.List(ctx, operator.ListParams{Limit: 200})
		if err != nil {
			return nil, err
		}
		admins := slices.DeleteFunc(people.Data, func(op operator.Operator) bool { return op.Role != operator.RoleAdmin || op.Disabled })
		list = append(list, Step{
			Done: len(admins) > 1 || people.HasMore, Title: "Invite a second admin", Text: "Another admin can reset your password if you lose it.",
			Link: "settings/operators/new", Action: "Invite operator",
		})
	}
	list = append(list,
		Step{
			Done: v.Opts.PublicURL != "", Title: "Set the public URL",
			Text: "Set " + v.Opts.Option("PublicURL") + v.Opts.Says(" in the host application", "") + ". Clients use it to find the OAuth endpoints, and the example programs show it.",
		},
		Step{
			Done: v.Opts.Sealed, Title: "Encrypt stored secrets",
			Text: "Set " + v.Opts.Option("MasterKey") + v.Opts.Says(" in the host application", "") + ". It encrypts the secrets of webhooks and the keys that sign license files.",
		},
	)
	if !slices.ContainsFunc(list, func(s Step) bool { return !s.Done }) {
		return nil, nil
	}
	return list, nil
}
