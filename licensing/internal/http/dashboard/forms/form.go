package forms

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Field is one control of a form, with its label, value and error.
type Field struct {
	Name, Label, Hint, Value, Error string

	Type         string // the type of an input, or "textarea", "checks", "checkbox", "radios", "end" or "pairs"
	Autocomplete string
	Required     bool
	Mono         bool
	Half         bool // takes half of the width
	MaxLength    int
	Rows         int  // the height of a textarea
	List         bool // a textarea with one value per line
	Options      []Option
	Choices      []Choices // checkboxes in groups; a group without a label has no heading
	Select       []Option  // the values of a select; Value is the chosen one
	Fold         string    // the summary of the groups of Choices with a label, which the page shows on request
	Units        []Option  // the units of a number, in a select with the name Name_unit
	Known        []string  // values that the browser offers
	Pairs        []pairRow // the rows of a field of the type "pairs"
	One          string    // what a row has, in the singular
	Must, Wrong  string    // the text that must be typed, and the error if another is
	When         string    // "name=value": with a script, the field appears when that option is chosen
	More         bool      // the page shows the field on request
	Now          string    // what the record has, if it was changed while the form was open; empty: the same
	Title        string    // a heading above the field

	Parse  func(string) (any, error) // reads the text, or the value of each row; nil: the text is the value
	errors int                       // the number of errors in Error
}

// maxLineErrors is the maximum number of errors that a textarea or a field of
// pairs shows.
const maxLineErrors = 10

// An Option is one checkbox, radio button or item of a select.
type Option struct {
	Value, Label, Hint string
	Chosen             bool
	AddOn              bool // a plan that a license cannot have
}

// Control returns the id of the control that the error summary links to.
func (f *Field) Control() string {
	if len(f.Options) > 0 {
		return "f-" + f.Name + "-0"
	}
	return "f-" + f.Name
}

// Unfolded reports whether a group of choices that is folded has a chosen one.
func (f *Field) Unfolded() bool {
	return slices.ContainsFunc(f.Choices[1:], func(c Choices) bool {
		return slices.ContainsFunc(c.Options, func(o Option) bool { return o.Chosen })
	})
}

// A Form has fields, and an error that belongs to no field.
type Form struct {
	Fields  []*Field
	Problem string            // the error that belongs to no field
	Once    string            // the token that makes a repeated submission harmless
	Hidden  map[string]string // values that the form sends and does not show
	added   string            // the field that got blank rows
}

// More returns the fields that the page shows on request.
func (f *Form) More() []*Field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(x *Field) bool { return !x.More })
}

// OpenMore reports whether one of the fields in More has an error or just got blank
// rows.
func (f *Form) OpenMore() bool {
	return slices.ContainsFunc(f.More(), func(x *Field) bool { return x.Error != "" || x.Now != "" || f.added == x.Name })
}

// Invalid returns the fields that have errors.
func (f *Form) Invalid() []*Field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(x *Field) bool { return x.Error == "" })
}

// HasErrors reports whether the form has any error.
func (f *Form) HasErrors() bool { return f.Problem != "" || len(f.Invalid()) > 0 }

