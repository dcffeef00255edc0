package forms

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// Entitlements and metadata are edited in rows with a name and a value. The form
// has blank rows for new entries; a button adds more.

// blankPairs is the number of blank rows.
const blankPairs = 2

// A pairRow is one row. Invalid marks it as wrong; the field has the error.
type pairRow struct {
	Name, Value string
	Invalid     bool
}

// Blank reports whether nothing is entered in the row.
func (p pairRow) Blank() bool {
	return strings.TrimSpace(p.Name) == "" && strings.TrimSpace(p.Value) == ""
}

// PairsField returns a field of rows, with the values of m. parse is nil for texts.
func PairsField[V any](name, label, one, hint string, m map[string]V, format func(V) string, parse func(string) (any, error)) *Field {
	x := &Field{Name: name, Label: label, One: one, Hint: hint, Type: "pairs", Parse: parse}
	for _, n := range slices.Sorted(maps.Keys(m)) {
		x.Pairs = append(x.Pairs, pairRow{Name: n, Value: format(m[n])})
	}
	x.addBlankPairs()
	return x
}

// addBlankPairs appends blank rows.
func (x *Field) addBlankPairs() { x.Pairs = append(x.Pairs, make([]pairRow, blankPairs)...) }

// fillPairs sets the rows from the submitted form, without blank rows at the end.
func (x *Field) fillPairs(sent url.Values) {
	x.Pairs = nil
	names, values := sent[x.Name+"_name"], sent[x.Name+"_value"]
	for i := range max(len(names), len(values)) {
		var row pairRow
		if i < len(names) {
			row.Name = names[i]
		}
		if i < len(values) {
			row.Value = values[i]
		}
		x.Pairs = append(x.Pairs, row)
	}
	for n := len(x.Pairs); n > 0 && x.Pairs[n-1].Blank(); n-- {
		x.Pairs = x.Pairs[:n-1]
	}
	x.addBlankPairs()
}

// addPairs adds blank rows to the field that the form was submitted for. It
// reports whether the form was submitted for that alone.
func (f *Form) addPairs(v *kit.Visit) bool {
	x := f.Field(v.Sent("more"))
	if x == nil || x.Type != "pairs" {
		return false
	}
	x.addBlankPairs()
	f.added = x.Name
	return true
}

// markPair marks the row with a name as invalid.
func (x *Field) markPair(name string) {
	for i, p := range x.Pairs {
		if strings.TrimSpace(p.Name) == name && !p.Blank() {
			x.Pairs[i].Invalid = true
		}
	}
}

// readPairs parses the rows of a field. It marks invalid rows, and adds an error for
// each.
func (f *Form) readPairs(x *Field) map[string]any {
	m := map[string]any{}
	for i, p := range x.Pairs {
		if p.Blank() {
			continue
		}
		key := strings.TrimSpace(p.Name)
		_, twice := m[key]
		var value any = strings.TrimSpace(p.Value)
		var err error
		if x.Parse != nil {
			value, err = x.Parse(strings.TrimSpace(p.Value))
		}
		switch {
		case key == "":
			err = errors.New("enter a name, or clear the value")
		case twice:
			err = errors.New("the name is used twice")
		}
		if err != nil {
			f.AddError(x.Name, fmt.Sprintf("row %d: %v", i+1, err))
			x.Pairs[i].Invalid = true
		}
		if key != "" && !twice {
			m[key] = value // also an invalid one, so that its name is checked
		}
	}
	return m
}

// FormatEntitlement formats the value of an entitlement for ParseEntitlement.
func FormatEntitlement(x any) string {
	switch x := x.(type) {
	case bool:
		return ""
	case string:
		if y, err := ParseEntitlement(x); err == nil && y == x {
			return x
		}
		quoted, _ := json.Marshal(x) // strings always encode
		return string(quoted)
	}
	return kit.FormatValue(x)
}

// ParseEntitlement parses the value of an entitlement: nothing for true, a
// number, or a string with or without quotation marks.
func ParseEntitlement(s string) (any, error) {
	switch {
	case s == "" || s == "true":
		return true, nil
	case s[0] == '"':
		var text string
		if json.Unmarshal([]byte(s), &text) != nil {
			return "", errors.New("the quotation marks are not balanced")
		}
		return text, nil
	}
	var n json.Number
	if json.Unmarshal([]byte(s), &n) == nil {
		if f, err := n.Float64(); err == nil {
			return f, nil
		}
	}
	return s, nil
}
