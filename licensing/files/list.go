package files

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

const (
	listChecked    = 5 * time.Second  // how long a list is returned without a look at the store
	listCheckedPer = time.Millisecond // how much longer for each license that it names, which takes some microseconds to read
	listRenewed    = 6 * time.Hour    // after which a list without changes is signed again
	listTimeout    = time.Minute      // for making a list
)

// A signedList is the last revocation list of a product, or of one license.
type signedList struct {
	turn     chan struct{} // has a value while the list is made
	text     string        // empty: none yet
	err      error         // why there is no list at present
	content  [32]byte      // digest of what text says
	signedAt time.Time     // by Options.Now
	until    time.Time     // when to look at the store again, by the clock of the machine; zero: never looked
	changes  int           // of the ring, when the store was read
}

// Revocations returns the current revocation list of a product: its licenses of which
// files are refused before they expire, and the compromised keys. A change appears after
// at most five seconds, and a millisecond more for each license on the list; the error of a list with licenses is
// returned again for that time. As long as nothing changes, the list is signed again
// every six hours only.
//
// It returns [licensefile.ErrTooLarge] if the list would have more than
// [licensefile.MaxListed] licenses; see [Service.LicenseRevocations]. Other errors
// are those of [Service.SignRevocations]. In an office, the list is that of the vendor.
func (s *Service) Revocations(ctx context.Context, productID string) (signed string, err error) {
	if s.lender != nil {
		return s.passOn(productID)
	}
	list, changes := s.cache.list(productID)
	select {
	case list.turn <- struct{}{}:
		defer func() { <-list.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if list.changes != changes || !time.Now().Before(list.until) {
		// A caller who gives up leaves the work to the next one otherwise.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTimeout)
		defer cancel()
		began := time.Now()
		named, err := s.renew(ctx, list, productID)
		if err != nil && named == 0 {
			s.cache.drop(productID, list)
			return "", err
		}
		list.err, list.changes = err, changes
		list.until = began.Add(listChecked + time.Duration(named)*listCheckedPer)
	}
	if list.err != nil {
		return "", list.err
	}
	return list.text, nil
}

// passOn returns the revocation list of the vendor that came with the file of the office.
func (s *Service) passOn(productID string) (string, error) {
	if productID != s.lender.Claims.ProductID || s.lender.Revocations == "" {
		return "", fmt.Errorf("product %q: %w", productID, api.ErrNotFound)
	}
	return s.lender.Revocations, nil
}

// renew reads what a list has to say, and signs it again if that has changed. It
// returns how many licenses it has read.
func (s *Service) renew(ctx context.Context, list *signedList, productID string) (named int, err error) {
	refused, _, err := s.revoked(ctx, productID, "")
	if errors.Is(err, licensefile.ErrTooLarge) {
		named = licensefile.MaxListed + 1
		return named, errors.Join(err, s.noteSize(ctx, productID, named))
	} else if err != nil {
		return 0, err
	}
	all, err := s.recent(ctx)
	if err != nil {
		return len(refused), err
	}
	content, err := contentOf(all, refused, time.Time{})
	if err != nil {
		return len(refused), err
	}
	if now := s.now(); list.text == "" || list.content != content || now.Sub(list.signedAt).Abs() >= listRenewed {
		text, err := s.SignRevocations(ctx, SignRevocationsParams{ProductID: productID, Licenses: refused})
		if err != nil {
			return len(refused), err
		}
		list.text, list.content, list.signedAt = text, content, now
	}
	return len(refused), nil
}

// contentOf returns the digest of what a list says, and of when its licenses were last
// changed: a list that says the same again after a change ranks above the one before.
func contentOf(all ring, refused []licensefile.RevokedLicense, changed time.Time) (digest [32]byte, err error) {
	active := all.find(KeyActive)
	data, err := json.Marshal([]any{active.ID, all.condemned(*active), refused, changed})
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
		list = &signedList{turn: make(chan struct{}, 1)}
		if c.lists == nil {
			c.lists = make(map[string]*signedList)
		}
		c.lists[productID] = list
	}
	return list, c.changes
}

// drop forgets a list that was never made, so that unknown products take no memory.
func (c *cache) drop(productID string, list *signedList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list.until.IsZero() && c.lists[productID] == list {
		delete(c.lists, productID)
	}
}
