package postgres

import (
	"context"
	"time"
)

// A locked is a transaction that holds the lock, of an Update that was promoted.
type locked struct {
	*transaction
	id    int64 // of its batch, which is 0 before the first call
	begun time.Time
	wrote bool
}

// promote makes the attempt continue under the lock, if what it has read still holds,
// and writes what it has kept. One Update of a process at a time is promoted.
func (a *attempt) promote(ctx context.Context) error {
	if a.tx == nil {
		if err := a.lock(ctx); err != nil {
			return a.fail(ctx, err)
		}
	} else if !a.dirty() {
		return nil
	}
	return a.flush(ctx)
}

// lock begins the transaction of a promoted Update.
func (a *attempt) lock(ctx context.Context) error {
	late := time.NewTimer(lockWait)
	defer late.Stop()
	select {
	case a.s.promoted <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return errBusy
	}
	conn, err := a.s.begin(ctx, a.s.schema.beginUpdate(lockWait))
	if err != nil {
		<-a.s.promoted
		return err
	}
	a.tx = &locked{transaction: &transaction{schema: a.s.schema, conn: conn, update: true}, begun: time.Now()}
	return nil
}

// flush writes under the lock. What was read and written stays so under it.
func (a *attempt) flush(ctx context.Context) error {
	id := int64(0)
	if a.tx.id == 0 {
		id = random()
		a.tx.id = id
	}
	err := a.encode()
	var r answer
	if err == nil {
		err = a.tx.query(ctx, callCommit, []any{payload(id, []*attempt{a})}, r.scan)
	}
	if err != nil {
		a.err = err
		return err
	}
	if met := r.met(a); met != nil {
		return a.stale(met...)
	}
	a.tx.wrote = a.tx.wrote || a.dirty()
	a.forget()
	return nil
}

// close ends the transaction of an attempt of which nothing counts.
func (a *attempt) close() {
	if a.tx == nil {
		return
	}
	a.tx.over.Store(true)
	if a.tx.err != nil {
		discard(a.tx.conn)
	} else {
		end(context.Background(), a.tx.conn, "ROLLBACK")
	}
	<-a.s.promoted
}

// commit commits a promoted Update.
func (t *locked) commit(s *Store) error {
	t.over.Store(true)
	err := end(context.Background(), t.conn, "COMMIT")
	<-s.promoted
	if uncertain(err) {
		_, err = s.resolve(t.id, t.begun, err)
	}
	return err
}
