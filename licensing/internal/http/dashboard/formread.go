package dashboard

import (
	"strconv"
	"strings"
	"time"
)

// Each of these methods reads the value of a field, or nothing if it is blank or the
// form does not have it. A value that is invalid adds an error to the field.

// text returns the value without outer white space.
func (f *form) text(name string) string {
	if x := f.Field(name); x != nil {
		return strings.TrimSpace(x.Value)
	}
	return ""
}

// note adds the error of a value to its field; nil: it is valid.
func (f *form) note(name string, err error) {
	if err != nil {
		f.addError(name, err.Error())
	}
}

func (f *form) time(name string) *time.Time {
	if f.text(name) == "" {
		return nil
	}
	t, err := parseTime(f.text(name))
	f.note(name, err)
	return &t
}

func (f *form) number(name string) *int64 {
	if f.text(name) == "" {
		return nil
	}
	n, err := strconv.ParseInt(f.text(name), 10, 64)
	if err != nil {
		f.addError(name, "enter a whole number or leave blank")
	}
	return &n
}

// amount returns a value with its unit, for parseSeconds or parseTerm. The field
// also accepts text with units, such as "1d 12h".
func (f *form) amount(name string) string {
	value := f.text(name)
	if strings.Trim(value, "0123456789") == "" && value != "" {
		for _, u := range f.Field(name).Units {
			if u.Chosen {
				return value + u.Value
			}
		}
	}
	return value
}

func (f *form) seconds(name string) *int64 {
	if f.amount(name) == "" {
		return nil
	}
	n, err := parseSeconds(f.amount(name))
	f.note(name, err)
	return &n
}
