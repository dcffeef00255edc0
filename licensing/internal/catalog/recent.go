package catalog

import (
	"cmp"
	"slices"
	"sync"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Change is an event of a committed Update, with the license that it wrote.
type Change struct {
	Seq           int64
	Type, Subject string

	Wrote   bool           // the Update wrote the license that is the Subject
	License *store.License // what it wrote; nil: it deleted the license
}

// Recent holds the last changes that this process has committed, so that the
// index need not read them back. It may lack some: then they are read from the
// store. It is safe for concurrent use.
type Recent struct {
	mu      sync.Mutex
	changes []Change // by Seq
}

const (
	maxRecent   = 1500 // changes; up to twice as many are held for a moment
	maxDocument = 4096 // bytes of a license that is held
)

// Add adds the changes of a committed Update. Large licenses are left out.
func (r *Recent) Add(changes []Change) {
	if len(changes) > maxRecent {
		return
	}
	for _, c := range changes {
		if c.License != nil && len(c.License.Document) > maxDocument {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		at := len(r.changes)
		for at > 0 && r.changes[at-1].Seq > c.Seq { // a later Update was faster
			at--
		}
		r.changes = slices.Insert(r.changes, at, c)
	}
	if len(r.changes) > 2*maxRecent {
		r.changes = slices.Delete(r.changes, 0, len(r.changes)-maxRecent)
	}
}

// after returns up to limit changes after a Seq and through another, without gaps.
func (r *Recent) after(seq, through int64, limit int) (list []Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.changes, seq+1, func(c Change, seq int64) int { return cmp.Compare(c.Seq, seq) })
	for ; i < len(r.changes) && len(list) < limit; i++ {
		if c := r.changes[i]; c.Seq == seq+1 && c.Seq <= through {
			list = append(list, c)
			seq = c.Seq
			continue
		}
		break
	}
	return list
}

// forget removes the changes through a Seq.
func (r *Recent) forget(seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.changes, seq+1, func(c Change, seq int64) int { return cmp.Compare(c.Seq, seq) })
	r.changes = slices.Delete(r.changes, 0, i)
}
