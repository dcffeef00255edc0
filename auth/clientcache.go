package auth

import "sync"

// clientCacheSize is the largest number of clients in the cache.
const clientCacheSize = 1000

// A clientCache has the records of clients that were issued a token before, as
// they were then; none was disabled. Issuing a token reads the client in its update,
// so a cached record only decides whether to begin that update. A secret that the
// cached record does not have is checked in the store.
type clientCache struct {
	mu      sync.Mutex
	clients map[string]cachedClient
}

type cachedClient struct {
	record clientRecord
	data   []byte // the stored record
}

func newClientCache() *clientCache { return &clientCache{clients: map[string]cachedClient{}} }

// unknownRecord is compared in place of a client that is not in the cache, so
// that both take the same time.
var unknownRecord = func() clientRecord {
	c, err := readClient(unknownClient)
	if err != nil {
		panic(err)
	}
	return c
}()

// recall sets the verified client to its cached record, if that has the secret.
func (v *verified) recall(c *clientCache) bool {
	c.mu.Lock()
	cached, known := c.clients[v.creds.id]
	c.mu.Unlock()
	if !known {
		cached.record = unknownRecord
	}
	id, ok := cached.record.match(digest(v.creds.secret), v.at)
	if !ok || !known {
		return false
	}
	v.clientRecord, v.data, v.secretID = cached.record, cached.data, id
	return true
}

// put adds a client. If the cache is full, put empties it first.
func (c *clientCache) put(v verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.clients) >= clientCacheSize {
		clear(c.clients)
	}
	c.clients[v.ID] = cachedClient{v.clientRecord, v.data}
}

// drop removes a client.
func (c *clientCache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.clients, id)
}
