package dashboard

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A field is one control of a form, with its label, value and error.
type field struct {
	Name, Label, Hint, Value, Error string

	Type         string // the type of an input, or "textarea", "checks", "checkbox", "radios" or "pairs"
	Autocomplete string
	Required     bool
	Mono         bool
	Half         bool // takes half of the width
	MaxLength    int
	Rows         int  // the height of a textarea
	List         bool // a textarea with one value per line
	Options      []option
	Choices      []choices // checkboxes in groups; a group without a label has no heading
	Select       []option  // the values of a select; Value is the chosen one
	Fold         string    // the summary of the groups of Choices with a label, which the page shows on request
	Units        []option  // the units of a number, in a select with the name Name_unit
	Known        []string  // values that the browser offers
	Pairs        []pairRow // the rows of a field of the type "pairs"
	One          string    // what a row has, in the singular
	Must, Wrong  string    // the text that must be typed, and the error if another is
	When         string    // "name=value": with a script, the field appears when that option is chosen
	More         bool      // the page shows the field on request
	Now          string    // what the record has, if it was changed while the form was open; empty: the same
	Title        string    // a heading above the field

	parse  func(string) (any, error) // reads the text, or the value of each row; nil: the text is the value
	errors int                       // the number of errors in Error
}

// maxLineErrors is the maximum number of errors that a textarea or a field of
// pairs shows.
const maxLineErrors = 10

// An option is one checkbox, radio button or item of a select.
type option struct {
	Value, Label, Hint string
	Chosen             bool
	AddOn              bool // a plan that a license cannot have
}

// Control returns the id of the control that the error summary links to.
func (f *field) Control() string {
	if len(f.Options) > 0 {
		return "f-" + f.Name + "-0"
	}
	return "f-" + f.Name
}

// Unfolded reports whether a group of choices that is folded has a chosen one.
func (f *field) Unfolded() bool {
	return slices.ContainsFunc(f.Choices[1:], func(c choices) bool {
		return slices.ContainsFunc(c.Options, func(o option) bool { return o.Chosen })
	})
}

// A form has fields, and an error that belongs to no field.
type form struct {
	Fields  []*field
	Problem string            // the error that belongs to no field
	Once    string            // the token that makes a repeated submission harmless
	Hidden  map[string]string // values that the form sends and does not show
	added   string            // the field that got blank rows
}

// More returns the fields that the page shows on request.
func (f *form) More() []*field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(x *field) bool { return !x.More })
}

// OpenMore reports whether one of the fields in More has an error or just got blank
// rows.
func (f *form) OpenMore() bool {
	return slices.ContainsFunc(f.More(), func(x *field) bool { return x.Error != "" || x.Now != "" || f.added == x.Name })
}

// Invalid returns the fields that have errors.
func (f *form) Invalid() []*field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(x *field) bool { return x.Error == "" })
}

// HasErrors reports whether the form has any error.
func (f *form) HasErrors() bool { return f.Problem != "" || len(f.Invalid()) > 0 }

// Field returns the field with the given name, or nil.
func (f *form) Field(name string) *field {
	for _, x := range f.Fields {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// insert adds a field before the one with an index.
func (f *form) insert(i int, x *field) { f.Fields = slices.Insert(f.Fields, i, x) }

// fill sets the values from the submitted form, except passwords, which no page
// repeats.
func (f *form) fill(v *visit) {
	f.fillFrom(v.r.PostForm)
	f.Once = v.sent("once")
}

// fillFrom sets the values of the fields.
func (f *form) fillFrom(sent url.Values) {
	for _, x := range f.Fields {
		if x.Type == "pairs" {
			x.fillPairs(sent)
		}
		if x.Options == nil && x.Choices == nil && x.Type != "password" {
			x.Value = strings.ReplaceAll(sent.Get(x.Name), "\r\n", "\n")
		}
		chosen := sent[x.Name]
		for _, c := range x.Choices {
			choose(c.Options, chosen)
		}
		choose(x.Units, sent[x.Name+"_unit"])
		choose(x.Options, chosen)
	}
}

// choose marks the options with the chosen values.
func choose(options []option, chosen []string) {
	for i := range options {
		options[i].Chosen = slices.Contains(chosen, options[i].Value)
	}
}

// chosen returns the value of the chosen option, or "".
func (x *field) chosen() string {
	for _, o := range x.Options {
		if o.Chosen {
			return o.Value
		}
	}
	return ""
}

// addError adds an error to a field. It reports whether the form has the field.
// A textarea collects the errors of its lines, and a field of pairs those of its
// rows; any other field keeps the first error.
func (f *form) addError(name, detail string) bool {
	x := f.Field(name)
	if x == nil {
		return false
	}
	x.errors++
	lines := x.Type == "textarea" || x.Type == "pairs"
	switch {
	case x.Error == "":
		x.Error = errorText(detail)
	case lines && x.errors <= maxLineErrors:
		x.Error += " " + errorText(detail)
	case lines && x.errors == maxLineErrors+1:
		x.Error += " There are more errors like these."
	}
	return true
}

// check returns an error if a form has errors: what the rules find in the parameters
// that were read from it, so that the page shows all errors together.
func (v *visit) check(f *form, params any) error {
	if !f.HasErrors() {
		return nil
	}
	return &api.InvalidError{Fields: inner.Of(v.licenses).Faults(params)}
}

// takeErrors adds the field errors of err to the form, in which fields can have other names.
// It returns false if err is not an *api.InvalidError.
func (f *form) takeErrors(err error, names map[string]string) bool {
	invalid, ok := errors.AsType[*api.InvalidError](err)
	if !ok {
		return false
	}
	for _, x := range invalid.Fields {
		if name, ok := names[x.Field]; ok {
			x.Field = name
		}
		name, part, _ := strings.Cut(x.Field, "/")
		detail := x.Detail
		if part != "" {
			detail = "“" + f.partName(name, part) + "” " + detail
			if field := f.Field(name); field != nil {
				field.markPair(part)
			}
		}
		if !f.addError(name, detail) {
			f.Problem = sentence(strings.TrimSpace(x.Field + " " + detail))
		}
	}
	return true
}

// partName returns the part of a field that an error refers to. For a list,
// that is the text of the line.
func (f *form) partName(name, part string) string {
	i, err := strconv.Atoi(part)
	x := f.Field(name)
	if err != nil || x == nil || !x.List {
		return part
	}
	if lines := f.lines(name); i < len(lines) {
		return lines[i]
	}
	return part
}

// errorText returns an error of a field as a sentence that is shown after or below
// the name of the field.
func errorText(detail string) string {
	if detail == "is required" {
		return "Enter a value."
	}
	return sentence(detail)
}

// sentence returns s with an initial capital and a final period.
func sentence(s string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(s[:n]) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
