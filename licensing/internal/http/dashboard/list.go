package dashboard

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// each returns what fn makes of each element of a list.
func each[T, R any](list []T, fn func(T) R) (all []R) {
	for _, x := range list {
		all = append(all, fn(x))
	}
	return all
}

// A pair is a name and a value, such as those of an entitlement.
type pair struct{ Name, Value string }

// line returns the pair in one line.
func (p pair) line() string { return p.Name + ": " + p.Value }

// pairsOf returns the entries of a map by name, with their values as texts.
func pairsOf[V any](m map[string]V, text func(V) string) (list []pair) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, pair{name, text(m[name])})
	}
	return list
}

// same returns a text unchanged.
func same(text string) string { return text }

// A place is a page to return to, as a reference from dashboard/.
type place struct{ Title, Path string }

// lists are the pages of the lists, by section.
var lists = map[string]place{
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

// A pager has the queries of other pages of a list; empty: there is none. The anchor is the
// place of the list on its page.
type pager struct{ Next, First, Anchor string }

// pager returns the pager of this page of a list with a filter. The parameter with the cursor
// has that name.
func (v *visit) pager(filter url.Values, name, next string) (p pager) {
	if v.r.URL.Query().Get(name) != "" {
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
	page
	Caption string
	Columns []column
	Rows    any // a slice
}

// A column has a label that the page shows, except "Actions".
type column struct{ Label, Class string }

// A cell is what the template "cell" of a page shows: a column of a record.
type cell struct {
	page
	Row    any
	Column string
}

// Records returns a table for the template "table". Each column is a label, with the CSS
// class after a bar; one that is false is left out.
func (p page) Records(caption string, rows any, columns ...any) recordTable {
	t := recordTable{page: p, Caption: caption, Rows: rows}
	for _, c := range columns {
		if text, ok := c.(string); ok {
			label, class, _ := strings.Cut(text, "|")
			t.Columns = append(t.Columns, column{label, class})
		}
	}
	return t
}

// Cell returns a cell of the table.
func (t recordTable) Cell(row any, c column) cell { return cell{t.page, row, c.Label} }
