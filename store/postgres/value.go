package postgres

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// storable reports whether all strings among values can be in a database: those
// that are UTF-8 without a NUL byte. A statement with another would fail, and
// doom its transaction.
func storable(values ...any) bool {
	for _, v := range values {
		if s, ok := v.(string); ok && (!utf8.ValidString(s) || strings.ContainsRune(s, 0)) {
			return false
		}
	}
	return true
}

// millis returns what is stored for an instant: its milliseconds since 1970,
// rounded down, or NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// ceiling returns the milliseconds of an instant rounded up. What is stored is
// in whole milliseconds, so that it is before an instant exactly if it is
// before its ceiling.
func ceiling(t time.Time) int64 {
	return t.Add(time.Millisecond - time.Nanosecond).UnixMilli()
}

// An instant scans what millis has stored.
type instant struct{ *time.Time }

func (i instant) Scan(src any) error {
	switch ms := src.(type) {
	case nil:
		*i.Time = time.Time{}
	case int64:
		*i.Time = time.UnixMilli(ms).UTC()
	default:
		return fmt.Errorf("an instant of type %T", src)
	}
	return nil
}

// document returns what is stored for a document: a nil one is an empty one.
func document(d []byte) []byte {
	if d == nil {
		return []byte{}
	}
	return d
}
