package postgres

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// defaultSchema is where the tables are if Options does not say.
const defaultSchema = "public"

// maxIdentifier is how many bytes of an identifier PostgreSQL keeps. It cuts
// off the rest, so that two longer names could mean one schema.
const maxIdentifier = 63

// A schema is the part of a database that holds one register.
type schema struct {
	name   string // as the catalogue knows it
	quoted string // as a statement names it
	// lock is the key of the advisory lock that writers of this register
	// take. Should two schemas of a database share a key by chance, they
	// wait for one another, and nothing else happens.
	lock int64
}

// newSchema checks a schema's name; empty means defaultSchema.
func newSchema(name string) (schema, error) {
	if name == "" {
		name = defaultSchema
	}
	quoted, err := quote(name)
	if err != nil {
		return schema{}, fmt.Errorf("postgres: Options.Schema %q %w", name, err)
	}
	key := fnv.New64a()
	key.Write([]byte("licensekit " + name))
	return schema{name: name, quoted: quoted, lock: int64(key.Sum64())}, nil
}

// quote returns name as a quoted identifier, or what is wrong with it.
func quote(name string) (string, error) {
	switch {
	case len(name) > maxIdentifier:
		return "", fmt.Errorf("has %d bytes, and PostgreSQL keeps %d", len(name), maxIdentifier)
	case strings.HasPrefix(name, "pg_"):
		return "", errors.New(`begins with "pg_", which PostgreSQL reserves for itself`)
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return "", errors.New("is not UTF-8 without a NUL byte")
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`, nil
}

// in returns stmt with each of its tables named in this schema, so that no
// search_path has a say. Statements write their tables as licensing_….
func (s schema) in(stmt string) string {
	return strings.ReplaceAll(stmt, "licensing_", s.quoted+".licensing_")
}
