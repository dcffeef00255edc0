package mutants

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A fileStore is an in-memory store that writes every committed entry and event
// to a file before Update returns, and reads that file when it is opened. It
// writes large documents to separate files, in the call that passes them. It
// keeps other records in memory only.
type fileStore struct {
	*memory.Store
	dir  string
	file *os.File
	faults
	late []journaled
}

// faults are the faults of a fileStore mutant.
type faults struct {
	late    bool // writes when it is closed
	ignores bool // commits although a call failed
	keeps   bool // commits before it writes large documents
	forgets bool // loses the oldest Updates of a long journal when it is opened
	shifts  bool // adds one to each Seq when it is opened
	closes  bool // knows the Seqs of removed events only if it was closed
}

// A journaled row is an entry or an event, or says up to which Seq events were removed.
type journaled struct {
	Entry   *store.Entry
	Event   *store.Event
	Removed int64
	Closed  bool
}

const large = 1000

func openFile(dir string, f faults) (*fileStore, error) {
	file, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &fileStore{Store: memory.New(), dir: dir, file: file, faults: f}
	var updates [][]journaled
	for {
		whole, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		var rows []journaled
		if err := gob.NewDecoder(byteReader{file}).Decode(&rows); err != nil { // the end, or an incomplete write
			return j, errors.Join(file.Truncate(whole), j.replay(updates))
		}
		updates = append(updates, rows)
	}
}

// replay makes the Updates of the journal again.
func (j *fileStore) replay(updates [][]journaled) error {
	if j.forgets && len(updates) > 500 {
		updates = updates[50:]
	}
	rows := slices.Concat(updates...)
	if j.closes && (len(rows) == 0 || !rows[len(rows)-1].Closed) {
		removed := int64(0)
		var left []journaled
		for _, row := range slices.Backward(rows) {
			if removed = max(removed, row.Removed); row.Event == nil || row.Event.Seq > removed {
				left = append(left, row)
			}
		}
		slices.Reverse(left)
		rows = left
	}
	return j.Store.Update(context.Background(), func(tx store.Tx) error {
		for _, row := range rows {
			if row.Entry != nil {
				_ = tx.PutEntries(context.Background(), *row.Entry)
				continue
			}
			if row.Event == nil {
				_, _ = tx.DeleteEvents(context.Background(), row.Removed, 1<<30)
				continue
			}
			if j.shifts {
				row.Event.Seq++
			}
			_ = tx.AppendEvents(context.Background(), *row.Event)
		}
		return nil
	})
}

// byteReader keeps gob from reading ahead.
type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var one [1]byte
	_, err := io.ReadFull(r.Reader, one[:])
	return one[0], err
}

func (j *fileStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return j.Store.Update(ctx, func(tx store.Tx) error {
		w := &fileWriter{Writer: tx, fileStore: j}
		if err := fn(joined{tx, w}); err != nil {
			return err
		}
		if w.failed != nil && !j.ignores {
			return w.failed
		}
		if j.faults.late {
			j.late = append(j.late, w.rows...)
			return nil
		}
		if err := j.write(w.rows); err != nil {
			return err
		}
		for _, e := range w.afterwards {
			if err := j.writeLarge(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// write appends rows to the file, or leaves it unchanged.
func (j *fileStore) write(rows []journaled) error {
	size, err := j.file.Seek(0, io.SeekEnd)
	if err != nil || len(rows) == 0 {
		return err
	}
	if err := gob.NewEncoder(j.file).Encode(rows); err != nil {
		return fmt.Errorf("journal: %w", errors.Join(store.ErrUnavailable, err, j.file.Truncate(size)))
	}
	return nil
}

func (j *fileStore) writeLarge(e store.Entry) error {
	f, err := os.OpenFile(filepath.Join(j.dir, "large"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.Write(e.Data)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("journal: %w: %w", store.ErrUnavailable, err)
	}
	return nil
}

func (j *fileStore) Close() error {
	if j.closes {
		j.late = append(j.late, journaled{Closed: true})
	}
	return errors.Join(j.write(j.late), j.file.Close())
}

type fileWriter struct {
	store.Writer
	*fileStore
	rows       []journaled
	afterwards []store.Entry
	failed     error
}

func (w *fileWriter) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		if err := w.putEntry(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (w *fileWriter) putEntry(ctx context.Context, e store.Entry) error {
	e = copied(e)
	if err := w.Writer.PutEntries(ctx, e); err != nil {
		return err
	}
	if len(e.Data) > large {
		if w.keeps {
			w.afterwards = append(w.afterwards, e)
		} else if err := w.writeLarge(e); err != nil {
			w.failed = err
			return err
		}
		e.Data = nil
	}
	w.rows = append(w.rows, journaled{Entry: &e})
	return nil
}

func (w *fileWriter) AppendEvents(ctx context.Context, events ...store.Event) error {
	if err := w.Writer.AppendEvents(ctx, events...); err != nil || len(events) == 0 {
		return err
	}
	events, err := w.Writer.(store.Tx).Events(ctx, store.EventQuery{Descending: true, Limit: len(events)})
	slices.Reverse(events)
	for _, e := range events {
		w.rows = append(w.rows, journaled{Event: &e})
	}
	return err
}

func (w *fileWriter) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	newest, err := w.Writer.(store.Tx).Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	if err != nil {
		return 0, err
	}
	n, err := w.Writer.DeleteEvents(ctx, through, limit)
	if err != nil || n == 0 {
		return n, err
	}
	removed := newest[0].Seq
	rest, err := w.Writer.(store.Tx).Events(ctx, store.EventQuery{Limit: 1})
	if len(rest) > 0 {
		removed = rest[0].Seq - 1
	}
	w.rows = append(w.rows, journaled{Removed: removed})
	return n, err
}

// crashMutants break the rules about crashes and full disks.
var crashMutants = []struct {
	rule int
	does string
	faults
}{
	{1, "writes when it is closed", faults{late: true}},
	{1, "loses the oldest Updates of a long journal", faults{forgets: true}},
	{20, "adds one to each Seq when it is opened", faults{shifts: true}},
	{20, "writes the last Seq when it is closed", faults{closes: true}},
	{28, "commits although a call failed", faults{ignores: true}},
	{29, "keeps what a failed commit wrote", faults{keeps: true}},
}

// onFile opens directories as fileStores.
func onFile(f faults) func(*testing.T, string) store.Store {
	return func(t *testing.T, dir string) store.Store {
		j, err := openFile(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
}
