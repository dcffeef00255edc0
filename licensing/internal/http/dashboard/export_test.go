package dashboard

// Route has the fields of a route that tests use.
type Route struct {
	Method, Path     string
	Public, ForLogin bool
}

// Routes returns every route.
func Routes() (list []Route) {
	for _, r := range routes {
		list = append(list, Route{r.method, r.path, r.access == public, r.signIn})
	}
	return list
}

// Assets returns the hashed names of the assets by their plain names.
func Assets() map[string]string { return assets.Names }

// Functions with their own tests.
var (
	Local        = local
	ParseSeconds = parseSeconds
	ParseTerm    = parseTerm
	Relative     = relative
	Thousands    = thousands
)

// SetAuditBudget sets the maximum number of events that a page of the audit log
// examines. It returns a function that restores the number.
func SetAuditBudget(n int) (restore func()) {
	before := auditBudget
	auditBudget = n
	return func() { auditBudget = before }
}
