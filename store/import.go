package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// importBatch and importBytes are how many records, and of how many bytes of the
// archive, Import writes in one Update.
const (
	importBatch = 500
	importBytes = 8 << 20
)

// Import reads an archive that [Export] wrote into st, which must be new: if it
// holds licenses, events or entries that an archive keeps, or has held events
// before, the error is [ErrExists]. It writes in many Updates: when it fails,
// begin again with an empty store. An archive that is cut short, or of another
// format, is an error.
func Import(ctx context.Context, st Store, r io.Reader) error {
	if err := importArchive(ctx, st, r); err != nil {
		return fmt.Errorf("import store: %w", err)
	}
	return nil
}

func importArchive(ctx context.Context, st Store, r io.Reader) error {
	if err := checkEmpty(ctx, st); err != nil {
		return err
	}
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	var head archiveLine
	if err := in.Decode(&head); err != nil || head.Archive == nil {
		return errors.Join(errors.New("this is no archive"), err)
	}
	if f := head.Archive.Format; f != archiveFormat {
		return fmt.Errorf("the archive has format %d, and this version reads format %d; import it with the version that wrote it", f, archiveFormat)
	}
	var batch []archiveLine
	records := 0
	written := int64(0) // the bytes before the batch
	for {
		var line archiveLine
		if err := in.Decode(&line); err == io.EOF {
			return fmt.Errorf("the archive is cut short after %d records", records)
		} else if err != nil {
			return fmt.Errorf("record %d: %w", records+1, err)
		}
		if len(batch) == importBatch || in.InputOffset()-written > importBytes || line.End != nil {
			if err := importLines(ctx, st, batch); err != nil {
				return fmt.Errorf("records %d to %d: %w", records-len(batch)+1, records, err)
			}
			batch, written = nil, in.InputOffset()
		}
		if line.End != nil {
			if line.End.Records != records {
				return fmt.Errorf("the archive has %d records and names %d", records, line.End.Records)
			}
			return nil
		}
		batch = append(batch, line)
		records++
	}
}

// checkEmpty returns [ErrExists] if st holds anything that an archive keeps.
func checkEmpty(ctx context.Context, st Store) error {
	return st.View(ctx, func(r Reader) error {
		licenses, err1 := r.Licenses(ctx, LicenseQuery{Limit: 1})
		events, err2 := r.Events(ctx, EventQuery{Limit: 1})
		found, err := len(licenses)+len(events) > 0, errors.Join(err1, err2)
		for q := (EntryQuery{}); err == nil && !found; {
			var entries []Entry
			if entries, err = r.Entries(ctx, q); len(entries) == 0 {
				return err
			}
			for _, e := range entries {
				found = found || e.Move == Kept
				q.AfterKind, q.After.ID = e.Kind, e.Key
			}
		}
		if err == nil && found {
			err = fmt.Errorf("the store is not empty: %w", ErrExists)
		}
		return err
	})
}

// importLines writes a batch in one Update.
func importLines(ctx context.Context, st Store, batch []archiveLine) error {
	var licenses []License
	var activations []Activation
	var events []Event
	var entries []Entry
	for _, line := range batch {
		switch {
		case line.License != nil:
			licenses = append(licenses, *line.License)
		case line.Activation != nil:
			activations = append(activations, *line.Activation)
		case line.Event != nil:
			events = append(events, *line.Event)
		case line.Entry != nil && line.Entry.Kind != "":
			entries = append(entries, *line.Entry)
		default:
			return errors.New("a line without a record")
		}
	}
	return st.Update(ctx, func(tx Tx) error {
		if err := tx.CreateLicenses(ctx, licenses...); err != nil {
			return err
		}
		if err := tx.PutActivations(ctx, activations...); err != nil {
			return err
		}
		if err := tx.PutEntries(ctx, entries...); err != nil {
			return err
		}
		return importEvents(ctx, tx, events)
	})
}

// importEvents appends events, all of which must keep their Seqs.
func importEvents(ctx context.Context, tx Tx, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := tx.AppendEvents(ctx, events...); err != nil {
		return err
	}
	stored, err := tx.Events(ctx, EventQuery{After: events[0].Seq - 1, Limit: len(events)})
	if err != nil {
		return err
	}
	for i, e := range events {
		if i == len(stored) || stored[i].Seq != e.Seq {
			return fmt.Errorf("event %d cannot keep its number, since the store has held events before: %w", e.Seq, ErrExists)
		}
	}
	return nil
}
