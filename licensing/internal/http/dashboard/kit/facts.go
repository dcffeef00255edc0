package kit

import (
	"encoding/json"
	"time"
)

// FactsOf returns fields of a record in the words that the history has for them, in order. A
// field that the record does not have is left out, unless its blank has a text. None is a time.
func FactsOf(record any, fields ...string) (list []Pair) {
	var values map[string]any
	text, _ := json.Marshal(record) // always encodes
	_ = json.Unmarshal(text, &values)
	for _, field := range fields {
		if value, has := values[field]; has || changeBlanks[field] != "" {
			list = append(list, Pair{ChangeLabel(field), SentenceCase(DescribeValue(field, value, time.UTC))})
		}
	}
	return list
}
