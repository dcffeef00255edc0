package store

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// KindCursor is the kind of entries that hold a place in the feed of events:
// Data is the Seq that was last read, in decimal digits. [Export] and [Import]
// move it along with the feed.
const KindCursor = "cursor"

// KindWatermark is the kind of entries that hold a place in time: up to where
// the notices of the clock have been given.
const KindWatermark = "watermark"

// What an archive holds of the records that are kept by kind. Whoever adds a
// kind that is to survive a move adds it here.
var (
	archivedEntries = []string{"client", "operator", "operator_email", "once", "webhook", "webhook_left", "signing_key", KindCursor, KindWatermark}
	archivedTallies = []string{
		"license.state", "license.product", "license.customer", "license.created",
		"license.starts", "license.starts_at", "license.expires", "license.expires_at",
	}
)

// archiveFormat is the version of the form of an archive.
const archiveFormat = 1

// An archiveLine is one line of an archive. One field is set.
type archiveLine struct {
	Archive    *archiveHead `json:"archive,omitempty"` // the first line
	License    *License     `json:"license,omitempty"`
	Activation *Activation  `json:"activation,omitempty"`
	Event      *Event       `json:"event,omitempty"`
	Entry      *Entry       `json:"entry,omitempty"`
	Delivery   *Delivery    `json:"delivery,omitempty"`
	Tally      *Tally       `json:"tally,omitempty"`
	End        *archiveEnd  `json:"end,omitempty"` // the last line
}

type archiveHead struct {
	Format int `json:"format"`
}

type archiveEnd struct {
	Records int `json:"records"`
}

// A renumbering carries the numbers of a feed over into another, both rising,
// as runs in which they rise together.
type renumbering []numberRun

// A numberRun is n numbers from one on, and those they become.
type numberRun struct{ from, to, n int64 }

func (r *renumbering) add(from, to int64) {
	if i := len(*r) - 1; i >= 0 {
		if last := &(*r)[i]; last.from+last.n == from && last.to+last.n == to {
			last.n++
			return
		}
	}
	*r = append(*r, numberRun{from, to, 1})
}

// of returns the new number of the last event at or before an old one; zero,
// the beginning of the feed, if there is none.
func (r renumbering) of(from int64) int64 {
	i, _ := slices.BinarySearchFunc(r, from+1, func(run numberRun, from int64) int { return cmp.Compare(run.from, from) })
	if i == 0 {
		return 0
	}
	run := r[i-1]
	return run.to + min(from-run.from, run.n-1)
}

// moveCursor renumbers an entry if it is a cursor.
func (r renumbering) moveCursor(e *Entry) error {
	if e.Kind != KindCursor {
		return nil
	}
	seq, err := strconv.ParseInt(string(e.Data), 10, 64)
	if err != nil {
		return fmt.Errorf("cursor %s: %w", e.Key, err)
	}
	e.Data = strconv.AppendInt(nil, r.of(seq), 10)
	return nil
}
