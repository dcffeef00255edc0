package postgres

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

func TestSelections(t *testing.T) {
	at := func(ms int64, ns int) time.Time { return time.UnixMilli(ms).Add(time.Duration(ns)) }
	for _, test := range []struct {
		name string
		make func(*selection)
		text string // after SELECT x FROM t
		args []any
	}{
		{
			"all in order",
			func(s *selection) { s.order(false, nil, "id") },
			" ORDER BY id", nil,
		},
		{
			"an unset filter",
			func(s *selection) { s.equal("a", ""); s.leading("b", ""); s.order(true, after(""), "id") },
			" ORDER BY id DESC", nil,
		},
		{
			"the first leading filter begins the order",
			func(s *selection) {
				s.leading("a", "")
				s.leading("b", "x")
				s.leading("c", "y")
				s.order(true, after("id_1"), "id")
			},
			" WHERE b = ANY (ARRAY[$1::text]) AND c = $2 AND (id) < ($3) ORDER BY b DESC, id DESC", []any{"x", "y", "id_1"},
		},
		{
			"after a time and an id",
			func(s *selection) {
				s.order(false, position(store.ByExpiresAt, store.Position{Time: at(5, 0), ID: "id_1"}), "time", "id")
			},
			" WHERE (time, id) > ($1, $2) ORDER BY time, id", []any{int64(5), "id_1"},
		},
		{
			"bounds between milliseconds are rounded up, because stored times are whole milliseconds",
			func(s *selection) { s.within("time", store.TimeRange{From: at(5, 1), Before: at(7, 0)}) },
			" WHERE time IS NOT NULL AND time >= $1 AND time < $2", []any{int64(6), int64(7)},
		},
		{
			"a range that includes rows without a time",
			func(s *selection) { s.within("time", store.TimeRange{Before: at(7, 0), OrNone: true}) },
			" WHERE (time IS NULL OR time IS NOT NULL AND time < $1)", []any{int64(7)},
		},
		{
			"a range without bounds",
			func(s *selection) { s.within("time", store.TimeRange{OrNone: true}) },
			"", nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			s := from(table{name: "t"})
			s.columns = "x"
			test.make(s)
			is.Equal(s.text(), "SELECT x FROM t"+test.text)
			is.Equal(s.args, test.args)
		})
	}
}
