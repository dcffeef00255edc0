package postgres

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// encode makes the attempt's part of a batch. See 0001_tables.sql for the format.
func (a *attempt) encode() (err error) {
	a.sets, a.size = map[byte][]byte{}, 0
	add := func(set byte, row ...any) {
		text, failed := json.Marshal(append([]any{a.version}, row...))
		if failed != nil {
			err = failed
		}
		if a.sets[set] != nil {
			text = append(append(a.sets[set], ','), text...)
		}
		a.size += len(text) - len(a.sets[set])
		a.sets[set] = text
	}
	for p, r := range a.facts {
		add(p.kind, r.version, p.a, p.b)
	}
	for _, l := range a.lists {
		add('q', l.found, string(l.part.kind), l.part.a, l.bound(), l.args)
	}
	for _, p := range a.order {
		w := a.own[p]
		if w.op != 0 { // a row
			values := valuesOf(w.value)
			if values == nil {
				values = []any{p.a, p.b}
			}
			add(p.kind-'a'+'A', append([]any{string(w.op)}, values...)...)
		}
	}
	for _, e := range a.events {
		add('H', valuesOf(e)...)
	}
	return err
}

// bound returns the statement of a list with the elements of an array, which is its
// only parameter, in place of its parameters.
func (l listed) bound() string {
	var pairs []string
	for i := len(l.args) - 1; i >= 0; i-- { // $12 before $1
		cast := "text"
		switch l.args[i].(type) {
		case int64, int:
			cast = "bigint"
		case bool:
			cast = "boolean"
		}
		pairs = append(pairs, "$"+strconv.Itoa(i+1), fmt.Sprintf("($1->>%d)::%s", i, cast))
	}
	return strings.NewReplacer(pairs...).Replace("SELECT array_to_string(ARRAY(" + l.text() + "), ',')")
}

// payload returns the parameter of a call. Without an ID, the batch cannot be resolved.
func payload(id int64, members []*attempt) string {
	sets := map[byte][]byte{}
	for _, a := range members {
		for set, rows := range a.sets {
			if sets[set] != nil {
				sets[set] = append(sets[set], ',')
			}
			sets[set] = append(sets[set], rows...)
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	for set, rows := range sets {
		fmt.Fprintf(&b, "%q:[%s],", string(set), rows)
	}
	if id != 0 {
		fmt.Fprintf(&b, `"B":%d,`, id)
	}
	return strings.TrimSuffix(b.String(), ",") + "}"
}
