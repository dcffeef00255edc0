package dashboard

// Route is what tests know of a route.
type Route struct {
	Method, Path                string
	ForAdmins, Public, ForLogin bool
}

// Routes returns every route.
func Routes() (list []Route) {
	for _, r := range routes {
		list = append(list, Route{r.method, r.path, r.access == admins, r.access == public, r.signIn})
	}
	return list
}

// Assets returns the hashed names of the files that pages link to, by the
// plain ones.
func Assets() map[string]string { return hashedNames }

// The functions that tests look at by themselves.
var (
	Local         = local
	ParseSeconds  = parseSeconds
	ParseTerm     = parseTerm
	Relative      = relative
	Thousands     = thousands
	EscapeFormula = escapeFormula
)

// SetAuditReads sets how many reads fill a page of the audit log, and returns
// a function that restores the number.
func SetAuditReads(n int) (restore func()) {
	before := auditReads
	auditReads = n
	return func() { auditReads = before }
}
