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

// A Store is a [store.Store] in one SQLite file. It is safe for concurrent use
// by many goroutines. [Open] makes one.
type Store struct {
	reader
	path    string
	readers *pool // for reads of one row
	lists   *pool // for lists outside a View
	views   *pool // for Views, which are as long as their functions
	writer  *writer

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // those that have entered; grows under mu, until closed
}

var _ store.Store = (*Store)(nil)

// Options are what [OpenWith] can be told. The zero value is what [Open] uses.
type Options struct {
	// BusyTimeout is how long an update waits for another process that is
	// writing to the file, before it returns [store.ErrUnavailable]. Zero: 5
	// seconds. Updates of this Store wait for one another as long as their
	// context lasts.
	BusyTimeout time.Duration

	// MmapSize is how many bytes of the file the engine maps into memory,
	// which makes reads faster by a tenth (one record) to a quarter (lists).
	// Zero: none, because a fault of the disk, which is otherwise an error,
	// then ends the process.
	MmapSize int64

	// Logger gets an error when the file is deleted, moved or replaced while
	// the Store is open, and a warning when the program is built with another
	// version of the engine's run-time library than the engine was made for.
	// Nil: [slog.Default].
	Logger *slog.Logger
}

// maxViews bounds the Views that run at a time. The others wait.
const maxViews = 16

// Open opens the register in the file at path, and makes the file if it is not
// there. The path is a plain one, relative or absolute, in a folder that
// exists; every character stands for itself.
//
// It returns an error, and leaves the file as it is, if the file is not one of
// this package, or was written by a newer version of it.
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
	if err != nil {
		return nil, wrap(errors.Join(sentinel(err), c.close()), "open %s", path)
	}
	s := &Store{
		path:    path,
		readers: newPool(readerDSN(path, opts), max(2, runtime.GOMAXPROCS(0)), g),
		lists:   newPool(readerDSN(path, opts), max(2, runtime.GOMAXPROCS(0)), g),
		views:   newPool(readerDSN(path, opts), maxViews, g),
		writer:  newWriter(c, opts.BusyTimeout, g),
	}
	s.reader = reader{s}
	return s, nil
}

// Close waits for the calls in progress, updates that wait for their turn
// included, and closes the file; the log beside it is written back and removed,
// unless another process has the file open. From the moment Close is called,
// every new call returns [store.ErrUnavailable]. Closing again returns nil at
// once. Close must not be called from a function passed to View or Update.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.calls.Wait()
	return wrap(errors.Join(s.readers.close(), s.lists.close(), s.views.close(), s.writer.close()), "close %s", s.path)
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

// Update calls fn in its turn, and returns when what it wrote is on disk. If
// others that shared its transaction brought that down, fn runs a second time,
// by itself.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return wrap(err, "update")
	}
	defer s.leave()
	err := s.writer.update(ctx, fn, false)
	if err == errAgain {
		err = s.writer.update(context.WithoutCancel(ctx), fn, true) // it has had its turn
	}
	return err
}
