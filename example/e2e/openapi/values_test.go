package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// A grammar makes values of schemas, and values that break them.
type grammar struct {
	rand  *rand.Rand
	now   func() time.Time
	known map[string][]string // by the name of a member or the prefix of an id: what answers had
	wild  bool                // mistakes are made

	earlier []map[string]json.RawMessage // bodies of requests that were accepted, and of their answers
	like    map[string]json.RawMessage   // one of them, whose members the next body shares, or nil
}

// kept is how many values of one name are known.
const kept = 40

// names says under which name the values of a member or a parameter are known, if
// not under its own. The ids of resources are known by the object member.
var names = map[string]string{
	"licenseID": "license", "license_id": "license", "subject": "license", "activationID": "activation", "activation_id": "activation",
	"webhookID": "webhook", "webhook_id": "webhook", "deliveryID": "delivery", "planID": "plan", "plan_id": "plan",
	"token": "access_token", "cursor": "next_cursor", "after": "next_cursor", "If-Match": "ETag", "If-None-Match": "ETag",
	"lifetime": "duration", "file": "duration",
}

// learn keeps a value that was in an answer.
func (g *grammar) learn(name, value string) {
	name = cmp.Or(names[name], name)
	values := g.known[name]
	switch {
	case value == "" || len(value) > 2000 || slices.Contains(values, value):
	case len(values) < kept:
		g.known[name] = append(values, value)
	default:
		values[g.rand.IntN(kept)] = value
	}
}

// learnAll learns every string of a JSON value by the name of its member.
func (g *grammar) learnAll(name string, value any) {
	switch value := value.(type) {
	case string:
		g.learn(name, value)
	case []any:
		for _, item := range value[:min(len(value), kept)] {
			g.learnAll(name, item)
		}
	case map[string]any:
		for name, member := range value {
			if object, ok := value["object"].(string); ok && name == "id" {
				name = object
			}
			g.learnAll(name, member)
		}
	}
}

// in reports true once in n calls.
func (g *grammar) in(n int) bool { return g.rand.IntN(n) == 0 }

// mistake is in for what is wrong on purpose.
func (g *grammar) mistake(n int) bool { return g.wild && g.in(n) }

func pick[T any](g *grammar, from ...T) T { return from[g.rand.IntN(len(from))] }

// text returns a value of a schema as a path, a query or a header has it.
func (g *grammar) text(name string, s *openapi3.Schema) string {
	if g.mistake(12) {
		return g.naughty()
	}
	var b strings.Builder
	g.write(&b, name, s, 0)
	var plain string
	if json.Unmarshal([]byte(b.String()), &plain) == nil {
		return plain
	}
	return b.String()
}

// write appends a JSON value of a schema.
func (g *grammar) write(b *strings.Builder, name string, s *openapi3.Schema, depth int) {
	if depth > 0 && g.mistake(20) {
		b.WriteString(g.junk())
		return
	}
	known := g.known[cmp.Or(names[name], name)]
	switch {
	case s.Const != nil:
		s = &openapi3.Schema{Enum: []any{s.Const}}
		fallthrough
	case len(s.Enum) > 0:
		data, _ := json.Marshal(pick(g, s.Enum...))
		b.Write(data)
		return
	case len(known) > 0 && s.Type.Permits("string") && !g.in(6):
		g.quote(b, pick(g, known...))
		return
	case len(s.OneOf) > 0:
		g.write(b, name, pick(g, s.OneOf...).Value, depth)
		return
	case len(s.AnyOf) > 0:
		g.write(b, name, pick(g, s.AnyOf...).Value, depth)
		return
	case s.Type == nil && s.Properties == nil:
		b.WriteString(pick(g, "true", "7", `"x"`, "null"))
		return
	}
	kind := "object"
	if s.Type != nil {
		kind = pick(g, s.Type.Slice()...)
	}
	switch kind {
	case "object":
		g.object(b, s, depth)
	case "array":
		b.WriteByte('[')
		for i := range g.rand.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			g.write(b, name, s.Items.Value, depth+1)
		}
		b.WriteByte(']')
	case "integer", "number":
		b.WriteString(g.number(s))
	case "boolean":
		b.WriteString(pick(g, "true", "false"))
	case "null":
		b.WriteString("null")
	default:
		g.quote(b, g.str(s))
	}
}

