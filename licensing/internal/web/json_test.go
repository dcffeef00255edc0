package web

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func nested(depth int) string {
	return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
}

func TestBodiesThatAreNotIJSONAreInvalidJSON(t *testing.T) {
	for name, body := range map[string]string{
		"empty":                       "",
		"white space only":            " \t\r\n",
		"a byte order mark":           "\ufeff{}",
		"not UTF-8":                   "{\"a\":\"\xff\"}",
		"an overlong form":            "{\"a\":\"\xc0\x80\"}",
		"a surrogate as UTF-8":        "{\"a\":\"\xed\xa0\x80\"}",
		"an object cut off":           `{"a":1`,
		"a second value":              `{} {}`,
		"trailing garbage":            `{}x`,
		"a trailing comma":            `{"a":1,}`,
		"a comment":                   `{/**/}`,
		"single quotes":               `{'a':1}`,
		"a leading zero":              `{"a":01}`,
		"NaN":                         `{"a":NaN}`,
		"a raw control character":     "{\"a\":\"\n\"}",
		"a member twice":              `{"a":1,"a":2}`,
		"a member twice, once as \\u": `{"a":1,"\u0061":2}`,
		"a member twice further down": `{"a":[{"b":1,"b":1}]}`,
		"a high surrogate alone":      `{"a":"\ud83d"}`,
		"a low surrogate alone":       `{"a":"\ude00"}`,
		"surrogates the wrong way":    `{"a":"\ude00\ud83d"}`,
		"two high surrogates":         `{"a":"\ud83d\ud83d"}`,
		"a surrogate before a letter": `{"a":"\ud83dx"}`,
		"a surrogate in a name":       `{"\ud83d":1}`,
		"nesting of 33":               nested(33),
		"nesting of 5,000":            nested(5000),
		"a string with a lone half":   `"\ud83d"`,
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			_, err := parseObject([]byte(body))
			var p *Problem
			is.True(errors.As(err, &p))
			is.Equal(p.Status, 400)
			is.Equal(p.Code, "invalid_json")
		})
	}
}

func TestBodiesThatAreNotObjectsAreInvalidParameters(t *testing.T) {
	for _, body := range []string{"null", "[]", `"text"`, "1", "true", " [ {} ] "} {
		is := is.New(t)
		_, err := parseObject([]byte(body))
		p := ProblemOf(err)
		is.Equal(p.Status, 422)
		is.Equal(p.Faults, []Fault{{Pointer: "#", Code: "invalid_type", Detail: "must be a JSON object"}})
	}
}

func TestTheReaderKeepsValuesExactly(t *testing.T) {
	is := is.New(t)
	o, err := parseObject([]byte(` {"s":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00<é😀\\ud83d\u0000", "n":-12.50e+3,
		"l":[ 1 , true,false,null,{} ,[]],"o":{"":"","A":1,"a":2},"deep":` + nested(31) + `}`))
	is.NoErr(err)
	is.Equal(o.members["s"], "a\"\\/\b\f\n\r\té😀<é😀\\ud83d\x00")
	is.Equal(o.members["n"], json.Number("-12.50e+3"))
	is.Equal(o.members["l"], []any{json.Number("1"), true, false, nil, map[string]any{}, []any{}})
	is.Equal(o.members["o"], map[string]any{"": "", "A": json.Number("1"), "a": json.Number("2")})
}

func TestMembersOfTheWrongFormAreAllReported(t *testing.T) {
	is := is.New(t)
	o, err := parseObject([]byte(`{"text":1,"null":null,"int":"1","half":1.5,"big":1e300,"long":9007199254740992,
		"time":"tomorrow","loose":"2026-1-1T0:0:0Z","map":[],"texts":{"a/b":1,"c":"d"},"Text":"","id":"x","a~b/c d":1}`))
	is.NoErr(err)
	o.Text("text")
	o.Text("null")
	for _, name := range []string{"int", "half", "big", "long"} {
		o.OptionalInt(name)
	}
	o.OptionalTime("time")
	o.OptionalTime("loose")
	o.OptionalMap("map")
	o.OptionalTexts("texts")
	o.Refuse("is not yours", "id", "object")
	o.Require("text", "name")

	var got []string
	for _, f := range ProblemOf(&license.InvalidError{Fields: o.Faults()}).Faults {
		got = append(got, f.Pointer+" "+f.Code)
	}
	is.Equal(got, []string{
		"#/text invalid_type", "#/null required", "#/int invalid_type", "#/half invalid_type", "#/big out_of_range",
		"#/long out_of_range", "#/time invalid_format", "#/loose invalid_format", "#/map invalid_type",
		"#/texts/a~1b invalid_type", "#/id immutable", "#/name required", "#/Text unknown", "#/a~0b~1c%20d unknown",
	})
}

