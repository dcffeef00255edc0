package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/matryer/is"
)

// everything has fields of all kinds.
type everything struct {
	Text      string            `json:"text"`
	Named     kind              `json:"named,omitempty"`
	Number    int64             `json:"number,omitempty"`
	Small     int8              `json:"small"`
	Float     float64           `json:"float"`
	Flag      bool              `json:"flag,omitempty"`
	Plain     int               // has no tag
	Hidden    string            `json:"-"`
	Time      time.Time         `json:"time"`
	Later     time.Time         `json:"later,omitzero"`
	Perhaps   *time.Time        `json:"perhaps"`
	Count     *int64            `json:"count,omitempty"`
	Any       any               `json:"any"`
	Names     map[string]string `json:"names"`
	Values    map[string]any    `json:"values,omitempty"`
	Numbers   map[int]string    `json:"numbers"`
	List      []string          `json:"list"`
	Structs   []member2         `json:"structs,omitzero"`
	Self      *everything       `json:"self,omitempty"`
	Bytes     []byte            `json:"bytes"`
	Raw       json.RawMessage   `json:"raw,omitempty"`
	Exact     json.Number       `json:"exact,omitempty"`
	Duration  time.Duration     `json:"duration"`
	Array     [2]bool           `json:"array"`
	Unsigned  uint16            `json:"unsigned"`
	Single    float32           `json:"single"`
	Upper     upper             `json:"upper"`
	UpperText upperText         `json:"upper_text"`
	_         int               // not exported
}

type (
	kind    string
	member2 struct {
		A string  `json:"a"`
		B float64 `json:"b"`
	}
	upper     string
	upperText struct{ s string }
)

func (u upper) MarshalJSON() ([]byte, error)     { return []byte(`{ "u" : "<` + "ä" + `>" }`), nil }
func (u upperText) MarshalText() ([]byte, error) { return []byte("<" + u.s + ">"), nil }

// texts need every kind of escaping.
var texts = []string{
	"", "a", "Atlas Team", "Österreich 日本 🎈", "<b>&</b>", `"quoted" \ back`, "\x00\x1f\x7f", "\n\t\r\b\f",
	"\u2028\u2029", "\xff\xfe", "a\xc3", "\ufffd", "\xed\xa0\x80",
}

var floats = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, 1.5, 1e15, 1e15 - 1, -1e15, 1e20, 1e21, 1e22, 1e-6, 1e-7, -1e-9, 123456789.125,
	math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1<<53 + 2,
}

// random fills a value with values of all kinds.
func random(v reflect.Value, depth int) {
	zone := time.FixedZone("", 5400)
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = []time.Time{
			{}, time.UnixMilli(rand.Int64N(4e12)).UTC(), time.Unix(rand.Int64N(4e9), 0).UTC(), time.Unix(1, 123456789).UTC(),
			time.Unix(1e9, 0).In(zone), time.Unix(1e9, 5).Local(), {}, time.Time{}.In(zone),
		}[rand.IntN(8)]
		return
	case *json.RawMessage:
		*p = json.RawMessage([]string{``, `null`, ` {"a": [1, "<"] }`}[rand.IntN(3)])
		return
	case *json.Number:
		*p = json.Number([]string{"", "1", "2.50", "1e400"}[rand.IntN(4)])
		return
	case *any:
		*p = []any{nil, true, texts[rand.IntN(len(texts))], floats[rand.IntN(len(floats))], 7, []any{"a", 1.5}, map[string]any{"b": nil}}[rand.IntN(7)]
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[rand.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(rand.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int64:
		v.SetInt([]int64{0, 1, -128, 127, rand.Int64()}[rand.IntN(5)])
	case reflect.Uint16:
		v.SetUint(uint64(rand.IntN(1 << 16)))
	case reflect.Float64, reflect.Float32:
		v.SetFloat(floats[rand.IntN(len(floats))])
	case reflect.Pointer:
		if rand.IntN(2) == 0 && depth < 3 {
			v.Set(reflect.New(v.Type().Elem()))
			random(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n := rand.IntN(5); n < 4 && depth < 4 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				random(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if n := rand.IntN(5); n < 4 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				random(key, depth+1)
				random(value, depth+1)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				random(v.Field(i), depth+1)
			}
		}
	}
}

// compare compares the encoding of v with that of encoding/json.
func compare(t *testing.T, v any) {
	t.Helper()
	for _, escape := range []bool{true, false} {
		want, wantErr := standard(v, escape)
		got, err := Marshal(v, escape)
		if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%T, escape %v:\ngot  %s %v\nwant %s %v", v, escape, got, err, want, wantErr)
		}
	}
	want, err := json.Marshal(v)
	got, err2 := Marshal(v, true)
	if !bytes.Equal(got, want) || (err == nil) != (err2 == nil) {
		t.Fatalf("%s\n%s", got, want)
	}
}

func TestSameAsEncodingJSON(t *testing.T) {
	for range 300 {
		var v everything
		random(reflect.ValueOf(&v).Elem(), 0)
		compare(t, v)
		compare(t, &v)
		compare(t, []everything{v})
	}
	for _, s := range texts {
		compare(t, s)
		compare(t, map[string]any{s: s})
	}
	for _, f := range floats {
		compare(t, f)
	}
	compare(t, nil)
	compare(t, (*everything)(nil))
	compare(t, struct{}{})
}

// Types with rules that this package does not know.
func TestOthersAreLeftToEncodingJSON(t *testing.T) {
	p := pointerMarshaler{1}
	for _, v := range []any{
		struct{ member2 }{member2{"a", 1}},
		struct {
			A int `json:"a,string"`
		}{1},
		struct {
			A zeroed `json:"a,omitzero"`
		}{},
		p, &p, []pointerMarshaler{p}, struct{ P pointerMarshaler }{p}, &struct{ P pointerMarshaler }{p},
		math.NaN(), map[string]any{"a": math.Inf(1)}, make(chan int), map[kind]int{"b": 1, "a": 2},
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), failing{},
		map[string]any{"a": 1, "f": failing{}},
	} {
		compare(t, v)
	}
}

type (
	pointerMarshaler struct{ n int }
	zeroed           int
	failing          struct{}
)

func (p *pointerMarshaler) MarshalJSON() ([]byte, error) { return fmt.Append(nil, p.n), nil }
func (zeroed) IsZero() bool                              { return false }
func (failing) MarshalJSON() ([]byte, error)             { return nil, errors.New("it fails") }

func TestEncodingsAreKept(t *testing.T) {
	is := is.New(t)
	v := &everything{Time: time.Unix(1e9, 0).UTC(), Names: map[string]string{"a": "b"}, Float: 0.25, Text: "<"}
	for _, escape := range []bool{false, true} { // the setting of one call does not apply to the next
		want, _ := standard(v, escape)
		got, err := Marshal(v, escape)
		is.NoErr(err)
		is.Equal(string(got), string(want))
	}
}
