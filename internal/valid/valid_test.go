package valid

import (
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
)

type limits struct {
	TTL time.Duration `validate:"omitempty,min=1m,max=24h"`
	Key []byte        `validate:"omitempty,min=32"`
}

type params struct {
	Name   string   `json:"name" validate:"text"`
	Color  string   `json:"color,omitempty" validate:"omitempty,oneof=red green"`
	Tags   []string `json:"tags" validate:"omitempty,min=1,max=2,dive,text"`
	Count  int      `json:"count" validate:"max=9"`
	Even   string   `json:"even" validate:"omitempty,even"`
	Limits limits
	Parts  []part `json:"parts" validate:"dive"`
}

type part struct {
	Sizes []size `json:"sizes" validate:"max=2,dive"`
}

type size struct {
	N int `json:"n" validate:"min=1"`
}

func TestCheck(t *testing.T) {
	checker := New(map[string]Rule{"even": Text(func(s string) bool { return len(s)%2 == 0 }, "odd", "must be even")})
	good := params{Name: "n", Tags: []string{"a", "b"}, Even: "ab", Limits: limits{TTL: time.Hour, Key: make([]byte, 32)}}
	for want, change := range map[string]func(p *params){
		"":                               func(*params) {},
		"Name name required is required": func(p *params) { p.Name = "" },
		"Name name invalid_characters must be valid UTF-8 without control characters": func(p *params) { p.Name = "a\x85" },
		"Name name invalid_format must not begin or end with white space":             func(p *params) { p.Name = " n" },
		"Name name too_long must be at most 255 characters":                           func(p *params) { p.Name = strings.Repeat("ä", 256) },
		"Color color unknown must be one of red, green":                               func(p *params) { p.Color = "blue" },
		"Tags tags required must have at least one member":                            func(p *params) { p.Tags = []string{} },
		"Tags tags out_of_range must have at most 2 members":                          func(p *params) { p.Tags = make([]string, 3) },
		"Tags[1] tags/1 required is required":                                         func(p *params) { p.Tags[1] = "" },
		"Count count out_of_range must be at most 9":                                  func(p *params) { p.Count = 10 },
		"Even even odd must be even":                                                  func(p *params) { p.Even = "a" },
		"Parts[1].Sizes[0].N parts/1/sizes/0/n out_of_range must be at least 1":       func(p *params) { p.Parts = []part{{}, {[]size{{0}}}} },
		"Parts[0].Sizes parts/0/sizes out_of_range must have at most 2 members":       func(p *params) { p.Parts = []part{{make([]size, 3)}} },
		"Limits.TTL TTL out_of_range must be at least 1m":                             func(p *params) { p.Limits.TTL = 1 },
		"Limits.TTL TTL out_of_range must be at most 24h":                             func(p *params) { p.Limits.TTL = 25 * time.Hour },
		"Limits.Key Key out_of_range must be at least 32 bytes":                       func(p *params) { p.Limits.Key = []byte("short") },
	} {
		is := is.New(t)
		p := good
		p.Tags = []string{"a", "b"}
		change(&p)
		var got []string
		for _, f := range checker.Check(p) {
			got = append(got, strings.Join([]string{f.Path, f.Field, f.Code, f.Detail}, " "))
		}
		is.Equal(strings.Join(got, "; "), want)
	}
}
