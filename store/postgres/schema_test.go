package postgres

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

func TestSchemaNames(t *testing.T) {
	for _, test := range []struct{ name, table string }{
		{"", `"public".licensing_tally`},
		{"public", `"public".licensing_tally`},
		{"Acme Inc.", `"Acme Inc.".licensing_tally`},
		{`a"b`, `"a""b".licensing_tally`},
		{`"; DROP SCHEMA public; --`, `"""; DROP SCHEMA public; --".licensing_tally`},
		{"licensing_acme", `"licensing_acme".licensing_tally`},
		{strings.Repeat("x", 63), `"` + strings.Repeat("x", 63) + `".licensing_tally`},
		{"pg_temp", ""},
		{"a\x00b", ""},
		{"a\xffb", ""},
		{strings.Repeat("x", 64), ""},
		{strings.Repeat("ü", 32), ""}, // 64 bytes
	} {
		is := is.New(t)
		s, err := newSchema(test.name)
		if test.table == "" {
			is.True(err != nil)
			require.HasPrefix(t, err.Error(), "postgres: Options.Schema ") // names the field
			continue
		}
		is.NoErr(err)
		is.Equal(s.in("licensing_tally"), test.table)
	}
}

func TestEachSchemaHasItsOwnLock(t *testing.T) {
	is := is.New(t)
	locks := map[int64]string{}
	for _, name := range []string{"public", "Public", "a", "b", "ab"} {
		s, err := newSchema(name)
		is.NoErr(err)
		is.Equal(locks[s.lock], "")
		locks[s.lock] = name
	}
	unnamed, err := newSchema("")
	is.NoErr(err)
	is.Equal(locks[unnamed.lock], "public")
	is.Equal(unnamed.lock, int64(-6632736181757164935)) // the same in every release
}
