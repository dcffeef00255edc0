package web

import (
	"reflect"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// An Appender appends a result that the rules encode, in a page of a list.
type Appender = record.Appender

// An Encoded is a result that the rules have encoded.
type Encoded struct {
	JSON []byte
	At   api.Version // of the resource, for its entity tag
}

// Version returns At.
func (e Encoded) Version() api.Version { return e.At }

// As states that the results of an endpoint whose rules encode them are of type T.
func As[T any](e *Endpoint) *Endpoint {
	e.Result = reflect.TypeFor[T]()
	return e
}

// Marshal returns v as [record.Append] encodes it, with a newline at the end. A page
// of a list is a *list.
func Marshal(v any) ([]byte, error) {
	if e, ok := v.(*Encoded); ok {
		return append(e.JSON, '\n'), nil
	}
	b := make([]byte, 0, 768)
	l, ok := v.(*list)
	if !ok {
		b, err := record.Append(b, reflect.ValueOf(v))
		return append(b, '\n'), err
	}
	b, err := record.Append(append(b, `{"object":"list","data":`...), reflect.ValueOf(l.Data))
	if err != nil {
		return nil, err
	}
	b = append(strconv.AppendBool(append(b, `,"has_more":`...), l.HasMore), `,"next_cursor":`...)
	b, err = record.Append(b, reflect.ValueOf(l.NextCursor))
	return append(b, "}\n"...), err
}
