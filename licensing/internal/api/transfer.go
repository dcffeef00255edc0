package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Licenses leave and come in as NDJSON, a license a line. The paths are their
// own because GET /license/export would be the list of a customer of that id.

// exportLicenses is GET /export/license. The lines go out as the store gives
// them; an export that fails halfway is cut off, so that it cannot be taken
// for a whole one.
func (a api) exportLicenses(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, filters...)
	p := filter(query)
	if err := query.Err(); err != nil {
		return err
	}
	lines := web.NewLines(w)
	if err := a.rules(r).Export(r.Context(), lines, p); err != nil {
		return web.QueryError(err)
	}
	lines.End()
	return nil
}

// importLicenses is POST /import/license. The body is read to its end before
// the first line is decided, and each line of the answer goes out once its row
// is stored. One import too many is refused before its body is read.
func (a api) importLicenses(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	if err := web.Unconditional(r); err != nil {
		return err
	}
	select {
	case a.imports <- struct{}{}:
	default:
		return &web.Problem{
			Status: http.StatusServiceUnavailable, Code: "busy",
			Detail: fmt.Sprintf("%d imports are running already; nothing was done. Repeat the request later.", maxImports),
			Header: http.Header{"Retry-After": {"10"}},
		}
	}
	release := sync.OnceFunc(func() { <-a.imports })
	defer release()
	// A client that does not read the answer can block a write for longer
	// than the request may take. It must not keep others from importing.
	defer context.AfterFunc(r.Context(), release)()
	rows, err := web.ReadLines(r, a.MaxImport)
	if err != nil {
		return err
	}
	results := web.NewLines(w)
	err = a.rules(r).Import(r.Context(), bytes.NewReader(rows), func(result license.RowResult) error {
		line, err := web.Marshal(result)
		if err == nil {
			_, err = results.Write(line)
		}
		return err
	})
	if err != nil {
		return err
	}
	results.End()
	return nil
}
