package valid

// DefaultLimit is the number of records on a page of a list whose caller sets no
// limit.
const DefaultLimit = 50

// MaxLimit is the maximum number of records on a page.
const MaxLimit = 200
