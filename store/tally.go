package store

// A Tally is a count kept up to date beside what it counts, in the same
// Update, so that a page can show it without counting rows.
type Tally struct {
	Kind string // such as "license.product"
	Name string // what is counted, such as a product's id
	N    int64
}

// A TallyQuery selects the tallies of one kind that are not zero, in order of
// Name, byte by byte.
type TallyQuery struct {
	Kind       string // required
	From       string // only names at or above this one
	Before     string // only names below this one; empty: no bound
	Descending bool
	After      string // the Name of the last tally of the page before
	Limit      int
}
