package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A list is a page of a list on the wire.
type list[T any] struct {
	Object     string  `json:"object"`
	Data       []T     `json:"data"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
}

// maxLimit is the longest page that the rules allow.
const maxLimit = 200

// listLicenses is GET /license.
func (a api) listLicenses(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, append([]string{"limit", "cursor"}, filters...)...)
	page, err := a.list(r, query, filter(query))
	if err != nil {
		return web.QueryError(err)
	}
	return writeList(w, r, page.Licenses, page.NextCursor)
}

// filters are the parameters that select licenses.
var filters = []string{"customer_id", "product_id", "status", "expires_before", "expires_after"}

func filter(query *web.Query) license.ListParams {
	return license.ListParams{
		CustomerID:    query.Text("customer_id"),
		ProductID:     query.Text("product_id"),
		Status:        license.Status(query.Text("status")),
		ExpiresBefore: query.Time("expires_before"),
		ExpiresAfter:  query.Time("expires_after"),
	}
}

// getLicenses is GET /license/{licenseID}, which the specification has twice:
// for one license, and for all licenses of a customer. Every license id begins
// with "lic_" and no customer id does, so the path says which is meant.
func (a api) getLicenses(w http.ResponseWriter, r *http.Request) error {
	id := web.Param(r, "licenseID")
	if strings.HasPrefix(id, "lic_") {
		return a.getLicense(w, r, id)
	}
	query := web.ReadQuery(r, "limit", "cursor")
	page, err := a.list(r, query, license.ListParams{CustomerID: id})
	switch {
	case isAbout(err, "customer_id"), err == nil && len(page.Licenses) == 0 && query.Text("cursor") == "":
		return license.ErrNotFound // neither a license nor a customer who has one
	case err != nil:
		return web.QueryError(err)
	}
	return writeList(w, r, page.Licenses, page.NextCursor)
}

// isAbout reports whether err says that the field breaks a rule.
func isAbout(err error, field string) bool {
	invalid, ok := errors.AsType[*license.InvalidError](err)
	return ok && slices.ContainsFunc(invalid.Fields, func(f license.FieldError) bool { return f.Field == field })
}

// list reads the page of a list that the query asks for.
func (a api) list(r *http.Request, query *web.Query, p license.ListParams) (license.Page, error) {
	p.Limit = query.Number("limit", 1, maxLimit)
	p.Cursor = query.Text("cursor")
	if err := query.Err(); err != nil {
		return license.Page{}, err
	}
	return a.rules(r).List(r.Context(), p)
}

func listOf[T any](data []T, nextCursor string) list[T] {
	l := list[T]{Object: "list", Data: data}
	if nextCursor != "" {
		l.HasMore, l.NextCursor = true, &nextCursor
	}
	return l
}

func writeList[T any](w http.ResponseWriter, r *http.Request, data []T, nextCursor string) error {
	if nextCursor != "" {
		w.Header().Set("Link", web.NextLink(r, nextCursor))
	}
	return web.WriteJSON(w, http.StatusOK, listOf(data, nextCursor))
}
