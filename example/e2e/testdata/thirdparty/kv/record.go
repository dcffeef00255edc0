package kv

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

// keysOf returns the record's own key, and the keys of its rows in the indexes.
type keysOf[R any] func(R) (own string, index []string)

// key joins the parts of a key, with a zero after each. No string has a zero, so keys
// sort as their parts do, and the keys that begin with the same parts are one span.
// The first part is the name of a table, which has one letter, or of an index, which
// has more.
func key(parts ...string) string { return strings.Join(parts, "\x00") + "\x00" }

// isIndex reports whether a key is that of a row in an index.
func isIndex(key string) bool { return key[1] != 0 }

// instant returns the part of a key that sorts as t does, and the zero time first.
func instant(t time.Time) string {
	if t = cut(t); t.IsZero() {
		return string(make([]byte, 8))
	}
	return string(binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli())^1<<63))
}

// cut returns t in UTC without what is below a millisecond (rule 8).
func cut(t time.Time) time.Time { return t.Truncate(time.Millisecond).UTC() }

// ordinal returns the part of a key that sorts as seq does.
func ordinal(seq int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(seq))) }

func licenses(l store.License) (own string, index []string) {
	index = []string{
		key("key", l.Key), key("customer", l.CustomerID, l.ID), key("customer-product", l.CustomerID, l.ProductID, l.ID),
		key("product", l.ProductID, l.ID), key("state", string(l.State), l.ID),
	}
	if !l.StartsAt.IsZero() {
		at := instant(l.StartsAt)
		index = append(index, key("starts", at, l.ID), key("product-starts", l.ProductID, at, l.ID))
	}
	if !l.ExpiresAt.IsZero() {
		at := instant(l.ExpiresAt)
		index = append(index, key("expires", at, l.ID), key("product-expires", l.ProductID, at, l.ID))
		if l.State != store.StateActive {
			index = append(index, key("ended-expires", string(l.State), at, l.ID))
		}
	}
	if l.State != store.StateActive {
		index = append(index, key("ended-product", l.ProductID, string(l.State), l.ID))
	}
	return key("L", l.ID), index
}

func activations(a store.Activation) (own string, index []string) {
	index = []string{key("fingerprint", a.Fingerprint, a.LicenseID)}
	if a.EndedAt.IsZero() {
		index = append(index, key("live", a.LicenseID, a.ID), key("lease", a.LicenseID, instant(a.LeaseEndsAt), a.ID))
	}
	return key("A", a.LicenseID, a.ID), index
}

func events(e store.Event) (own string, index []string) {
	seq := ordinal(e.Seq)
	return key("E", seq), []string{key("event-subject", e.Subject, seq), key("event-customer", e.CustomerID, seq), key("event-product", e.ProductID, seq)}
}

func entries(e store.Entry) (own string, index []string) {
	if !e.ExpiresAt.IsZero() {
		at := instant(e.ExpiresAt)
		index = []string{key("expiry", e.Kind, at, e.Key), key("oe", e.Kind, e.Owner, at, e.Key)}
	}
	return key("N", e.Kind, e.Key), index
}

// errRefused is the error of a call that the contract does not allow (rules 22 and 24),
// after which an Update continues.
var errRefused = errors.New("refused")

// refused wraps err, the result of a Check, as errRefused.
func refused(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

// isText reports whether s is valid UTF-8 without a zero (rule 24). No other string
// finds anything.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// most returns how many bytes a string has (rule 24), so that no key has more than 3,072.
func most(record, field string) int {
	switch {
	case field == "Text":
		return store.MaxText
	case record == "Entry" && field == "Key":
		return store.MaxKey
	case field == "ID", field == "LicenseID", field == "Type", field == "State":
		return 255
	}
	return 1024
}

// encode cuts the times of a record and returns its JSON. JSON replaces what is not
// UTF-8 without an error, so such a string is refused first.
func encode[R any](record *R) ([]byte, error) {
	v := reflect.ValueOf(record).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.String && (!isText(f.String()) || f.Len() > most(v.Type().Name(), v.Type().Field(i).Name)):
			return nil, fmt.Errorf("%w: %s is too long, is not UTF-8 or has a zero", errRefused, v.Type().Field(i).Name)
		case f.Type() == reflect.TypeFor[time.Time]():
			f.Set(reflect.ValueOf(cut(f.Interface().(time.Time))))
		}
	}
	return json.Marshal(record)
}

func decode[R any](b []byte) (record R, err error) {
	if err = json.Unmarshal(b, &record); err != nil {
		err = fmt.Errorf("a record: %w: %w", store.ErrDamaged, err)
	}
	return record, err
}