// object appends an object: mostly with what is required, in any order, sometimes
// with a member twice or one that does not exist.
func (g *grammar) object(b *strings.Builder, s *openapi3.Schema, depth int) {
	var members []string
	rare := pick(g, 2, 4, 8)
	for name := range s.Properties {
		required := slices.Contains(s.Required, name)
		if required && !g.mistake(60) || !required && g.in(rare) || depth == 0 && g.like[name] != nil {
			members = append(members, name)
		}
	}
	slices.Sort(members) // so that the same seed makes the same requests
	g.rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	if len(members) > 0 && g.mistake(80) {
		members = append(members, members[0])
	}
	b.WriteByte('{')
	separator := ""
	for _, name := range members {
		b.WriteString(separator)
		g.quote(b, name)
		b.WriteString(pick(g, ":", ": ", ":\n"))
		if earlier := g.like[name]; earlier != nil && depth == 0 && !g.in(6) {
			b.Write(earlier)
		} else {
			g.write(b, name, s.Properties[name].Value, depth+1)
		}
		separator = ","
	}
	more := s.AdditionalProperties.Schema
	if more == nil && g.mistake(80) {
		more = &openapi3.SchemaRef{Value: &openapi3.Schema{}}
	}
	if more != nil {
		for range g.rand.IntN(4) {
			b.WriteString(separator)
			g.quote(b, fmt.Sprint(pick(g, "a", "tier", "é", g.str(&openapi3.Schema{})), g.rand.IntN(9)))
			b.WriteByte(':')
			g.write(b, "", more.Value, depth+1)
			separator = ","
		}
	}
	b.WriteByte('}')
}

// number returns a number of a schema, often at a limit.
func (g *grammar) number(s *openapi3.Schema) string {
	low, high := 0.0, 1e6
	if s.Min != nil {
		low = *s.Min
	}
	if s.Max != nil {
		high = *s.Max
	}
	switch {
	case g.mistake(30):
		return strconv.FormatFloat(pick(g, low-1, high+1, low+0.5, -high, 1e300), 'f', -1, 64)
	case g.in(6):
		return strconv.FormatFloat(pick(g, low, high), 'f', -1, 64)
	}
	return strconv.FormatInt(int64(low)+g.rand.Int64N(min(max(int64(high-low), 1), pick[int64](g, 5, 100, 1e12))), 10)
}

// str returns a string of a schema.
func (g *grammar) str(s *openapi3.Schema) string {
	switch {
	case s.Format == "date-time":
		at := g.now().Add(time.Duration(g.rand.Int64N(int64(4*365*24*time.Hour))) - 2*365*24*time.Hour)
		return at.In(pick(g, time.UTC, time.FixedZone("", 5400))).Format(pick(g, time.RFC3339, time.RFC3339Nano))
	case s.Format == "uri":
		return pick(g, "https://host.example/hook", "https://host.example:8443/a?b=c", "https://host.example/%41")
	case s.Pattern != "":
		if expression, err := syntax.Parse(s.Pattern, syntax.Perl); err == nil {
			var b strings.Builder
			g.match(&b, expression)
			return b.String()
		}
	}
	most := 24
	if s.MaxLength != nil {
		most = min(most, int(*s.MaxLength))
	}
	length := int(s.MinLength) + g.rand.IntN(max(most-int(s.MinLength), 1))
	if s.MaxLength != nil && g.mistake(30) {
		length = int(*s.MaxLength) + g.rand.IntN(2)
	}
	alphabet := []rune(pick(g, "abc", "ABC-0123456789", "é漢字😀ßİı"))
	if g.mistake(8) {
		alphabet = []rune("a \u00a0\u0300\u200f")
	}
	text := make([]rune, length)
	for i := range text {
		text[i] = alphabet[g.rand.IntN(len(alphabet))]
	}
	return string(text)
}

