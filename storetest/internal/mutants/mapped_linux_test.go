package mutants

import (
	"context"
	"syscall"

	"github.com/seed-d8a106b4/licensekit/store"
)

// mapped returns documents in read-only memory, like a store that maps its file.
type mapped struct{ store.Reader }

func (r mapped) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := r.Reader.Entry(ctx, kind, key)
	if len(e.Data) == 0 {
		return e, err
	}
	page, failed := syscall.Mmap(-1, 0, len(e.Data), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if failed != nil {
		return e, failed
	}
	copy(page, e.Data)
	if failed := syscall.Mprotect(page, syscall.PROT_READ); failed != nil {
		return e, failed
	}
	e.Data = page
	return e, err
}

// The process of the suite must survive a store that maps its file.
func init() {
	valueMutants = append(valueMutants, mutant{13, "returns memory that must not be written", reading(func(r store.Reader) store.Reader { return mapped{r} })})
}
