package sqlite

import (
	"context"
	"errors"
	"fmt"
)

// A pool holds connections for reading. A place in it is nil until somebody
// needs one more connection than there are.
type pool struct {
	dsn    string
	places chan *conn
}

func newPool(dsn string, size int) *pool {
	p := &pool{dsn: dsn, places: make(chan *conn, size)}
	for range size {
		p.places <- nil
	}
	return p
}

// take waits for a connection, at most until ctx ends.
func (p *pool) take(ctx context.Context) (*conn, error) {
	var c *conn
	select {
	case c = <-p.places:
	default:
		select {
		case c = <-p.places:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for a connection: %w", ctx.Err())
		}
	}
	if c != nil {
		return c, nil
	}
	c, err := connect(p.dsn)
	if err != nil {
		p.places <- nil
		return nil, sentinel(err)
	}
	return c, nil
}

func (p *pool) put(c *conn) { p.places <- c }

// close closes all connections. None may be out.
func (p *pool) close() error {
	var errs []error
	for range cap(p.places) {
		if c := <-p.places; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}
