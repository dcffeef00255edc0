package kit

import (
	"errors"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// UnlessGone returns an error, or nil if it only says that a record does not exist.
func UnlessGone(err error) error {
	if errors.Is(err, api.ErrNotFound) {
		return nil
	}
	return err
}
