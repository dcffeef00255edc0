package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Export writes everything that moves to another store, of any backend, to w: JSON,
// one record a line. To get one state, call it in a View:
//
//	err := st.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, w) })
//
// It holds all licenses, activations and events, and the entries whose Move is
// [Kept], with every field; an event keeps its Seq. The archives of two stores
// that hold the same are therefore the same, byte for byte. The archive holds
// keys and digests of secrets; keep it like the store itself.
//
// What stays behind is short-lived, such as access tokens and sessions, or is
// derived from the rest.
func Export(ctx context.Context, r Reader, w io.Writer) error {
	e := exporter{ctx: ctx, r: r, out: json.NewEncoder(w)}
	e.put(archiveLine{Archive: &archiveHead{archiveFormat}})
	e.records = 0
	e.licenses()
	e.events()
	e.entries()
	e.put(archiveLine{End: &archiveEnd{e.records}})
	if e.err != nil {
		return fmt.Errorf("export store: %w", e.err)
	}
	return nil
}

// An exporter writes an archive until its first error.
type exporter struct {
	ctx     context.Context
	r       Reader
	out     *json.Encoder
	records int
	err     error
}

func (e *exporter) put(line archiveLine) {
	if e.err == nil {
		e.err = e.out.Encode(line)
		e.records++
	}
}

// some returns nil for an empty slice, since a backend may return either for
// the other.
func some[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}

// pages reads a list to its end. The function reads one full page behind the
// last row it was given, nil at first.
func pages[R any](e *exporter, read func(last *R) ([]R, error), each func(R)) {
	var last *R
	for e.err == nil {
		rows, err := read(last)
		if err != nil {
			e.err = err
			return
		}
		for _, row := range rows {
			each(row)
		}
		if len(rows) < MaxLimit {
			return
		}
		last = &rows[len(rows)-1]
	}
}

func (e *exporter) licenses() {
	pages(e, func(last *License) ([]License, error) {
		q := LicenseQuery{}
		if last != nil {
			q.After.ID = last.ID
		}
		return e.r.Licenses(e.ctx, q)
	}, func(l License) {
		l.Document = some(l.Document)
		e.put(archiveLine{License: &l})
		pages(e, func(last *Activation) ([]Activation, error) {
			q := ActivationQuery{LicenseID: l.ID}
			if last != nil {
				q.After = last.ID
			}
			return e.r.Activations(e.ctx, q)
		}, func(a Activation) {
			a.Document = some(a.Document)
			e.put(archiveLine{Activation: &a})
		})
	})
}

func (e *exporter) events() {
	pages(e, func(last *Event) ([]Event, error) {
		q := EventQuery{}
		if last != nil {
			q.After = last.Seq
		}
		return e.r.Events(e.ctx, q)
	}, func(ev Event) {
		ev.Data = some(ev.Data)
		e.put(archiveLine{Event: &ev})
	})
}

func (e *exporter) entries() {
	pages(e, func(last *Entry) ([]Entry, error) {
		q := EntryQuery{}
		if last != nil {
			q.AfterKind, q.After.ID = last.Kind, last.Key
		}
		return e.r.Entries(e.ctx, q)
	}, func(entry Entry) {
		if entry.Move != Kept {
			return
		}
		entry.Data = some(entry.Data)
		e.put(archiveLine{Entry: &entry})
	})
}
