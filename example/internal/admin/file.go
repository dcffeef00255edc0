package admin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// OpenFile is [Open] for SQLite: name is the path of a file. A file of an older
// version of the library is updated, as by the application.
func OpenFile(_ context.Context, name string, create bool) (*Database, error) {
	_, err := os.Stat(name)
	switch {
	case create && err == nil:
		return nil, fmt.Errorf("%s exists; name a new file", name)
	case !create && err != nil: // sqlite.Open would create it
		return nil, err
	}
	st, err := sqlite.Open(name)
	if err != nil {
		return nil, err
	}
	return &Database{Store: st, Close: st.Close, Discard: func() error { return errors.Join(st.Close(), os.Remove(name)) }}, nil
}