// Field returns the field with the given name, or nil.
func (f *Form) Field(name string) *Field {
	for _, x := range f.Fields {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// Insert adds a field before the one with an index.
func (f *Form) Insert(i int, x *Field) { f.Fields = slices.Insert(f.Fields, i, x) }

// fill sets the values from the submitted form, except passwords, which no page
// repeats.
func (f *Form) fill(v *kit.Visit) {
	f.FillFrom(v.R.PostForm)
	f.Once = v.Sent("once")
}

// FillFrom sets the values of the fields.
func (f *Form) FillFrom(sent url.Values) {
	for _, x := range f.Fields {
		if x.Type == "pairs" {
			x.fillPairs(sent)
		}
		if x.Options == nil && x.Choices == nil && x.Type != "password" {
			x.Value = strings.ReplaceAll(sent.Get(x.Name), "\r\n", "\n")
			if hour := sent.Get(x.Name + "_time"); x.Type == "end" && hour != "" {
				x.Value += "T" + hour
			}
		}
		chosen := sent[x.Name]
		for _, c := range x.Choices {
			Choose(c.Options, chosen)
		}
		Choose(x.Units, sent[x.Name+"_unit"])
		Choose(x.Options, chosen)
	}
}

// Choose marks the options with the chosen values.
func Choose(options []Option, chosen []string) {
	for i := range options {
		options[i].Chosen = slices.Contains(chosen, options[i].Value)
	}
}

// Chosen returns the value of the chosen option, or "".
func (x *Field) Chosen() string {
	for _, o := range x.Options {
		if o.Chosen {
			return o.Value
		}
	}
	return ""
}

// AddError adds an error to a field. It reports whether the form has the field.
// A textarea collects the errors of its lines, and a field of pairs those of its
// rows; any other field keeps the first error.
func (f *Form) AddError(name, detail string) bool {
	x := f.Field(name)
	if x == nil {
		return false
	}
	x.errors++
	lines := x.Type == "textarea" || x.Type == "pairs"
	switch {
	case x.Error == "":
		x.Error = ErrorText(detail)
	case lines && x.errors <= maxLineErrors:
		x.Error += " " + ErrorText(detail)
	case lines && x.errors == maxLineErrors+1:
		x.Error += " There are more errors like these."
	}
	return true
}

// Check returns an error if a form has errors: what the rules find in the parameters
// that were read from it, so that the page shows all errors together.
func Check(v *kit.Visit, f *Form, params any) error {
	if !f.HasErrors() {
		return nil
	}
	return &api.InvalidError{Fields: inner.Of(v.Licenses).Faults(params)}
}

// TakeErrors adds the field errors of err to the form, in which fields can have other names.
// It returns false if err is not an *api.InvalidError.
func (f *Form) TakeErrors(err error, names map[string]string) bool {
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
		if !f.AddError(name, detail) {
			f.Problem = kit.Sentence(strings.TrimSpace(x.Field + " " + detail))
		}
	}
	return true
}

// partName returns the part of a field that an error refers to. For a list,
// that is the text of the line.
func (f *Form) partName(name, part string) string {
	i, err := strconv.Atoi(part)
	x := f.Field(name)
	if err != nil || x == nil || !x.List {
		return part
	}
	if lines := f.Lines(name); i < len(lines) {
		return lines[i]
	}
	return part
}

// ErrorText returns an error of a field as a sentence that is shown after or below
// the name of the field.
func ErrorText(detail string) string {
	if detail == "is required" {
		return "Enter a value."
	}
	return kit.Sentence(detail)
}

// once runs fn in one Update and stores the reference to what it created, unless
// the operator has already submitted the form: then it returns the stored
// reference. fn may run again, and makes its changes through tx. See
// [license.Service.Once].
func once(v *kit.Visit, f *Form, fn func(tx *kit.Visit) (ref string, err error)) (ref string, repeated bool, err error) {
	defer v.Flush()
	reply, repeated, err := v.Licenses.Once(v.R.Context(), f.Mark(), "", func(rules *license.Service) ([]byte, error) {
		ref, err := fn(v.In(rules))
		return []byte(ref), err
	})
	return string(reply), repeated, err
}

// Mark returns the mark that the form was submitted with.
func (f *Form) Mark() string {
	if len(f.Once) != kit.MarkLength {
		return kit.NewMark()
	}
	return f.Once
}

// Lines returns the non-blank lines of a textarea, without surrounding space.
func (f *Form) Lines(name string) (list []string) {
	for line := range strings.SplitSeq(f.Field(name).Value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// refuse adds to the form why a password or a code was not accepted, and returns the
// HTTP status. It returns false for any other error.
func refuse(v *kit.Visit, f *Form, err error) (status int, ok bool) {
	throttled, isThrottled := errors.AsType[*operator.ThrottledError](err)
	switch {
	case isThrottled:
		seconds := int(math.Ceil(throttled.RetryAfter.Seconds()))
		v.W.Header().Set("Retry-After", strconv.Itoa(seconds))
		wait := kit.Count(seconds, "second")
		if seconds > 90 {
			wait = kit.Count(int(math.Ceil(float64(seconds)/60)), "minute")
		}
		f.Problem = "Too many failed attempts. Try again in " + wait + "."
		return http.StatusTooManyRequests, true
	case errors.Is(err, signin.ErrSetupCode):
		f.AddError("code", "This code is incorrect or expired. Reload this page to write a new code to the log.")
	case errors.Is(err, signin.ErrInvitationCode):
		f.AddError("code", "This code is incorrect, expired or already used. Ask an admin for a new one.")
	case errors.Is(err, signin.ErrCode):
		f.AddError("otp", "This code is incorrect or was used before. Wait for the next code of the app.")
	case !errors.Is(err, signin.ErrCredentials):
		return 0, false
	case !f.AddError("current", "The current password is incorrect."):
		f.Problem = "Incorrect email or password."
	}
	return http.StatusUnprocessableEntity, true
}

// Choices are options with a common heading.
type Choices struct {
	Label   string
	Options []Option
}

// EventChoices returns the event types, grouped by object.
func EventChoices(chosen string) (list []Choices) {
	for _, k := range kit.EventFamilies {
		c := Choices{Label: k.Label}
		for _, t := range api.EventTypes() {
			if strings.HasPrefix(t, k.Family+".") {
				_, verb := kit.DescribeType(t)
				c.Options = append(c.Options, Option{Value: t, Label: k.Name + " " + verb, Chosen: t == chosen})
			}
		}
		if len(c.Options) > 1 {
			family := k.Family + ".*"
			c.Options = slices.Insert(c.Options, 0, Option{Value: family, Label: "All " + strings.Replace(strings.ToLower(k.Name), "api", "API", 1) + " events", Chosen: family == chosen})
		}
		list = append(list, c)
	}
	return list
}
