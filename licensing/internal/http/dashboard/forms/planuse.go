package forms

// A PlanUse is the number of licenses that have a plan, or a link that counts them.
// Counting reads all licenses, so a page does it only if its query asks for it. A
// script replaces the link by the number.
type PlanUse struct {
	ID     string // of the plan
	Number string // empty: not counted
	Count  string // the query of the same page with the number
}
