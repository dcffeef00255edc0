package postgres

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"
)

// maxIdentifier is the maximum length of a PostgreSQL identifier in bytes.
// PostgreSQL truncates longer names, so two of them could mean one schema.
const maxIdentifier = 63

// A schema is the part of a database that holds one store.
type schema struct {
	name   string // as in the catalog
	quoted string // as in a statement
	// lock is the key of the advisory lock that migrations of this schema take:
	// there is no row to lock before the first one. If two schemas of a database
	// happen to share a key, their migrations wait for each other; that is the only
	// effect.
	lock int64
}

// newSchema checks a schema's name; empty means "public".
func newSchema(name string) (schema, error) {
	name = cmp.Or(name, "public")
	fault := ""
	switch {
	case len(name) > maxIdentifier:
		fault = fmt.Sprintf("is %d bytes long; PostgreSQL allows at most %d", len(name), maxIdentifier)
	case strings.HasPrefix(name, "pg_"):
		fault = `begins with "pg_", which PostgreSQL reserves`
	case !storable(name):
		fault = "is not valid UTF-8 or contains a NUL byte"
	}
	if fault != "" {
		return schema{}, fmt.Errorf("postgres: Options.Schema %q %s", name, fault)
	}
	key := fnv.New64a()
	key.Write([]byte("licensekit " + name))
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	return schema{name: name, quoted: quoted, lock: int64(key.Sum64())}, nil
}

// in qualifies each table in stmt with this schema, so that search_path does not
// matter. Statements write their tables as licensing_….
func (s schema) in(stmt string) string {
	return strings.ReplaceAll(stmt, "licensing_", s.quoted+".licensing_")
}
