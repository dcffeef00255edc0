package forms

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
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

// EndField is the last day of what ends and, if it ends within a day, the time, both in a
// zone. It is blank for nil.
func EndField(name, label, hint string, end *time.Time, zone *time.Location) *Field {
	x := &Field{Name: name, Label: label, Hint: "The last day, and a time only if it ends within that day, in " + zone.String() + ". " + hint, Type: "end"}
	if end != nil {
		x.Value = dates.Last(*end, zone).Format(time.DateOnly)
		if whole, _ := dates.End(x.Value, zone); !whole.Equal(*end) {
			x.Value = end.In(zone).Format("2006-01-02T15:04:05.999")
		}
	}
	x.Parse = Parser(func(s string) (time.Time, error) {
		if end, ok := dates.End(s, zone); ok {
			return end, nil
		}
		for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
			if end, err := time.ParseInLocation(layout, s, zone); err == nil {
				return end.UTC(), nil
			}
		}
		return kit.ParseTime(s)
	})
	return x
}

// Day returns the date of an EndField, Hour its time, and Step the precision of that.
func (f *Field) Day() string  { day, _, _ := strings.Cut(f.Value, "T"); return day }
func (f *Field) Hour() string { _, hour, _ := strings.Cut(f.Value, "T"); return hour }
func (f *Field) Step() string {
	switch hour := f.Hour(); {
	case strings.Contains(hour, "."):
		return "0.001"
	case len(hour) > len("15:04") && !strings.HasSuffix(hour, ":00"):
		return "1"
	}
	return "60"
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
