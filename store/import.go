package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// importBatch is how many records Import writes in one Update.
const importBatch = 500

// Import reads an archive that [Export] wrote into st, which must hold none of
// what travels; else the error is [ErrExists]. It writes in many Updates: when
// it fails, begin again with an empty store. An archive that is cut short, or
// of a newer format, is an error.
//
// Events get new Seqs from st, in their order. Readers of the feed outside the
// store begin it anew.
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
	if head.Archive.Format != archiveFormat {
		return fmt.Errorf("the archive has format %d; this version reads %d", head.Archive.Format, archiveFormat)
	}
	var seqs renumbering // from numbers in the archive to Seqs
	var batch []archiveLine
	records := 0
	for {
		var line archiveLine
		if err := in.Decode(&line); err == io.EOF {
			return fmt.Errorf("the archive is cut short after %d records", records)
		} else if err != nil {
			return fmt.Errorf("record %d: %w", records+1, err)
		}
		// What refers to events comes behind them, and needs their Seqs.
		section := len(batch) > 0 && (batch[0].Event == nil) != (line.Event == nil)
		if len(batch) == importBatch || section || line.End != nil {
			if err := importLines(ctx, st, batch, &seqs); err != nil {
				return fmt.Errorf("records %d to %d: %w", records-len(batch)+1, records, err)
			}
			batch = nil
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

// checkEmpty returns [ErrExists] if st holds anything that travels.
func checkEmpty(ctx context.Context, st Store) error {
	return st.View(ctx, func(r Reader) error {
		licenses, err1 := r.Licenses(ctx, LicenseQuery{Limit: 1})
		events, err2 := r.Events(ctx, EventQuery{Limit: 1})
		deliveries, err3 := r.Deliveries(ctx, DeliveryQuery{Limit: 1})
		n, err := len(licenses)+len(events)+len(deliveries), errors.Join(err1, err2, err3)
		for _, kind := range archivedEntries {
			entries, err4 := r.Entries(ctx, EntryQuery{Kind: kind, Limit: 1})
			n, err = n+len(entries), errors.Join(err, err4)
		}
		if err == nil && n > 0 {
			err = fmt.Errorf("the store is not empty: %w", ErrExists)
		}
		return err
	})
}

// importLines writes a batch in one Update.
func importLines(ctx context.Context, st Store, batch []archiveLine, seqs *renumbering) error {
	given := make([]int64, len(batch))
	err := st.Update(ctx, func(tx Tx) error {
		for i, line := range batch {
			seq, err := importLine(ctx, tx, line, seqs)
			if err != nil {
				return err
			}
			given[i] = seq
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, line := range batch {
		if line.Event != nil {
			seqs.add(line.Event.Seq, given[i])
		}
	}
	return nil
}

// importLine writes one record; for an event it returns the new Seq.
func importLine(ctx context.Context, tx Tx, line archiveLine, seqs *renumbering) (seq int64, err error) {
	switch {
	case line.License != nil:
		return 0, tx.CreateLicense(ctx, *line.License)
	case line.Activation != nil:
		return 0, tx.PutActivation(ctx, *line.Activation)
	case line.Event != nil:
		return tx.AppendEvent(ctx, *line.Event)
	case line.Entry != nil:
		entry := *line.Entry
		if err := seqs.moveCursor(&entry); err != nil {
			return 0, err
		}
		return 0, tx.PutEntry(ctx, entry)
	case line.Delivery != nil:
		d := *line.Delivery
		d.EventSeq = seqs.of(d.EventSeq)
		return 0, tx.PutDelivery(ctx, d)
	case line.Tally != nil:
		return 0, tx.AddTally(ctx, line.Tally.Kind, line.Tally.Name, line.Tally.N)
	}
	return 0, errors.New("a line without a record")
}
