package postgres

import (
	"context"
	"fmt"
	"time"
)

// promote makes the attempt continue under the lock, if what it has read still holds,
// and writes what it has kept. One Update of a process at a time is promoted.
func (a *attempt) promote(ctx context.Context) error {
	if a.conn == nil {
		if err := a.lock(ctx); err != nil {
			return a.fail(ctx, err)
		}
	} else if len(a.order) == 0 {
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
	conn, err := a.s.begin(ctx, fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED;
		SET LOCAL lock_timeout = %d;
		SET LOCAL idle_in_transaction_session_timeout = %d;
		%s`, lockWait.Milliseconds(), idleWait.Milliseconds(), a.s.schema.in(lock)))
	if err != nil {
		<-a.s.promoted
		return err
	}
	a.conn, a.begun = conn, time.Now()
	return nil
}

// flush writes under the lock. What was read and written stays so under it.
func (a *attempt) flush(ctx context.Context) error {
	id := int64(0)
	if a.id == 0 {
		id = random()
		a.id = id
	}
	met, err := a.call(ctx, callCommit, id)
	if err != nil {
		a.err = err
		return err
	}
	if met != nil {
		return a.stale(met...)
	}
	a.wrote = a.wrote || len(a.order) > 0
	a.forget()
	return nil
}

// close ends the transaction of an attempt of which nothing counts.
func (a *attempt) close() {
	if a.conn != nil {
		end(context.Background(), a.conn, "ROLLBACK")
		<-a.s.promoted
	}
}

// commit commits a promoted Update.
func (a *attempt) commit() error {
	err := end(context.Background(), a.conn, "COMMIT")
	<-a.s.promoted
	if uncertain(err) {
		_, err = a.s.resolve(a.id, a.begun, err)
	}
	return err
}
