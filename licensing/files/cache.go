package files

import (
	"context"
	"crypto"
	"sync"
	"time"
)

// cacheFor is how long a change of the ring by another process may go unnoticed
// by Sign and KeySet. A change by this Service applies immediately.
const cacheFor = time.Second

// A cache keeps what signing a file needs: the ring, and the private halves that
// have been read. A Service shares it with the Services that As returns.
type cache struct {
	mu      sync.Mutex
	ring    ring
	until   time.Time // by the clock of the machine, which has a monotonic part
	changes int       // how many changes there were
	signers map[string]crypto.Signer
	lists   map[string]*signedList // by product ID

	licenses map[listedLicense]*signedList // of single licenses
}

// recent returns a ring that is at most cacheFor old. The caller must not change
// it.
func (s *Service) recent(ctx context.Context) (ring, error) {
	c := s.cache
	c.mu.Lock()
	all, fresh, changes := c.ring, time.Now().Before(c.until), c.changes
	c.mu.Unlock()
	if fresh {
		return all, nil
	}
	began := time.Now()
	all, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == changes { // otherwise the ring may have been read before the change
		c.ring, c.until = all, began.Add(cacheFor)
	}
	return all, nil
}

// flush makes the next call of recent read the store.
func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.until = time.Time{}
}

// cachedSigner returns the private half of a key, which it reads and decrypts
// once: the ID of a key determines it.
func (s *Service) cachedSigner(rec record) (crypto.Signer, error) {
	c := s.cache
	c.mu.Lock()
	signer := c.signers[rec.ID]
	c.mu.Unlock()
	if signer != nil {
		return signer, nil
	}
	signer, err := s.signer(rec)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.signers == nil {
		c.signers = make(map[string]crypto.Signer)
	}
	c.signers[rec.ID] = signer
	return signer, nil
}
