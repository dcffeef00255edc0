package dashboard

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A field is one control of a form, with its label, and what was wrong with
// what it held.
type field struct {
	Name, Label, Hint, Value, Error string

	Type         string // of an input; "textarea", "checks" or "radios"
	Autocomplete string
	Required     bool
	Mono         bool
	Half         bool // half of the width is enough
	MaxLength    int
	Rows         int  // of a textarea
	List         bool // a textarea with one value in a line
	Options      []option

	errors int // how many Error names
}

// maxLineErrors is how many bad lines of a textarea are named.
const maxLineErrors = 10

// An option is one choice of checks or radios.
type option struct {
	Value, Label, Hint string
	Chosen             bool
}

// Control returns the id of the control that an error summary leads to.
func (f *field) Control() string {
	if len(f.Options) > 0 {
		return "f-" + f.Name + "-0"
	}
	return "f-" + f.Name
}

// A form is fields in groups, and what was wrong besides.
type form struct {
	Groups  []group
	Problem string // wrong with all of it
	Once    string // the mark of a form that counts once
	Hidden  map[string]string
}

// A group is fields that belong together.
type group struct {
	Title, Text string
	Fields      []*field
}

// Invalid returns the fields with errors, for the summary.
func (f *form) Invalid() (list []*field) {
	for _, g := range f.Groups {
		for _, x := range g.Fields {
			if x.Error != "" {
				list = append(list, x)
			}
		}
	}
	return list
}

// Bad reports whether anything is wrong.
func (f *form) HasErrors() bool { return f.Problem != "" || len(f.Invalid()) > 0 }

// Field returns the field of that name, or nil.
func (f *form) Field(name string) *field {
	for _, g := range f.Groups {
		for _, x := range g.Fields {
			if x.Name == name {
				return x
			}
		}
	}
	return nil
}

// fill puts in what was sent.
func (f *form) fill(v *visit) {
	for _, g := range f.Groups {
		for _, x := range g.Fields {
			if x.Options == nil {
				x.Value = v.formValue(x.Name)
			}
			chosen := v.r.PostForm[x.Name]
			for i := range x.Options {
				x.Options[i].Chosen = slices.Contains(chosen, x.Options[i].Value)
			}
		}
	}
	f.Once = v.formValue("once")
}

// wrong notes an error beside a field, and reports whether there is such a
// field. A textarea collects the errors of its lines; any other field keeps the
// first error.
func (f *form) addError(name, detail string) bool {
	x := f.Field(name)
	if x == nil {
		return false
	}
	x.errors++
	switch {
	case x.Error == "":
		x.Error = sentence(detail)
	case x.Type == "textarea" && x.errors <= maxLineErrors:
		x.Error += " " + sentence(detail)
	case x.Type == "textarea" && x.errors == maxLineErrors+1:
		x.Error += " There are more errors like these."
	}
	return true
}

// faults returns the errors that are noted in the form, for the rules to
// report with what they find.
func (f *form) fieldErrors() (list []license.FieldError) {
	for _, x := range f.Invalid() {
		list = append(list, license.FieldError{Field: x.Name, Code: license.CodeInvalidFormat, Detail: x.Error})
	}
	return list
}

// take puts the errors that the rules have found beside their fields. It
// reports false for an error that says nothing of fields.
func (f *form) takeErrors(err error) bool {
	invalid, ok := errors.AsType[*license.InvalidError](err)
	if !ok {
		return false
	}
	for _, x := range invalid.Fields {
		name, part, _ := strings.Cut(x.Field, "/")
		detail := x.Detail
		if part != "" {
			detail = "“" + f.partName(name, part) + "” " + detail
		}
		if !f.addError(name, detail) {
			f.Problem = sentence(x.Field + " " + detail)
		}
	}
	return true
}

// named returns the part of a field that an error is about as people know it:
// of a list, the line that it stood in.
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

// renamed returns an error of the rules with the names that a form gives the
// fields it is about.
func renamed(err error, names map[string]string) error {
	invalid, ok := errors.AsType[*license.InvalidError](err)
	if !ok {
		return err
	}
	fields := slices.Clone(invalid.Fields)
	for i, x := range fields {
		if name, ok := names[x.Field]; ok {
			fields[i].Field = name
		}
	}
	return &license.InvalidError{Fields: fields}
}

// sentence makes a sentence of a phrase.
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
