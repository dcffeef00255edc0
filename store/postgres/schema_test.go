package postgres

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestSchemaNames(t *testing.T) {
	for _, test := range []struct{ name, table string }{
		{"", `"public".licensing_entries`},
		{"public", `"public".licensing_entries`},
		{"Acme Inc.", `"Acme Inc.".licensing_entries`},
		{`a"b`, `"a""b".licensing_entries`},
		{`"; DROP SCHEMA public; --`, `"""; DROP SCHEMA public; --".licensing_entries`},
		{"licensing_acme", `"licensing_acme".licensing_entries`},
		{strings.Repeat("x", 63), `"` + strings.Repeat("x", 63) + `".licensing_entries`},
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
		is.Equal(s.in("licensing_entries"), test.table)
	}
}

func TestANilDatabaseIsAnError(t *testing.T) {
	_, err := New(t.Context(), nil, Options{}) // as after an error of sql.Open that was ignored
	is.New(t).True(err != nil)
	require.Contains(t, err.Error(), "sql.Open")
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
