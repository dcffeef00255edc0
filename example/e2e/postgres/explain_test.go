package postgres_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A node is a step of an executed plan.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"` // per loop, like the next fields
	Filtered float64 `json:"Rows Removed by Filter"`
	Joined   float64 `json:"Rows Removed by Join Filter"`
	Loops    float64 `json:"Actual Loops"`
	Fetches  float64 `json:"Heap Fetches"`
	Plans    []node
}

// prepare prepares a statement, and runs it often enough for PostgreSQL to
// consider a generic plan.
func prepare(t *testing.T, conn *sql.Conn, s statement) {
	t.Helper()
	is := is.New(t)
	_, err := conn.ExecContext(t.Context(), "PREPARE it AS "+s.text)
	is.NoErr(err)
	for range 6 {
		_, err := conn.ExecContext(t.Context(), "BEGIN; "+execute(s)+"; ROLLBACK")
		is.NoErr(err)
	}
}

// execute returns the command to run the prepared statement with the values of s.
func execute(s statement) string {
	if len(s.args) == 0 {
		return "EXECUTE it"
	}
	values := make([]string, len(s.args))
	for i, arg := range s.args {
		switch v := arg.Value.(type) {
		case nil:
			values[i] = "NULL"
		case string:
			values[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		case []byte:
			values[i] = fmt.Sprintf(`'\x%x'`, v)
		default:
			values[i] = fmt.Sprint(v)
		}
	}
	return "EXECUTE it (" + strings.Join(values, ", ") + ")"
}

// explain runs the prepared statement, rolls it back, and returns its plan.
func explain(t *testing.T, conn *sql.Conn, s statement) node {
	t.Helper()
	is := is.New(t)
	tx, err := conn.BeginTx(t.Context(), nil)
	is.NoErr(err)
	defer tx.Rollback()
	var text []byte
	is.NoErr(tx.QueryRow("EXPLAIN (ANALYZE, FORMAT JSON) " + execute(s)).Scan(&text))
	var plans []struct{ Plan node }
	is.NoErr(json.Unmarshal(text, &plans))
	return plans[0].Plan
}

// faults returns what is wrong with a plan: a scan of a whole table, or a sort or
// a filter of more rows than a few pages hold. Sorting fewer rows is sometimes the
// cheapest way to return them in order.
func faults(n node) (found []string) {
	if n.Type == "Seq Scan" && n.Relation != "licensing_schema" { // which has one row
		found = append(found, "Seq Scan of "+n.Relation)
	}
	if rows := (n.Rows + n.Filtered + n.Joined) * n.Loops; rows > mostRows {
		found = append(found, fmt.Sprintf("%s %s of %.0f rows", n.Type, n.Relation, rows))
	}
	for _, below := range n.Plans {
		found = append(found, faults(below)...)
	}
	return found
}

const mostRows = 2 * store.MaxLimit
