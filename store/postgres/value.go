package postgres

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// storable reports whether PostgreSQL can store all strings among values: each
// must be valid UTF-8 without a NUL byte. A statement with any other string would
// fail, and its transaction with it.
func storable(values ...any) bool {
	for _, v := range values {
		if s, ok := v.(string); ok && (!utf8.ValidString(s) || strings.ContainsRune(s, 0)) {
			return false
		}
	}
	return true
}

// millis returns the stored value of an instant: its milliseconds since 1970,
// rounded down, or NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// ceiling returns the milliseconds of an instant, rounded up. Stored times are
// whole milliseconds, so a stored time is before an instant exactly if it is
// before the instant's ceiling.
func ceiling(t time.Time) int64 {
	return t.Add(time.Millisecond - time.Nanosecond).UnixMilli()
}

// An instant scans a value that millis stored.
type instant struct{ *time.Time }

func (i instant) Scan(src any) error {
	switch ms := src.(type) {
	case nil:
		*i.Time = time.Time{}
	case int64:
		*i.Time = time.UnixMilli(ms).UTC()
	default:
		return fmt.Errorf("cannot scan a %T as a time", src)
	}
	return nil
}
