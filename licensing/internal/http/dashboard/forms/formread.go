package forms

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Parser returns parse for a field: it reads the text of the field, or of the value of
// each row.
func Parser[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(s string) (any, error) { return parse(s) }
}

func ParseNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, errors.New("enter a whole number or leave blank")
	}
	return n, nil
}

// Text returns the value without outer white space, or "" if the form does not have the
// field.
func (f *Form) Text(name string) string {
	if x := f.Field(name); x != nil {
		return strings.TrimSpace(x.Value)
	}
	return ""
}

// CheckWhen adds an error to a field that is blank although its option is chosen, or that
// has a value although another one is.
func (f *Form) CheckWhen() {
	for _, x := range f.Fields {
		of, value, has := strings.Cut(x.When, "=")
		if !has {
			continue
		}
		switch chosen := f.Field(of).Chosen(); {
		case chosen == value && f.Text(x.Name) == "":
			f.AddError(x.Name, "enter a value, or select something else above")
		case chosen != value && chosen != "" && f.Text(x.Name) != "":
			f.AddError(x.Name, "clear it, or select it above")
		}
	}
}

// Read parses the value of a field, or returns nil if the form does not have it or if it is
// blank or invalid. A value that is invalid, or missing, adds an error to the field.
func (f *Form) Read(name string) any {
	x := f.Field(name)
	if x == nil || x.amount() == "" && !x.Required {
		return nil
	}
	value, err := x.Parse(x.amount())
	if err != nil {
		f.AddError(name, err.Error())
		return nil
	}
	return value
}

// Time reads the time of a field, or returns nil if it is blank or invalid.
func (f *Form) Time(name string) *time.Time {
	if t, ok := f.Read(name).(time.Time); ok {
		return &t
	}
	return nil
}

// amount returns the value with its unit, for ParseSeconds or ParseTerm. The field
// also accepts text with units, such as "1d 12h".
func (x *Field) amount() string {
	value := strings.TrimSpace(x.Value)
	if strings.Trim(value, "0123456789") == "" && value != "" {
		for _, u := range x.Units {
			if u.Chosen {
				return value + u.Value
			}
		}
	}
	return value
}

// Values returns what the fields have, by name. A field of rows, or one that parses its text,
// has none if it is blank or invalid.
func (f *Form) Values() map[string]any {
	values := map[string]any{}
	for _, x := range f.Fields {
		switch {
		case x.Type == "pairs":
			if rows := f.readPairs(x); len(rows) > 0 {
				values[x.Name] = rows
			}
		case x.Options != nil:
			values[x.Name] = x.Chosen()
		case x.Parse == nil:
			values[x.Name] = x.Value
		default:
			if value := f.Read(x.Name); value != nil {
				values[x.Name] = value
			}
		}
	}
	return values
}

// Changes returns the values that differ from those of another form, as a merge patch
// (RFC 7396): null stands for a value or a row that was removed.
func (f *Form) Changes(before *Form) map[string]any {
	was, is := before.Values(), f.Values()
	for name, value := range was {
		had, isRows := value.(map[string]any)
		switch has, kept := is[name]; {
		case isRows && kept:
			rows := has.(map[string]any)
			for row, value := range had {
				if has, kept := rows[row]; !kept {
					rows[row] = nil
				} else if reflect.DeepEqual(has, value) {
					delete(rows, row)
				}
			}
		case !kept:
			is[name] = nil
		case reflect.DeepEqual(has, value):
			delete(is, name)
		}
	}
	return is
}

// Decode sets the parameters of the rules, whose JSON names are those of the fields. It
// panics if a value is not of the type of its parameter.
func Decode(values map[string]any, params any) {
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, params)
	}
	if err != nil {
		panic("dashboard: " + err.Error())
	}
}
