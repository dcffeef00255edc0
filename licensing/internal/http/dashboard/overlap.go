package dashboard

import "time"

// An overlap is a choice of how long the old secret remains valid after a rotation.
type overlap struct {
	d           time.Duration
	label, hint string
}

// overlapField returns the field for the overlap, with the first one chosen.
func overlapField(choices []overlap) *field {
	var options []option
	for _, o := range choices {
		options = append(options, option{Value: o.d.String(), Label: o.label, Hint: o.hint})
	}
	return radios("overlap", "When the current secret expires", options[0].Value, options...)
}

// readOverlap returns the chosen overlap, or adds an error to the form.
func (f *form) readOverlap() time.Duration {
	d, err := time.ParseDuration(f.Field("overlap").chosen())
	if err != nil {
		f.addError("overlap", "Select an option.")
	}
	return d
}
