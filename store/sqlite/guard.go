package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A guard detects that the file of an open store, or the log beside it, was
// deleted, moved or replaced. SQLite would continue to write to the open file,
// which the next Open would not find. The guard also detects that the file was
// emptied or overwritten in place.
type guard struct {
	files    []guarded // the second, if any, is the log
	log      *slog.Logger
	interval time.Duration // between two checks by reads

	start time.Time
	next  atomic.Int64 // when a read checks again, in nanoseconds after start

	logSize atomic.Int64 // in bytes, as of the last check

	mu          sync.Mutex // held during a check
	lost        atomic.Pointer[error]
	content     content // of the file, as of the last check
	overwritten bool    // the content is not what SQLite wrote: final
}

// guarded is a file and what identified it when it was opened.
type guarded struct {
	path string
	info os.FileInfo
}

// newGuard guards the file at path and its log, both of which c has open.
func newGuard(path string, c *conn, log *slog.Logger) (*guard, error) {
	g := &guard{log: log, interval: time.Second, start: time.Now()}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	g.files = append(g.files, guarded{path, info})
	// If path is a link, the log is beside the file it links to.
	var file string
	err = c.query(context.Background(), "SELECT file FROM pragma_database_list WHERE name = 'main'", nil, func(r *row) { file = r.text() })
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file + "-wal"); err == nil {
		g.files = append(g.files, guarded{file + "-wal", info})
	}
	if err := complete(c, path); err != nil {
		return nil, err
	}
	return g, g.content.follow(path, info)
}

// check returns an error that wraps [store.ErrUnavailable] if a file is no longer
// at its path. It logs when that changes.
func (g *guard) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lost error
	if g.overwritten {
		return g.result()
	}
	for i, f := range g.files {
		now, err := os.Stat(f.path)
		if err == nil && !os.SameFile(now, f.info) {
			err = errors.New("another file has taken its place")
		}
		if err != nil {
			lost = fmt.Errorf("%w: %s is not the file that was opened: %w", store.ErrUnavailable, f.path, err)
			break
		}
		if i == 1 {
			g.logSize.Store(now.Size())
		} else if err := g.content.follow(f.path, now); err != nil {
			lost, g.overwritten = fmt.Errorf("%w: %s: %w", store.ErrUnavailable, f.path, err), true
			break
		}
	}
	g.next.Store(int64(time.Since(g.start) + g.interval))
	switch was := g.result(); {
	case g.overwritten:
		g.log.Error("sqlite: the database file was overwritten while it was open; every call fails. "+
			"Stop all processes that use it, move the file away together with its -wal and -shm, and restore a backup", "error", lost)
	case lost != nil && was == nil:
		g.log.Error("sqlite: the database file was deleted, moved or replaced; every call fails until it is back, "+
			"or until the store is closed and opened again", "error", lost)
	case lost == nil && was != nil:
		g.log.Info("sqlite: the database file is back", "file", g.files[0].path)
	}
	g.lost.Store(&lost)
	return lost
}

// destroyed returns why the file is no longer the database that was opened, if
// its content was overwritten.
func (g *guard) destroyed() error {
	err := g.check()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.overwritten {
		return nil
	}
	return err
}

// recent returns the result of a check that is at most interval old.
func (g *guard) recent() error {
	now, next := int64(time.Since(g.start)), g.next.Load()
	if now >= next && g.next.CompareAndSwap(next, now+int64(g.interval)) {
		return g.check()
	}
	return g.result()
}

// result returns what the last check returned.
func (g *guard) result() error {
	if lost := g.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}
