package sqlite

import (
	"context"
	"errors"
)

// A pool has connections for reading. It opens another when all are in use, up to
// its size.
type pool struct {
	dsn   string
	guard *guard
	idle  chan *conn
	room  chan struct{} // has one value for each connection
}

func newPool(dsn string, size int, g *guard) *pool {
	return &pool{dsn: dsn, guard: g, idle: make(chan *conn, size), room: make(chan struct{}, size)}
}

// take waits for a connection, at most until ctx ends.
func (p *pool) take(ctx context.Context) (*conn, error) {
	if err := p.guard.recent(); err != nil {
		return nil, err
	}
	select {
	case c := <-p.idle:
		return c, nil
	default:
	}
	select {
	case c := <-p.idle:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case p.room <- struct{}{}:
		c, err := connect(p.dsn)
		if err == nil {
			if err = p.guard.check(); err != nil { // c may have opened another file
				c.close()
			}
		}
		if err != nil {
			<-p.room
			return nil, sentinel(err)
		}
		return c, nil
	}
}

func (p *pool) put(c *conn) { p.idle <- c }

// close closes all connections. None may be in use.
func (p *pool) close() error {
	var errs []error
	for range len(p.idle) {
		errs = append(errs, (<-p.idle).close())
	}
	return errors.Join(errs...)
}
