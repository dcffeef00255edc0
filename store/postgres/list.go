package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A listed is a list that an Update has read.
type listed struct {
	*selection
	found string // the keys and versions of its rows, in order
}

// list reads a list, and records it unless it holds anyway.
func (a *attempt) list(ctx context.Context, s *selection) ([]row, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.usable(ctx); err != nil {
		return nil, err
	}
	touched := a.touched(s.touches)
	if v, ok := a.known(s.part, true); s.part.kind == seatsAt && ok && v == nil && a.conn == nil && !touched {
		return nil, nil
	}
	if touched {
		if err := a.promote(ctx); err != nil {
			return nil, err
		}
	}
	s.columns = fmt.Sprintf(s.table.columns, s.table.version)
	a.statements++
	rows, err := all(ctx, inside{a}, rowScanner(), s.text(), s.args...)
	switch {
	case err != nil:
		return nil, a.fail(ctx, err)
	case a.conn != nil || !storable(s.args...): // it holds under the lock; by a text that cannot be stored there is none
	case s.whole && len(rows) == 0: // one fact, which is cheaper to check than a list
		a.facts[s.part] = row{}
	default:
		a.record(s, rows)
	}
	return rows, nil
}

// record records a list.
func (a *attempt) record(s *selection, rows []row) {
	marks := make([]string, len(rows))
	for i, r := range rows {
		p := placeOf(r.value)
		key := p.a + "/" + p.b
		marks[i] = fmt.Sprintf("%d:%s:%d", len(key), key, r.version)
		if p.kind != feedAt {
			a.see(row{clone(r.value), r.version})
		}
	}
	s.columns = "octet_length(" + s.table.key + ") || ':' || " + s.table.key + " || ':' || " + s.table.version
	a.lists = append(a.lists, listed{s, strings.Join(marks, ",")})
}

// touched reports whether the attempt has written what touches matches.
func (a *attempt) touched(touches func(place, any) bool) bool {
	for p, w := range a.own {
		if touches(p, w.value) || touches(p, w.old) {
			return true
		}
	}
	return false
}

// query reads under the lock, and records nothing.
func (a *attempt) query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.usable(ctx)
	if err == nil {
		err = a.promote(ctx)
	}
	if err == nil {
		err = a.fail(ctx, inside{a}.query(ctx, stmt, args, each))
	}
	return err
}
