package dashboard

import "time"

// An overlap is an option for how long the old secret remains valid after a
// rotation.
type overlap struct {
	value string
	d     time.Duration
	label string
	hint  string
}

// overlapOptions returns the choices as options of a field.
func overlapOptions(choices []overlap, chosen string) []option {
	var options []option
	for _, o := range choices {
		options = append(options, option{Value: o.value, Label: o.label, Hint: o.hint, Chosen: o.value == chosen})
	}
	return options
}

// readOverlap returns the submitted choice, or adds an error to the form.
func (v *visit) readOverlap(choices []overlap, f *form) (d time.Duration, ok bool) {
	for _, o := range choices {
		if o.value == v.sent("overlap") {
			return o.d, true
		}
	}
	f.addError("overlap", "Select an option.")
	return 0, false
}
