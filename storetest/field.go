package storetest

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"
)

// fields yields the fields of the record that row points to, except the named
// ones.
func fields(row any, but []string) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		v := reflect.ValueOf(row).Elem()
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !slices.Contains(but, f.Name) && !yield(f, v.Field(i)) {
				return
			}
		}
	}
}

// carry copies the named fields of from into the record that row points to.
func carry[R any](row *R, from R, names []string) {
	for f, v := range fields(row, nil) {
		if slices.Contains(names, f.Name) {
			v.Set(reflect.ValueOf(from).FieldByIndex(f.Index))
		}
	}
}

// copied returns a copy of row that shares no slice with it.
func copied[R any](row R) R {
	for _, v := range fields(&row, nil) {
		if v.Kind() == reflect.Slice {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
		}
	}
	return row
}

// scribble overwrites the slices of the record that row points to, up to
// their capacity.
func scribble(row any) {
	for _, v := range fields(row, nil) {
		switch s := v.Interface().(type) {
		case []byte:
			s = s[:cap(s)]
			for i := range s {
				s[i] = '#'
			}
		case []string:
			s = s[:cap(s)]
			for i := range s {
				s[i] = "scribble"
			}
		}
	}
}

// A difference is a field with an unexpected value.
type difference struct {
	name      string
	typ       reflect.Type
	got, want any
}

// differences compares two records, except the named fields. It ignores the zones
// of times and the difference between nil and empty slices, and compares lists of
// strings as sets.
func differences[R any](got, want R, but []string) []difference {
	var list []difference
	for f, v := range fields(&got, but) {
		g, w := v.Interface(), reflect.ValueOf(want).FieldByIndex(f.Index).Interface()
		same := false
		switch g := g.(type) {
		case time.Time:
			same = g.Equal(w.(time.Time))
		case []byte:
			same = bytes.Equal(g, w.([]byte))
		case []string:
			same = slices.Equal(slices.Sorted(slices.Values(g)), slices.Sorted(slices.Values(w.([]string))))
		default:
			same = g == w
		}
		if !same {
			if f.Type.Kind() == reflect.String {
				g, w = fmt.Sprintf("%q", g), fmt.Sprintf("%q", w)
			}
			list = append(list, difference{f.Name, f.Type, g, w})
		}
	}
	return list
}
