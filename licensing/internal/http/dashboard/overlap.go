package dashboard

import (
	"slices"
	"time"
)

// overlapField asks how long the old secret remains valid after a rotation. The values of
// the options are durations; the first one is chosen.
func overlapField(options []option) *field {
	return radios("overlap", "When the current secret expires", options[0].Value, slices.Clone(options)...)
}

// readOverlap returns the chosen overlap, or adds an error to the form.
func (f *form) readOverlap() time.Duration {
	d, err := time.ParseDuration(f.Field("overlap").chosen())
	if err != nil {
		f.addError("overlap", "Select an option.")
	}
	return d
}
