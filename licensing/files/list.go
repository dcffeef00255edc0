package files

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

const (
	listChecked = 5 * time.Second // how long a list is returned without a look at the store
	listRenewed = 6 * time.Hour   // after which a list without changes is signed again
)

// A signedList is the last revocation list of a product.
type signedList struct {
	mu       sync.Mutex // held while the list is made
	text     string     // empty: none yet
	content  [32]byte   // digest of what it says
	signedAt time.Time  // by Options.Now
	checked  time.Time  // by the clock of the machine
	changes  int        // of the ring, when it was checked
}

// Revocations returns the current revocation list of a product, with what
// Options.Revoked returns. A change appears after at most five seconds; as long
// as nothing changes, the list is signed again every six hours only. It returns
// the errors of Options.Revoked and of [Service.SignRevocations].
func (s *Service) Revocations(ctx context.Context, productID string) (string, error) {
	list, changes := s.cache.list(productID)
	list.mu.Lock()
	defer list.mu.Unlock()
	if list.text != "" && list.changes == changes && time.Since(list.checked) < listChecked {
		return list.text, nil
	}
	checked := time.Now()
	refused, err := s.revoked(ctx, productID)
	if err != nil {
		return "", err
	}
	all, err := s.recent(ctx)
	if err != nil {
		return "", err
	}
	content, err := contentOf(all, refused)
	if err != nil {
		return "", err
	}
	now := s.now()
	if list.text == "" || list.content != content || now.Sub(list.signedAt).Abs() >= listRenewed {
		text, err := s.SignRevocations(ctx, SignRevocationsParams{ProductID: productID, Licenses: refused})
		if err != nil {
			return "", err
		}
		s.cache.keep(productID, list)
		list.text, list.content, list.signedAt = text, content, now
	}
	list.checked, list.changes = checked, changes
	return list.text, nil
}

// contentOf returns the digest of what a list says.
func contentOf(all ring, refused []licensefile.RevokedLicense) (digest [32]byte, err error) {
	active := all.find(KeyActive)
	data, err := json.Marshal([]any{active.ID, all.condemned(*active), refused})
	if err != nil {
		return digest, fmt.Errorf("revocation list: %w", err)
	}
	return sha256.Sum256(data), nil
}

// list returns the last list of a product, and how many changes of the ring
// there were.
func (c *cache) list(productID string) (*signedList, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.lists[productID]
	if list == nil {
		list = new(signedList) // kept once it is signed, so that unknown products take no memory
	}
	return list, c.changes
}

// keep keeps the list of a product, unless there is one.
func (c *cache) keep(productID string, list *signedList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil {
		c.lists = make(map[string]*signedList)
	}
	if c.lists[productID] == nil {
		c.lists[productID] = list
	}
}
