package dashboard

import "time"

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
