package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The functions of the schema. Their parameters are one text, alike for each driver.
const (
	callCommit  = `SELECT licensing_commit_1($1::text::jsonb)::text`
	callCheck   = `SELECT licensing_check_1($1::text::jsonb)::text`
	callResolve = `SELECT licensing_resolve_1($1::text::bigint)::text`
)

// An answer is that of a function of the schema.
type answer struct {
	changed [][4]string // of what the Updates of a batch have read: the name of the Update, and a place
	refused bool        // the batch was not committed, and never will be
}

// met returns what has changed of what an attempt has read.
func (r answer) met(a *attempt) (met []place) {
	for _, c := range r.changed {
		if c[0] == strconv.FormatInt(a.version, 10) {
			met = append(met, place{c[1][0], c[2], c[3]})
		}
	}
	return met
}

// scanAnswer reads the row of a call.
func scanAnswer(rows *sql.Rows) (r answer, err error) {
	var text sql.NullString
	if err = rows.Scan(&text); err == nil && text.Valid {
		err = json.Unmarshal([]byte(text.String), &r.changed)
	}
	r.refused = !text.Valid
	return r, err
}

// call calls a function for an attempt alone, and returns what has changed.
func (a *attempt) call(ctx context.Context, stmt string, id int64) (met []place, err error) {
	if err = a.encode(); err != nil {
		return nil, err
	}
	answers, err := all(ctx, inside{a}, scanAnswer, stmt, payload(id, []*attempt{a}))
	if err != nil {
		return nil, err
	}
	return answers[0].met(a), nil
}

// write sends the Updates of a batch and sets their results. It calls sent when the
// server no longer works on the batch, or does not answer. If the server reports an
// error that is not ErrUnavailable, write sends each half by itself, until the Update
// that cannot be written is alone. Holding no lock between them is no fault, because
// none of them reads what another writes.
func (s *Store) write(members []*attempt, sent func()) {
	id, begun := random(), time.Now()
	r, err := s.commit(payload(id, members))
	if err != nil && len(members) > 1 && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, errGaveWay) {
		s.write(members[:len(members)/2], func() {})
		s.write(members[len(members)/2:], func() {})
		sent()
		return
	}
	sent()
	if uncertain(err) {
		r, err = s.resolve(id, begun, err)
	}
	for _, a := range members {
		a.result, a.met = err, r.met(a)
	}
}

// commit calls licensing_commit_1. An error for which uncertain is true may have come
// after the commit.
func (s *Store) commit(batch string) (r answer, err error) {
	ctx := context.Background()
	var conn *sql.Conn
	err = retry(ctx, func() (err error) {
		conn, err = s.conn(ctx)
		return err
	})
	if errors.Is(err, errLost) {
		err = fmt.Errorf("%w: %v", store.ErrUnavailable, err) // nothing was sent
	}
	if err != nil {
		return r, err
	}
	return s.call(ctx, conn, callCommit, batch)
}

// call calls a function that writes on a connection, which it closes. It is one round
// trip, unless the transactions of the database have another isolation level by
// default. It does not use the DB, because database/sql sends a statement again if the
// connection is lost, whether or not it has run.
func (s *Store) call(ctx context.Context, conn *sql.Conn, stmt, arg string) (answer, error) {
	var answers []answer
	begin := s.explicit.Load()
	err := ask(ctx, func(ctx context.Context) error {
		if begin {
			if _, err := conn.ExecContext(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
				return err
			}
		}
		err := fetch(ctx, conn, s.schema.in(stmt), []any{arg}, collect(&answers, scanAnswer))
		if err == nil {
			err = ctx.Err() // see end
		}
		return err
	})
	switch {
	case err == nil && begin:
		err = end(ctx, conn, "COMMIT")
	case err == nil:
		conn.Close()
	case sqlState(err) == "25001" && !begin: // see licensing_lock_1
		if !s.explicit.Swap(true) {
			slog.Warn("postgres: updates take three round trips instead of one, because the default isolation level of the database is not "+
				"read committed; set default_transaction_isolation of the role or of the connections", "schema", s.schema.name)
		}
		return s.call(ctx, conn, stmt, arg)
	default:
		discard(conn)
	}
	if err != nil {
		return answer{}, err
	}
	return answers[0], nil
}

// uncertain reports whether a batch may have been committed although its call failed:
// the server did not report the failure, or reported one that can follow a commit.
func uncertain(err error) bool {
	switch state := sqlState(err); {
	case errors.Is(err, errSilent):
		return true
	case !errors.Is(err, errLost):
		return false
	default:
		return state == "" || state[:2] == "57" || state[:2] == "08"
	}
}

// Limits of resolve: how long it asks, and how long after the call an answer counts.
const (
	resolveWait = 10 * time.Second
	resolveLate = time.Hour
)

// resolve returns the answer of a batch whose call, sent at begun, failed with lost. If
// the batch was not committed, resolve refuses it, so that it never will be, and
// returns an error after which its Updates can run again.
func (s *Store) resolve(id int64, begun time.Time, lost error) (r answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveWait)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		if time.Now().Round(0).Sub(begun.Round(0)).Abs() > resolveLate { // by the clock on the wall: the process may have been stopped
			break
		}
		var conn *sql.Conn
		if conn, err = s.conn(ctx); err == nil {
			r, err = s.call(ctx, conn, callResolve, strconv.FormatInt(id, 10))
		}
		switch {
		case err == nil && r.refused:
			return r, fmt.Errorf("%w: %v", errLost, lost)
		case err == nil:
			return r, nil
		}
		select {
		case <-time.After(pause):
			continue
		case <-ctx.Done():
		}
		break
	}
	return r, fmt.Errorf("%w: %v", errUnknown, errors.Join(lost, err)) // formatted with %v, so that it is not retried
}
