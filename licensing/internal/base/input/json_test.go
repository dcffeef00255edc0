package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
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
			_, err := JSON([]byte(body))
			require.ErrorAs(t, err, new(*SyntaxError))
		})
	}
}

func TestBodiesThatAreNotObjectsAreInvalidParameters(t *testing.T) {
	for _, body := range []string{"null", "[]", `"text"`, "1", "true", " [ {} ] "} {
		is := is.New(t)
		_, err := JSON([]byte(body))
		is.Equal(err, error(ErrNotObject))
	}
}

func TestTheReaderKeepsValuesExactly(t *testing.T) {
	is := is.New(t)
	body := []byte(` {"s":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00<é😀\\ud83d\u0000", "n":-12.50e+3,
		"l":[ 1 , true,false,null,{} ,[]],"o":{"":"","A":1,"a":2},"deep":` + nested(31) + `}`)
	_, err := JSON(body)
	is.NoErr(err)
	got := anyOf(Canonical(body)).(map[string]any)
	is.Equal(got["s"], "a\"\\/\b\f\n\r\té😀<é😀\\ud83d\x00")
	is.Equal(got["n"], json.Number("-12.50e+3"))
	is.Equal(got["l"], []any{json.Number("1"), true, false, nil, map[string]any{}, []any{}})
	is.Equal(got["o"], map[string]any{"": "", "A": json.Number("1"), "a": json.Number("2")})
}

// everything has a field of each form.
type everything struct {
	ID     string             `json:"-"`
	Text   string             `json:"text" query:"text" wire:"required"`
	Filled string             `json:"filled" wire:"filled"`
	Opt    *string            `json:"opt"`
	Name   string             `json:"name" wire:"required"`
	Int    int64              `json:"int" query:"int"`
	Null   *int64             `json:"null" wire:"nullable"`
	Time   time.Time          `json:"time" query:"time"`
	Bool   bool               `json:"bool" query:"bool"`
	List   []string           `json:"list" query:"list"`
	Map    map[string]any     `json:"map"`
	Texts  map[string]string  `json:"texts"`
	Merge  map[string]*string `json:"merge"`
	Change change             `json:"change"`
	Hidden string             `json:"-"`
	Secret string             `json:"secret"`
	Limit  int                `json:"limit" query:"limit"`
	Which  string             `query:"which"`
}

type change struct {
	Set, Null bool
	Value     int64
}

func (c *change) Assign(null bool) any {
	c.Set, c.Null = true, null
	return &c.Value
}

func readEverything(t *testing.T, body string) (everything, []api.FieldError) {
	t.Helper()
	is := is.New(t)
	o, err := JSON([]byte(body))
	is.NoErr(err)
	var v everything
	errs := Of(reflect.TypeFor[everything]()).Body(reflect.ValueOf(&v), o)
	return v, errs
}

func TestMembersOfTheWrongFormAreAllReported(t *testing.T) {
	for body, want := range map[string]string{
		`{"name":"","text":1}`:                                "text invalid_type",
		`{"name":"","text":null}`:                             "text required",
		`{"name":""}`:                                         "text required",
		`{"text":"","name":"","filled":""}`:                   "filled required",
		`{"text":"","name":"","opt":null}`:                    "opt required",
		`{"text":"","name":"","int":"1"}`:                     "int invalid_type",
		`{"text":"","name":"","int":1.5}`:                     "int invalid_type",
		`{"text":"","name":"","int":1e300}`:                   "int out_of_range",
		`{"text":"","name":"","int":9007199254740992}`:        "int out_of_range",
		`{"text":"","name":"","time":"tomorrow"}`:             "time invalid_format",
		`{"text":"","name":"","time":"2026-1-1T0:0:0Z"}`:      "time invalid_format",
		`{"text":"","name":"","time":1}`:                      "time invalid_type",
		`{"text":"","name":"","bool":"true"}`:                 "bool invalid_type",
		`{"text":"","name":"","list":["a",1]}`:                "list invalid_type",
		`{"text":"","name":"","map":[]}`:                      "map invalid_type",
		`{"text":"","name":"","texts":{"a/b":1,"c":"d"}}`:     "texts/a~1b invalid_type",
		`{"text":"","name":"","texts":{"a":null}}`:            "texts/a invalid_type",
		`{"text":"","name":"","change":"x"}`:                  "change invalid_type",
		`{"text":"","name":"","id":"x"}`:                      "id unknown",
		`{"text":"","name":"","Text":"","hidden":"","ID":""}`: "ID unknown,Text unknown,hidden unknown",
		`{"text":"","name":"","which":"x","a~b/c d":1}`:       "a~0b~1c d unknown,which unknown",
		`{"text":"","name":"","":1}`:                          " unknown",
		`{"int":"1","bool":0}`:                                "text required,name required,int invalid_type,bool invalid_type",
	} {
		_, errs := readEverything(t, body)
		var got []string
		for _, e := range errs {
			got = append(got, e.Field+" "+e.Code)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s gave %q, want %q", body, got, want)
		}
	}
}

