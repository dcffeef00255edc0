package dashboard

import (
	"slices"
	"time"
)

// typedField returns the field in which the operator types a text to confirm a
// change, for which a mistake costs much.
func typedField(name, label, text, wrong string) *field {
	return &field{Name: name, Label: label, Hint: "Type " + text + " to confirm.", Type: "text", Autocomplete: "off", Required: true, Mono: true, Must: text, Wrong: wrong}
}

// reasonField is the reason of a change.
func reasonField(hint string) *field {
	return &field{Name: "reason", Label: "Reason", Hint: hint, Type: "text", MaxLength: 255}
}

// timeField is a time in UTC. It is blank for nil.
func timeField(name, label, hint string, t *time.Time) *field {
	return &field{Name: name, Label: label, Hint: hint, Type: "datetime-local", Value: formatTime(t), parse: parser(parseTime)}
}

// radios is a choice of one option.
func radios[T ~string](name, label string, chosen T, options ...option) *field {
	choose(options, []string{string(chosen)})
	return &field{Name: name, Label: label, Type: "radios", Options: options}
}

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
