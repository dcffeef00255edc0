// Package texts completes the texts of pages and mails: structs of strings, whose English ones
// are in the tags of the fields.
package texts

import (
	"reflect"
	"strings"
)

// For returns the texts in a language, of any region, such as "de-AT"; in one that has none,
// the English ones and false.
func For[T any](lang string, all map[string]T) (T, bool) {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	t, ok := all[lang]
	return Default(t), ok
}

// Default returns the texts with the English ones in the place of empty ones.
func Default[T any](t T) T {
	for field, value := range reflect.ValueOf(&t).Elem().Fields() {
		if value.String() == "" {
			value.SetString(field.Tag.Get("text"))
		}
	}
	return t
}

// Fill puts texts into those that are empty.
func Fill[T any](into *T, from T) {
	v, others := reflect.ValueOf(into).Elem(), reflect.ValueOf(from)
	for i := range v.NumField() {
		if v.Field(i).String() == "" {
			v.Field(i).Set(others.Field(i))
		}
	}
}