func TestMembersOfTheRightForm(t *testing.T) {
	is := is.New(t)
	o, err := parseObject([]byte(`{"text":"x","int":5,"point":5.0,"exp":5e0,"null":null,"time":"2026-01-01T01:00:00.5+01:00",
		"texts":{"a":"b","c":null},"map":{"n":1.5,"t":true}}`))
	is.NoErr(err)
	is.Equal(*o.Text("text"), "x")
	is.Equal(o.Text("absent"), nil)
	for _, name := range []string{"int", "point", "exp"} {
		is.Equal(*o.Int(name), int64(5))
	}
	is.Equal(o.OptionalInt("null"), license.ToNull[int64]())
	is.Equal(o.OptionalInt("absent"), license.Change[int64]{})
	is.Equal(o.OptionalTime("time").Value.Format("15:04:05.000 MST"), "00:00:00.500 UTC")
	texts := o.OptionalTexts("texts").Value
	is.Equal(*texts["a"], "b")
	is.Equal(texts["c"], nil)
	is.Equal(o.OptionalMap("map").Value, map[string]any{"n": json.Number("1.5"), "t": true})
	is.Equal(len(o.Faults()), 0)
}

// FuzzParseObject compares the reader with encoding/json: what it takes, that
// takes too, with the same values; what it refuses is refused for a reason.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":"n","product_id":"p","customer_id":"c"}`, `{"a":[1,2.5e-3,{"b":null}],"c":"\ud83d\ude00"}`,
		`{"a":1,"a":2}`, `{"a":"\ud83d"}`, "\ufeff{}", `{"a":"\\ud83d\u0000"}`, nested(32), nested(33), `[1]`, `nul`, "{\"\xff\":1}", `{"a":-0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := parseObject(body)
		if err != nil {
			if status := ProblemOf(err).Status; status != 400 && status != 422 {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if !utf8.Valid(body) {
			t.Fatalf("%q is not UTF-8", body)
		}
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.UseNumber()
		var want map[string]any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if !reflect.DeepEqual(o.members, want) {
			t.Fatalf("%q: got %v, want %v", body, o.members, want)
		}
	})
}

func TestTimesAreInTheFormOfRFC3339AndNoLooser(t *testing.T) {
	for s, want := range map[string]string{
		"2030-01-31T00:00:00Z":          "2030-01-31T00:00:00Z",
		"2030-01-31T00:00:00.5+02:00":   "2030-01-30T22:00:00.5Z",
		"2030-01-31T00:00:00.000-23:59": "2030-01-31T23:59:00Z",
		"2030-01-31T0:00:00Z":           "",
		"2030-01-31T00:00:00,5Z":        "",
		"2030-01-31T00:00:00.Z":         "",
		"2030-01-31T00:00:00+24:00":     "",
		"2030-01-31T00:00:00+01:60":     "",
		"2030-01-31T00:00:00+0100":      "",
		"2030-01-31T24:00:00Z":          "",
		"2030-02-29T00:00:00Z":          "",
		"2030-01-31 00:00:00Z":          "",
		"2030-01-31":                    "",
		" 2030-01-31T00:00:00Z":         "",
		"2030-01-31T00:00:00Z\n":        "",
		"12030-01-31T00:00:00Z":         "",
		"2030-01-31T00:00:00Z[Etc/GMT]": "",
	} {
		t.Run(s, func(t *testing.T) {
			is := is.New(t)
			got, ok := ParseTime(s)
			is.Equal(ok, want != "")
			if ok {
				is.Equal(got.Format(time.RFC3339Nano), want)
			}
		})
	}
}
