package configfile

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Decoder puts a configuration file into a value, and notes all faults in it.
type Decoder struct {
	Dir    string                     // the folder of the file, which paths in it are relative to
	Needs  func(path string) bool     // whether the secret at a path is read; others are left empty
	Own    []string                   // the paths that the program sets itself, and no file
	Values map[string]json.RawMessage // what the file says, by path
	Faults []Fault

	root reflect.Type
}

// A Fault is something that is wrong with a file. It repeats no value.
type Fault struct{ Path, Text string }

// Fault notes what is wrong with the setting at a path.
func (d *Decoder) Fault(path, format string, args ...any) {
	d.Faults = append(d.Faults, Fault{path, fmt.Sprintf(format, args...)})
}

// Decode puts a file, as JSON returns it, into the struct that into points to.
func (d *Decoder) Decode(file json.RawMessage, into any) {
	v := reflect.ValueOf(into).Elem()
	d.Values, d.root = map[string]json.RawMessage{}, v.Type()
	d.object("", file, v)
}

// object puts an object into a struct.
func (d *Decoder) object(path string, value json.RawMessage, v reflect.Value) {
	all, ok := d.members(path, value)
	if !ok {
		d.Fault(path, "must be an object in braces")
	}
	for _, m := range all {
		at := Join(path, m.name)
		f, ok := v.Type().FieldByName(m.name)
		switch {
		case ok && f.IsExported() && isValue(f.Type) && !slices.Contains(d.Own, at):
			d.set(at, m.value, v.FieldByIndex(f.Index), IsSecret(f))
		case ok && f.IsExported():
			d.Fault(at, "cannot be set in a file")
		default:
			meant := cmp.Or(find(v.Type(), path, m.name), find(d.root, "", m.name))
			if meant == "" {
				d.Fault(at, "is not a setting; licensekit config prints all settings")
				continue
			}
			d.Fault(at, "is not a setting; it is written %s", meant)
		}
	}
}

// set puts the value at a path into v.
func (d *Decoder) set(path string, value json.RawMessage, v reflect.Value, secret bool) {
	d.Values[path] = value
	t := v.Type()
	if string(value) == "null" {
		d.Fault(path, "is null; leave it out")
		return
	}
	switch {
	case t == durationType:
		var text string
		span, err := time.Duration(0), json.Unmarshal(value, &text)
		if err == nil {
			span, err = duration(text)
		}
		if err != nil {
			d.Fault(path, `must be a duration such as "90s", "12h" or "30d"`)
			return
		}
		v.SetInt(int64(span))
	case t == zoneType:
		var name string
		zone, err := (*time.Location)(nil), json.Unmarshal(value, &name)
		if err == nil {
			zone, err = time.LoadLocation(name)
		}
		if err != nil || name == "" || name == "Local" {
			d.Fault(path, `must be the name of a time zone such as "Europe/Berlin"`)
			return
		}
		v.Set(reflect.ValueOf(zone))
	case t == bytesType:
		if text, ok := d.text(path, value, true); ok && text != "" {
			key, err := base64.StdEncoding.DecodeString(text)
			if err != nil || len(key) < 32 { // err would reveal a part of the key
				d.Fault(path, "must lead to a key of at least 32 bytes in base64, as of: openssl rand -base64 32")
				return
			}
			v.SetBytes(key)
		}
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.object(path, value, v.Elem())
	case t.Kind() == reflect.Struct:
		d.object(path, value, v)
	case t.Kind() == reflect.Map:
		d.mapping(path, value, v)
	case t.Kind() == reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			d.Fault(path, "must be a list in brackets")
			return
		}
		v.Set(reflect.MakeSlice(t, len(list), len(list)))
		for i, one := range list {
			d.set(fmt.Sprintf("%s[%d]", path, i), one, v.Index(i), secret)
		}
	case t.Kind() == reflect.String:
		if text, ok := d.text(path, value, secret); ok {
			v.SetString(text)
		}
	default:
		if err := json.Unmarshal(value, v.Addr().Interface()); err != nil {
			d.Fault(path, "must be %s", map[bool]string{true: "true or false", false: "a whole number"}[t.Kind() == reflect.Bool])
		}
	}
}

// mapping puts an object whose names are free into a map.
func (d *Decoder) mapping(path string, value json.RawMessage, v reflect.Value) {
	all, ok := d.members(path, value)
	if !ok {
		d.Fault(path, `must be an object such as {"name": "value"}`)
		return
	}
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	for _, m := range all {
		one := reflect.New(t.Elem()).Elem()
		d.set(Join(path, m.name), m.value, one, false)
		v.SetMapIndex(reflect.ValueOf(m.name).Convert(t.Key()), one)
	}
}

// text returns a text or, of a secret that is needed, what it refers to.
func (d *Decoder) text(path string, value json.RawMessage, secret bool) (text string, ok bool) {
	if json.Unmarshal(value, &text) != nil {
		d.Fault(path, "must be a text in quotes")
		return "", false
	}
	if secret {
		return d.Secret(path, text)
	}
	return text, true
}

// duration reads a duration of package time, or a number of days.
func duration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
