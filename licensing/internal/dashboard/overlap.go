package dashboard

import "time"

// An overlap is a choice for how long an old secret goes on beside a new one.
type overlap struct {
	value string
	d     time.Duration
	label string
	hint  string
}

// overlapOptions returns the choices as those of a field.
func overlapOptions(choices []overlap, chosen string) []option {
	var options []option
	for _, o := range choices {
		options = append(options, option{Value: o.value, Label: o.label, Hint: o.hint, Chosen: o.value == chosen})
	}
	return options
}

// readOverlap returns the choice that was sent, or marks the field of f as
// wrong.
func (v *visit) readOverlap(choices []overlap, f *form) (d time.Duration, ok bool) {
	for _, o := range choices {
		if o.value == v.formValue("overlap") {
			return o.d, true
		}
	}
	f.addError("overlap", "Select an option.")
	return 0, false
}
