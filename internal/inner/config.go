package inner

import (
	"log/slog"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Config is what the handler gives to each service that only it makes.
type Config struct {
	Store  store.Store
	Now    func() time.Time
	Logger *slog.Logger

	// MasterKey encrypts the secrets of a service; nil: they are stored in plain
	// text. PreviousMasterKeys only decrypt.
	MasterKey          []byte
	PreviousMasterKeys [][]byte
}
