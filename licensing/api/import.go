package api

// A RowResult is the result of one row of an import.
type RowResult struct {
	Line   int        `json:"line"`         // starts at 1
	ID     string     `json:"id,omitempty"` // of the license, if known
	Result string     `json:"result"`       // one of the Import constants
	Errors []RowError `json:"errors,omitempty"`
}

// A RowError says why a row was refused, or an import stopped.
type RowError struct {
	Field  string `json:"field"`  // the member or the column; empty: the whole row
	Code   string `json:"code"`   // one of the Field constants
	Detail string `json:"detail"` // one sentence for people, without the value given
}

// The values of RowResult.Result.
const (
	ImportCreated = "created"
	ImportExists  = "exists" // a license with this ID or key exists and is unchanged
	ImportRefused = "refused"
	// ImportStopped is the last result of an import that stopped after a
	// thousand refused rows. This line and those after it were not
	// processed; Errors says what to do.
	ImportStopped = "stopped"
)
