package forms

import (
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// TypedField returns the field in which the operator types a text to confirm a
// change, for which a mistake costs much.
func TypedField(name, label, text, wrong string) *Field {
	return &Field{Name: name, Label: label, Hint: "Type " + text + " to confirm.", Type: "text", Autocomplete: "off", Required: true, Mono: true, Must: text, Wrong: wrong}
}

// ReasonField is the reason of a change.
func ReasonField(hint string) *Field {
	return &Field{Name: "reason", Label: "Reason", Hint: hint, Type: "text", MaxLength: 255}
}

// TimeField is a time in UTC. It is blank for nil.
func TimeField(name, label, hint string, t *time.Time) *Field {
	return &Field{Name: name, Label: label, Hint: hint, Type: "datetime-local", Value: kit.FormatTime(t), Parse: Parser(kit.ParseTime)}
}

// Radios is a choice of one option.
func Radios[T ~string](name, label string, chosen T, options ...Option) *Field {
	Choose(options, []string{string(chosen)})
	return &Field{Name: name, Label: label, Type: "radios", Options: options}
}

// OverlapField asks how long the old secret remains valid after a rotation. The values of
// the options are durations; the first one is chosen.
func OverlapField(options []Option) *Field {
	return Radios("overlap", "When the current secret expires", options[0].Value, slices.Clone(options)...)
}

// ReadOverlap returns the chosen overlap, or adds an error to the form.
func (f *Form) ReadOverlap() time.Duration {
	d, err := time.ParseDuration(f.Field("overlap").Chosen())
	if err != nil {
		f.AddError("overlap", "Select an option.")
	}
	return d
}
