package web

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// licenseMembers are the JSON members of a license, in order.
var licenseMembers = func() (members []licenseMember) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[license.License]()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		members = append(members, licenseMember{`,"` + name + `":`, f.Index[0], options != ""})
	}
	return members
}()

type licenseMember struct {
	label    string // with a comma before it
	field    int
	optional bool // left out if it is empty
}

// appendList appends a page of licenses as encoding/json encodes it.
func appendList(b []byte, l list, licenses []license.License) (_ []byte, err error) {
	b = append(b, `{"object":"list","data":[`...)
	for i := range licenses {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendLicense(b, &licenses[i]); err != nil {
			return nil, err
		}
	}
	b = append(b, `],"has_more":`...)
	b = append(strconv.AppendBool(b, l.HasMore), `,"next_cursor":`...)
	b, err = appendValue(b, reflect.ValueOf(&l.NextCursor).Elem())
	return append(b, '}'), err
}

// appendLicense appends a license as encoding/json encodes it, which takes several
// times as long.
func appendLicense(b []byte, l *license.License) (_ []byte, err error) {
	v := reflect.ValueOf(l).Elem()
	first := len(b)
	for _, m := range licenseMembers {
		field := v.Field(m.field)
		if m.optional && field.IsZero() {
			continue
		}
		if b, err = appendValue(append(b, m.label...), field); err != nil {
			return nil, err
		}
	}
	b[first] = '{'
	return append(b, '}'), nil
}

// appendValue appends the values that it can append faster than encoding/json.
func appendValue(b []byte, v reflect.Value) (_ []byte, err error) {
	switch kind := v.Kind(); {
	case (kind == reflect.Pointer || kind == reflect.Map) && v.IsNil():
		return append(b, "null"...), nil
	case kind == reflect.Pointer:
		return appendValue(b, v.Elem())
	case kind == reflect.Map && v.Len() == 0:
		return append(b, "{}"...), nil
	case kind == reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case kind == reflect.String && isPlain(v.String()):
		return append(append(append(b, '"'), v.String()...), '"'), nil
	}
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		b, err = at.AppendText(append(b, '"'))
		return append(b, '"'), err
	}
	text, err := encode(v.Interface())
	return append(b, text[:max(len(text)-1, 0)]...), err // without the newline
}

// isPlain reports whether a string needs no escapes.
func isPlain(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
