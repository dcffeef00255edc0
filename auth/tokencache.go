package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// cacheTTL is how long a verified token is accepted without a store read.
	cacheTTL = time.Second
	// cacheSize is the largest number of tokens in the cache.
	cacheSize = 10_000
)

// A tokenCache has the grants of tokens that were verified a moment ago, under
// the digests of the tokens. Any change that may end or narrow a token flushes
// the cache, so only changes made through another Auth, such as one in another
// process, take up to cacheTTL to apply.
type tokenCache struct {
	mu      sync.RWMutex
	grants  map[tokenDigest]cachedGrant
	began   time.Time // readAt of the first of them
	flushes uint64
}

type tokenDigest [sha256.Size]byte

type cachedGrant struct {
	Grant
	readAt time.Time // when the store was about to be read
}

func newTokenCache() *tokenCache { return &tokenCache{grants: map[tokenDigest]cachedGrant{}} }

// get returns the grant of a token that was verified less than cacheTTL ago. It
// also returns the number of flushes, for put.
func (c *tokenCache) get(key tokenDigest, now time.Time) (g Grant, flushes uint64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	cached, ok := c.grants[key]
	age := now.Sub(cached.readAt)
	return cached.Grant, c.flushes, ok && 0 <= age && age < cacheTTL && now.Before(cached.ExpiresAt)
}

// put adds a grant unless the cache was flushed since get: then the grant may be
// from before the change. It empties a cache that is cacheTTL old, so that the cache
// keeps no tokens that are no longer used, or full.
func (c *tokenCache) put(key tokenDigest, g Grant, readAt time.Time, flushes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flushes != flushes {
		return
	}
	if age := readAt.Sub(c.began); age < 0 || age >= cacheTTL || len(c.grants) >= cacheSize {
		clear(c.grants)
		c.began = readAt
	}
	c.grants[key] = cachedGrant{g, readAt}
}

// flush empties the cache. Call it after the change is stored, and also if
// storing it failed, because it may be stored nevertheless.
func (c *tokenCache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushes++
	clear(c.grants)
}
