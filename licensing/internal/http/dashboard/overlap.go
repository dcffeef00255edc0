package dashboard

import "time"

// An overlap is a choice of how long the old secret remains valid after a rotation.
type overlap struct {
	d           time.Duration
	label, hint string
}

// overlapField returns the field for the overlap, with the first one chosen.
func overlapField(choices []overlap) *field {
	x := &field{Name: "overlap", Label: "When the current secret expires", Type: "radios"}
	for i, o := range choices {
		x.Options = append(x.Options, option{Value: o.d.String(), Label: o.label, Hint: o.hint, Chosen: i == 0})
	}
	return x
}

// readOverlap returns the chosen overlap, or adds an error to the form.
func (f *form) readOverlap() time.Duration {
	d, err := time.ParseDuration(f.Field("overlap").chosen())
	if err != nil {
		f.addError("overlap", "Select an option.")
	}
	return d
}
