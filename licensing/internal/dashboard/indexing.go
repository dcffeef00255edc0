package dashboard

import (
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// indexingNote returns the note of a page whose content was read from an index
// that lags behind; empty if it does not.
func indexingNote(x *license.Indexing) string {
	switch {
	case x == nil:
		return ""
	case x.Blocked:
		return fmt.Sprintf("The index cannot be updated (%d %% indexed). Recent changes are missing on this page. See the log of the host application.", x.Percent)
	}
	return fmt.Sprintf("Indexing, %d %%. Recent changes are missing on this page; reload it in a moment.", x.Percent)
}
