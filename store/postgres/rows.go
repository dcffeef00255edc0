package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// recordset returns a SELECT of rows that are passed in one parameter, a JSON
// array of arrays. Drivers differ in how they pass a PostgreSQL array.
//
// Each byte of kinds is the type of a column: t for text, i for bigint, d for a
// document.
func recordset(kinds string) string {
	columns := make([]string, len(kinds))
	for i, kind := range kinds {
		columns[i] = map[rune]string{'t': "r->>%d", 'i': "(r->>%d)::bigint", 'd': "decode(r->>%d, 'base64')"}[kind]
		columns[i] = fmt.Sprintf(columns[i], i)
	}
	return "SELECT " + strings.Join(columns, ", ") +
		" FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY AS elements (r, n) ORDER BY n"
}

// writeRows runs a statement with rows for its recordset, and returns the number
// of rows it changed.
func (t *transaction) writeRows(ctx context.Context, rows [][]any, stmt string, args ...any) (n int64, err error) {
	text, err := t.rows(ctx, rows)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return t.write(ctx, stmt, append([]any{text}, args...)...)
}

// rows returns the parameter of a recordset.
func (t *transaction) rows(ctx context.Context, rows [][]any) (string, error) {
	if err := t.ready(ctx); err != nil {
		return "", err
	}
	for _, row := range rows {
		if !storable(row...) {
			return "", errNotText
		}
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// bare returns columns without the name of their table.
func bare(columns string) string {
	table, _, _ := strings.Cut(columns, ".")
	return strings.ReplaceAll(columns, table+".", "")
}
