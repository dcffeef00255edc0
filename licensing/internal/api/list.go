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
type list struct {
	Object     string            `json:"object"`
	Data       []license.License `json:"data"`
	HasMore    bool              `json:"has_more"`
	NextCursor *string           `json:"next_cursor"`
}

// maxLimit is the longest page that the rules allow.
const maxLimit = 200

// listLicenses is GET /license.
func (a api) listLicenses(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, "customer_id", "product_id", "status", "expires_before", "expires_after", "limit", "cursor")
	p := license.ListParams{
		CustomerID:    query.Text("customer_id"),
		ProductID:     query.Text("product_id"),
		Status:        license.Status(query.Text("status")),
		ExpiresBefore: query.Time("expires_before"),
		ExpiresAfter:  query.Time("expires_after"),
	}
	page, err := a.list(r, query, p)
	if err != nil {
		return web.QueryError(err)
	}
	return writeList(w, r, page)
}

// getLicenses is GET /license/{licenseID}, which the specification has twice:
// for one licence, and for all licences of a customer. Every licence id begins
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
		return license.ErrNotFound // neither a licence nor a customer who has one
	case err != nil:
		return web.QueryError(err)
	}
	return writeList(w, r, page)
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

func writeList(w http.ResponseWriter, r *http.Request, page license.Page) error {
	l := list{Object: "list", Data: page.Licenses}
	if page.NextCursor != "" {
		l.HasMore, l.NextCursor = true, &page.NextCursor
		w.Header().Set("Link", web.NextLink(r, page.NextCursor))
	}
	return web.WriteJSON(w, http.StatusOK, l)
}
