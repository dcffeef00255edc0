package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/audit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// Route has the fields of a route that tests use.
type Route struct {
	Method, Path     string
	Public, ForLogin bool
}

// Routes returns every route.
func Routes() (list []Route) {
	for _, r := range routes {
		list = append(list, Route{r.Method, r.Path, r.Access == kit.Public, r.SignIn})
	}
	return list
}

// Assets returns the hashed names of the assets by their plain names.
func Assets() map[string]string { return kit.Assets.Names }

// Functions with their own tests.
var (
	Local        = kit.Local
	ParseSeconds = forms.ParseSeconds
	ParseTerm    = forms.ParseTerm
	Relative     = kit.Relative
	Thousands    = kit.Thousands
)

// SetAuditBudget sets the maximum number of events that a page of the audit log
// examines. It returns a function that restores the number.
func SetAuditBudget(n int64) (restore func()) {
	before := audit.Budget
	audit.Budget = n
	return func() { audit.Budget = before }
}