func TestMembersOfTheRightForm(t *testing.T) {
	is := is.New(t)
	v, errs := readEverything(t, `{"text":"x","name":"","opt":"y","int":5e0,"null":null,"time":"2026-01-01T01:00:00.5+01:00","bool":true,
		"list":["a"],"texts":{"a":"b"},"merge":{"a":"b","c":null},"map":{"n":1.5,"t":true},"change":null,"secret":"s"}`)
	is.Equal(len(errs), 0)
	is.Equal(v.Text, "x")
	is.Equal(*v.Opt, "y")
	is.Equal(v.Int, int64(5))
	is.Equal(v.Null, nil)
	is.Equal(v.Time.Format("15:04:05.000 MST"), "00:00:00.500 UTC")
	is.True(v.Bool)
	is.Equal(v.List, []string{"a"})
	is.Equal(v.Texts, map[string]string{"a": "b"})
	is.Equal(*v.Merge["a"], "b")
	is.Equal(v.Merge["c"], nil)
	is.Equal(v.Map, map[string]any{"n": json.Number("1.5"), "t": true})
	is.Equal(v.Change, change{Set: true, Null: true})
	v, errs = readEverything(t, `{"text":"","name":"","int":5.0,"null":7,"change":5}`)
	is.Equal(len(errs), 0)
	is.Equal(v.Int, int64(5))
	is.Equal(*v.Null, int64(7))
	is.Equal(v.Change, change{Set: true, Value: 5})
}

func TestQueriesAreReadStrictly(t *testing.T) {
	for query, want := range map[string]string{
		"text=a&limit=200&bool=true&list=a&list=b&which=w": "",
		"text=":             "text required",
		"text=a&text=b":     "text repeated",
		"limit=0":           "limit out_of_range",
		"limit=05":          "limit out_of_range",
		"limit=201":         "limit out_of_range",
		"limit=x":           "limit out_of_range",
		"bool=1":            "bool invalid_format",
		"time=2026-01-01":   "time invalid_format",
		"Text=a":            "Text unknown",
		"hidden=a&secret=b": "hidden unknown,secret unknown",
		"id=lic_1":          "id unknown",
	} {
		is := is.New(t)
		values, err := url.ParseQuery(query)
		is.NoErr(err)
		var v everything
		var got []string
		for _, e := range Of(reflect.TypeFor[everything]()).Query(reflect.ValueOf(&v), values, true) {
			got = append(got, e.Field+" "+e.Code)
		}
		is.Equal(strings.Join(got, ","), want) // of the query
	}
	is := is.New(t)
	var v everything
	errs := Of(reflect.TypeFor[everything]()).Query(reflect.ValueOf(&v), url.Values{"which": {"w"}, "text": {"a"}}, false)
	is.Equal(len(errs), 1) // text is no parameter of a request with a body
	is.Equal(v.Which, "w")
}

// FuzzJSON compares the reader with encoding/json: what it takes, that
// takes too, with the same values; what it refuses is refused for a reason.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":"n","product_id":"p","customer_id":"c"}`, `{"a":[1,2.5e-3,{"b":null}],"c":"\ud83d\ude00"}`,
		`{"a":1,"a":2}`, `{"a":"<&\u2028>","<\n":["<",{"b":"\\n"}]}`, `{"a":"\ud83d"}`, "\ufeff{}", `{"a":"\\ud83d\u0000"}`, nested(32), nested(33), `[1]`, `nul`, "{\"\xff\":1}", `{"a":-0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := JSON(body)
		if err != nil {
			if err != error(ErrNotObject) && !errors.As(err, new(*SyntaxError)) {
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
		canonical, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := Canonical(body); !bytes.Equal(got, canonical) {
			t.Fatalf("%q: got %s, want %s", body, got, canonical)
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
			var got time.Time
			ok := setTime(&got, []byte(s))
			is.Equal(ok, want != "")
			if ok {
				is.Equal(got.Format(time.RFC3339Nano), want)
			}
		})
	}
}
