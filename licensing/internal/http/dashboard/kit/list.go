package kit

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Each returns what fn makes of each element of a list.
func Each[T, R any](list []T, fn func(T) R) (all []R) {
	for _, x := range list {
		all = append(all, fn(x))
	}
	return all
}

// A Pair is a name and a value, such as those of an entitlement.
type Pair struct{ Name, Value string }

// Line returns the pair in one line.
func (p Pair) Line() string { return p.Name + ": " + p.Value }

// PairsOf returns the entries of a map by name, with their values as texts.
func PairsOf[V any](m map[string]V, text func(V) string) (list []Pair) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, Pair{name, text(m[name])})
	}
	return list
}

// Same returns a text unchanged.
func Same(text string) string { return text }

// A Place is a page to return to, as a reference from dashboard/.
type Place struct{ Title, Path string }

// Lists are the pages of the lists, by section.
var Lists = map[string]Place{
	"account":     {"Your account", "password"},
	"credentials": {"API credentials", "settings/credentials"},
	"customers":   {"Customers", "customers"},
	"keys":        {"Signing keys", "settings/keys"},
	"licenses":    {"Licenses", "licenses"},
	"operators":   {"Operators", "settings/operators"},
	"plans":       {"Plans", "plans"},
	"purchases":   {"Purchases", "purchases"},
	"webhooks":    {"Webhooks", "settings/webhooks"},
}

// A Pager has the queries of other pages of a list; empty: there is none. The anchor is the
// place of the list on its page.
type Pager struct{ Next, First, Anchor string }

// Pager returns the pager of this page of a list with a filter. The parameter with the cursor
// has that name.
func (v *Visit) Pager(filter url.Values, name, next string) (p Pager) {
	if v.R.URL.Query().Get(name) != "" {
		p.First = "?" + filter.Encode()
	}
	if next != "" {
		to := url.Values{name: {next}}
		maps.Copy(to, filter)
		p.Next = "?" + to.Encode()
	}
	return p
}

// A recordTable shows records in rows. The first column names the record.
type recordTable struct {
	Page
	Caption string
	Pick    bool // rows have a checkbox
	Columns []Column
	Rows    any // a slice
}

// A Column has a label that the page shows, except "Actions".
type Column struct{ Label, Class string }

// A cell is what the template "cell" of a page shows: a column of a record.
type cell struct {
	Page
	Row    any
	Column string
}

// Records returns a table for the template "table". Each column is a label, with the CSS
// class after a bar; one that is false is left out.
func (p Page) Records(caption string, rows any, columns ...any) recordTable {
	t := recordTable{Page: p, Caption: caption, Rows: rows}
	for _, c := range columns {
		if text, ok := c.(string); ok {
			label, class, _ := strings.Cut(text, "|")
			t.Columns = append(t.Columns, Column{label, class})
		}
	}
	return t
}

// Heads returns the heads of a table whose rows a page writes itself, for the template "heads".
func (p Page) Heads(pick bool, columns ...any) recordTable {
	t := p.Records("", nil, columns...)
	t.Pick = pick
	return t
}

// Cell returns a cell of the table.
func (t recordTable) Cell(row any, c Column) cell { return cell{t.Page, row, c.Label} }
