package configfile

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// module is the path of the packages whose types a file can have.
const module = "github.com/seed-d8a106b4/licensekit/"

// Fields returns the fields of a struct that a file can set: values, but no function,
// interface, logger or client.
func Fields(t reflect.Type) (all []reflect.StructField) {
	for f := range t.Fields() {
		if f.IsExported() && isValue(f.Type) {
			all = append(all, f)
		}
	}
	return all
}

func isValue(t reflect.Type) bool {
	if t == zoneType {
		return true
	}
	switch t.Kind() {
	case reflect.Func, reflect.Interface, reflect.Chan:
		return false
	case reflect.Pointer, reflect.Struct:
		t = Inner(t)
		return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), module)
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Struct && isValue(t.Elem())
	}
	return true
}

// IsGroup reports whether a field of a type is an object of settings in the file.
func IsGroup(t reflect.Type) bool { return t != zoneType && Inner(t).Kind() == reflect.Struct }

// Inner returns the type that a pointer leads to, and any other type itself.
func Inner(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Join returns the path of a field of the struct at a path.
func Join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// IsSecret reports whether a field is a secret, which the file only refers to.
func IsSecret(f reflect.StructField) bool {
	isText := f.Tag.Get("text") != "" // of a page
	return !isText && slices.Contains([]string{"MasterKey", "PreviousMasterKeys", "Key", "Secrets", "Password"}, f.Name)
}

// find returns the path of the setting of a name in any case, in the struct at a path and
// those below it; empty: there is none.
func find(t reflect.Type, path, name string) (found string) {
	for _, f := range Fields(t) {
		at := Join(path, f.Name)
		if strings.EqualFold(f.Name, name) {
			return at
		}
		if IsGroup(f.Type) {
			found = cmp.Or(found, find(Inner(f.Type), at, name))
		}
	}
	return found
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[[]byte]()
	zoneType     = reflect.TypeFor[*time.Location]()
)
