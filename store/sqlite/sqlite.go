package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Store is a [store.Store] in one SQLite file, opened by [Open]. It is safe for
// concurrent use.
type Store struct {
	reader
	path     string
	readers  *pool // for reads of one row
	lists    *pool // for lists outside a View
	searches *pool // for searches and counts outside a View
	views    *pool // for Views, which are as long as their functions
	writer   *writer

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // in progress; grows under mu, until closed
}

var _ store.Store = (*Store)(nil)

// Options configure [OpenWith]. [Open] uses the zero value.
type Options struct {
	// BusyTimeout is how long an update waits for another process that is
	// writing to the file before it returns [store.ErrUnavailable]. Updates of
	// the same Store wait for each other until their context ends, and that
	// time does not count. Default: 5 seconds.
	BusyTimeout time.Duration

	// MmapSize is how many bytes of the file the engine maps into memory.
	// Reads become faster by a tenth (one record) to a quarter (lists), but
	// a disk error, which is otherwise returned, ends the process. Default:
	// none.
	MmapSize int64

	// Check makes Open read the whole file first, as [Store.Check] does, and
	// return an error that wraps [ErrDamaged] if it is damaged. A damaged
	// file is not migrated. Default: no check.
	Check bool

	// Logger gets an error when the file is deleted, moved, replaced or
	// overwritten while the Store is open, and a warning if the program is
	// built with a version of the engine's runtime library that does not match
	// the engine. Default: [slog.Default].
	Logger *slog.Logger
}

// maxViews is how many Views run concurrently. Others wait.
const maxViews = 16

// Open opens the store in the file at path and creates the file if it does not
// exist. The path is relative or absolute and not a URI. Its folder must exist.
//
// Open returns an error, and does not change the file, if another program has written
// it, or a newer version of this package whose schema this one cannot use. If there is
// no file, or a backup, beside the -wal or -shm of another database, the error wraps
// [os.ErrExist].
func Open(path string) (*Store, error) { return OpenWith(path, Options{}) }

// OpenWith is [Open] with options.
func OpenWith(path string, opts Options) (*Store, error) {
	switch {
	case opts.BusyTimeout < 0:
		return nil, errors.New("sqlite: Options.BusyTimeout must not be negative; leave it zero for 5 seconds")
	case opts.MmapSize < 0:
		return nil, errors.New("sqlite: Options.MmapSize must not be negative; leave it zero for none")
	}
	opts.BusyTimeout = cmp.Or(opts.BusyTimeout, 5*time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	warnOfLibc(opts.Logger)

	path, err := cleanPath(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	if err := claim(path); err != nil {
		return nil, wrap(err, "open %s", path)
	}
	c, err := connectWriter(path, opts)
	if err != nil {
		return nil, wrap(sentinel(err), "open %s", path)
	}
	g, err := newGuard(path, c, opts.Logger)
	if err == nil {
		// What is deleted is overwritten with zeros, so that an erased customer is not
		// left in free pages. A migration, which may free half of the file, leaves them.
		err = c.script("PRAGMA secure_delete = on; PRAGMA busy_timeout = 0")
	}
	if err != nil {
		return nil, wrap(errors.Join(sentinel(err), c.close()), "open %s", path)
	}
	s := &Store{
		path:     path,
		readers:  newPool(readerDSN(path, opts), max(2, runtime.GOMAXPROCS(0)), g),
		lists:    newPool(readerDSN(path, opts), max(2, runtime.GOMAXPROCS(0)), g),
		searches: newPool(readerDSN(path, opts), 1, g),
		views:    newPool(readerDSN(path, opts), maxViews, g),
	}
	s.writer = newWriter(c, opts.BusyTimeout, g, s.views)
	s.reader = reader{s}
	return s, nil
}

// Close waits for the calls in progress, including queued updates, and closes the
// file. It writes the log back and removes it, unless another process has the file
// open. If the file was overwritten, Close leaves the log and returns an error.
// Calls that begin after Close return [store.ErrUnavailable]. A second Close returns
// nil immediately. Do not call Close in a function passed to View or Update.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.calls.Wait()
	s.writer.all.Wait()
	if err := s.writer.guard.destroyed(); err != nil {
		// To close the last connection would write the log into the file and
		// delete it. It may have what is needed to repair the store.
		return wrap(err, "close %s", s.path)
	}
	return wrap(errors.Join(s.readers.close(), s.lists.close(), s.searches.close(), s.writer.close(), s.views.close()), "close %s", s.path)
}

// enter begins a call, unless its context has ended or the Store is closed.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: the store is closed", store.ErrUnavailable)
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) leave() { s.calls.Done() }

// Update calls fn with the write lock and returns when its changes are on disk. If
// fn takes long while others wait for it, or the shared transaction was rolled back
// because of another update, fn runs a second time, by itself.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return wrap(err, "update")
	}
	defer s.leave()
	return s.writer.update(ctx, fn)
}