// match appends a string that a regular expression matches.
func (g *grammar) match(b *strings.Builder, e *syntax.Regexp) {
	repeat := func(low, high int) {
		for range low + g.rand.IntN(high-low+1) {
			g.match(b, e.Sub[0])
		}
	}
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		i := 2 * g.rand.IntN(len(e.Rune)/2)
		b.WriteRune(e.Rune[i] + g.rand.Int32N(min(e.Rune[i+1]-e.Rune[i], 200)+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString(pick(g, "a", "é", "7"))
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			g.match(b, sub)
		}
	case syntax.OpAlternate:
		g.match(b, pick(g, e.Sub...))
	case syntax.OpCapture:
		g.match(b, e.Sub[0])
	case syntax.OpStar:
		repeat(0, 8)
	case syntax.OpPlus:
		repeat(1, 8)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		high := e.Max
		if high < 0 || high > e.Min+20 {
			high = e.Min + 20
		}
		repeat(e.Min, high)
	}
}

// quote appends a JSON string, sometimes in an unusual form.
func (g *grammar) quote(b *strings.Builder, text string) {
	switch {
	case g.in(60):
		b.WriteByte('"')
		for _, r := range text {
			if r > 0xffff {
				b.WriteRune(r)
				continue
			}
			fmt.Fprintf(b, `\u%04x`, r)
		}
		b.WriteByte('"')
	default:
		data, _ := json.Marshal(text)
		b.Write(data)
	}
}

// naughty returns a string that few schemas allow.
func (g *grammar) naughty() string {
	return pick(g,
		"", " ", " a", "a\u00a0", "a\x00b", "a\nb", "\u0085", "\ufeff", "\uffff", "\u202eabc", "e\u0301", "ﬀ", "İ", "\xff\xfe",
		"null", "true", "-1", "0", "1e9", "٣", "18446744073709551616", "NaN", "..", "../..", "%", "%2f", "a/b", "a//b", "*", `"`, `W/"1"`, "http://127.0.0.1/", "https://é.example/", "'; DROP TABLE licenses --",
		"lic_", "lic_00000000000000000000000000", "act_00000000000000000000000000", "trial:x", "2026-01-01", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z",
		"2026-02-30T00:00:00Z", "2026-06-30T23:59:60Z", "2026-01-01T00:00:00+24:00", strings.Repeat("x", 256), strings.Repeat("é", 300), strings.Repeat("😀", 2000))
}

// junk returns a JSON value, or what looks like one, that hardly any schema allows.
func (g *grammar) junk() string {
	if g.in(3) {
		var b strings.Builder
		g.quote(&b, g.naughty())
		return b.String()
	}
	return pick(g,
		"null", "true", "0", "-0", "-1", "1.5", "1e400", "-1e400", "1E2", "9007199254740993", "99999999999999999999", "01", "+1", ".5", "NaN",
		`""`, "[]", "{}", "[null]", `{"a":{"a":{"a":[]}}}`, `"\u0000"`, `"\ud800"`, `"\udc00\ud800"`, `"\x"`, "\"\xff\"", "\"\t\"", "'a'", "", "\u00a0",
		strings.Repeat("[", 40)+strings.Repeat("]", 40), strings.Repeat(`{"a":`, 200)+"1"+strings.Repeat("}", 200), strings.Repeat("[", 5000),
		`"`+strings.Repeat("x", 5000)+`"`, `"`+strings.Repeat("x", 70000)+`"`, "["+strings.Repeat("0,", 3000)+"0]", strings.Repeat("9", 2000))
}

// query returns an encoded query for parameters.
func (g *grammar) query(parameters openapi3.Parameters) string {
	var parts []string
	for _, p := range parameters {
		rare := 4
		if p.Value.Name == "cursor" { // which is of the list with the same parameters
			rare = 12
		}
		if p := p.Value; p.In == "query" && (p.Required && !g.mistake(30) || !p.Required && g.in(rare)) {
			part := url.QueryEscape(p.Name) + "=" + url.QueryEscape(g.text(p.Name, p.Schema.Value))
			parts = append(parts, part)
			if g.mistake(40) {
				parts = append(parts, part)
			}
		}
	}
	if g.mistake(30) {
		parts = append(parts, pick(g, "x=1", "limit", "limit=", "=", "&&", "a;b", "%zz=1", "limit=%ff", "access_token=a", "cursor=%00", "id=a&id=b", "+=+", "verbose=true"))
	}
	return strings.Join(parts, "&")
}
