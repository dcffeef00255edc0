package sqlite

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// rarest returns the term that the fewest licenses have, as far as a glance
// tells: a walk along a term that all of them have would take them all.
func (r reader) rarest(ctx context.Context, terms []string) (rarest string, err error) {
	if len(terms) == 1 {
		return terms[0], nil
	}
	fewest := int64(math.MaxInt64)
	for _, term := range terms {
		n, err := one(ctx, r, (*row).integer, `SELECT count(*) FROM (SELECT 1 FROM license_term WHERE term = ? LIMIT 200)`, term)
		if err != nil {
			return "", err
		}
		if n < fewest {
			rarest, fewest = term, n
		}
	}
	return rarest, nil
}

// addTerms adds rows, many with one statement.
func (t *tx) addTerms(ctx context.Context, id string, terms []string) error {
	for chunk := range slices.Chunk(terms, 100) {
		args := make([]any, 0, 2*len(chunk))
		for _, term := range chunk {
			args = append(args, term, id)
		}
		values := strings.Repeat(`, (?, ?)`, len(chunk))[2:]
		if _, err := t.exec(ctx, `INSERT INTO license_term (term, license_id) VALUES `+values+` ON CONFLICT DO NOTHING`, args...); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) removeTerms(ctx context.Context, id string, terms []string) error {
	for _, term := range terms {
		if _, err := t.exec(ctx, `DELETE FROM license_term WHERE term = ? AND license_id = ?`, term, id); err != nil {
			return err
		}
	}
	return nil
}

// without returns what is in a and not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(term string) bool { return slices.Contains(b, term) })
}

// joinTerms puts terms into one column, each behind its length, so that a term
// may hold any bytes.
func joinTerms(terms []string) []byte {
	var joined []byte
	for _, term := range terms {
		joined = binary.AppendUvarint(joined, uint64(len(term)))
		joined = append(joined, term...)
	}
	return joined
}

// splitTerms takes apart what joinTerms has joined.
func splitTerms(joined []byte) (terms []string) {
	for len(joined) > 0 {
		size, n := binary.Uvarint(joined)
		if n <= 0 || size > uint64(len(joined)-n) {
			return terms // not what joinTerms wrote
		}
		terms = append(terms, string(joined[n:n+int(size)]))
		joined = joined[n+int(size):]
	}
	return terms
}
