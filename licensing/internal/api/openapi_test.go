package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A document is as much of openapi.json as follows from the rows of the table
// and from the types of their functions.
type document struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas    map[string]schema
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

type operation struct {
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema schema }
	}
	Responses map[string]response
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Schema   schema
}

type response struct {
	Ref     string `json:"$ref"`
	Headers map[string]any
	Content map[string]struct{ Schema schema }
}

// TestTheDescriptionFollowsFromTheTable compares each operation with its row:
// parameters, headers, media types, members, types, required members, the
// status of success and its headers. What follows from the row and the types
// must be in openapi.json, and nothing else may be.
func TestTheDescriptionFollowsFromTheTable(t *testing.T) {
	is := is.New(t)
	var doc document
	is.NoErr(json.Unmarshal(Description, &doc))
	c := comparison{T: t, schemas: doc.Components.Schemas}
	byName := map[string][]web.Route{} // GET /license/{licenseID} has two rows
	for _, route := range Routes(Config{Auth: auth.New(memory.New(), auth.Options{}), Metadata: http.NotFoundHandler(), Limits: web.Limits{MaxImport: 1}}) {
		if route.Do != nil {
			name := route.Method + " " + strings.Replace(route.Path, ":lic_}", "}", 1)
			byName[name] = append(byName[name], route)
		}
	}
	is.True(len(byName) > 25)
	for name, rows := range byName {
		method, path, _ := strings.Cut(name, " ")
		var o operation
		is.NoErr(json.Unmarshal(doc.Paths[path][strings.ToLower(method)], &o))
		if shared := doc.Paths[path]["parameters"]; shared != nil {
			var more []parameter
			is.NoErr(json.Unmarshal(shared, &more))
			o.Parameters = append(o.Parameters, more...)
		}
		var parameters, headers []string
		for _, row := range rows {
			parameters = append(parameters, parametersOf(row)...)
			headers = append(headers, headersOf(row)...)
			c.body(name, row, o)
			c.result(name, row, o, doc.Components.Responses, len(rows) > 1)
		}
		var described []string
		for _, p := range o.Parameters {
			if p.Ref != "" {
				p = doc.Components.Parameters[named(p.Ref)]
			}
			described = append(described, p.In+" "+p.Name+" "+strings.Join(c.types(p.Schema), " "))
		}
		c.same(name+": parameters", described, parameters)
		c.same(name+": headers", headersOfSuccess(o, rows[0], doc.Components.Responses), headers)
	}
	for name, v := range map[string]any{
		"RowResult": license.ImportResult{}, "RowFault": license.FieldError{}, "EventData": license.EventData{},
		"Problem": web.Problem{}, "Fault": web.FieldError{},
	} {
		c.object(name, schema{Ref: "/" + name}, reflect.TypeOf(v), false)
	}
	c.object("Row", schema{Ref: "/Row"}, reflect.TypeFor[license.ImportRow](), true)
}

func named(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func reads(row web.Route) bool { return row.Method == "GET" || row.Method == "DELETE" }

func versioned(row web.Route) bool {
	_, result, paged := row.Do.Types()
	return result == reflect.TypeFor[license.License]() && !paged
}

func idempotent(row web.Route) bool {
	return !reads(row) && row.Scope != "" && row.Rows == 0 && !row.Secret
}

// parametersOf returns the parameters that a row has, with their types.
func parametersOf(row web.Route) (all []string) {
	params, _, _ := row.Do.Types()
	for segment := range strings.SplitSeq(row.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "}"), ":")
			all = append(all, "path "+name+" string")
		}
	}
	for _, f := range input.Of(params).Fields {
		if f.Name != "" && !f.Body && (reads(row) || f.Query) {
			all = append(all, "query "+f.Name+" "+strings.Join(typesOf(f.Type), " "))
		}
	}
	if _, conditional := params.FieldByName("IfMatch"); conditional || versioned(row) && row.Method == "GET" {
		all = append(all, "header If-Match string")
	}
	if versioned(row) && row.Method == "GET" {
		all = append(all, "header If-None-Match string")
	}
	if idempotent(row) {
		all = append(all, "header Idempotency-Key string")
	}
	return all
}

// headersOf returns the headers of a success that a row has.
func headersOf(row web.Route) []string {
	all := []string{"X-Request-Id", "Licensing-Version", "Cache-Control"}
	params, _, paged := row.Do.Types()
	if versioned(row) {
		all = append(all, "ETag")
	}
	if idempotent(row) {
		all = append(all, "Idempotency-Replayed")
	}
	if row.Status == http.StatusCreated {
		all = append(all, "Location")
	}
	if _, cursor := params.FieldByName("Cursor"); cursor && paged && row.Method == "GET" {
		all = append(all, "Link")
	}
	return all
}

func successOf(o operation, row web.Route, shared map[string]response) response {
	answer := o.Responses[fmt.Sprint(cmp.Or(row.Status, http.StatusOK))]
	if answer.Ref != "" {
		return shared[named(answer.Ref)]
	}
	return answer
}

func headersOfSuccess(o operation, row web.Route, shared map[string]response) (all []string) {
	for name := range successOf(o, row, shared).Headers {
		all = append(all, name)
	}
	return all
}

// body compares the body of a request with the parameters of a row.
func (c comparison) body(name string, row web.Route, o operation) {
	params, _, _ := row.Do.Types()
	types := []string{web.JSON}
	switch {
	case row.Rows > 0:
		types = []string{web.NDJSON}
	case reads(row) || !input.Of(params).HasMembers():
		types = nil
	case row.Method == "PATCH":
		types = append(types, web.MergePatch)
	}
	var described []string
	if o.RequestBody != nil {
		for mediaType, content := range o.RequestBody.Content {
			described = append(described, mediaType)
			if row.Rows == 0 {
				c.object(name, content.Schema, params, true)
				if s := c.resolve(content.Schema); string(s.Additional) != "false" {
					c.Errorf("%s: the schema of the body must have additionalProperties false", name)
				} else if !row.OptionalBody && !o.RequestBody.Required || len(s.Required) > 0 && !o.RequestBody.Required {
					c.Errorf("%s: the body is not described as required", name)
				}
			}
		}
	}
	c.same(name+": media types of the body", described, types)
}

// result compares the success of an operation with the result of a row.
func (c comparison) result(name string, row web.Route, o operation, shared map[string]response, choice bool) {
	_, result, paged := row.Do.Types()
	answer := successOf(o, row, shared)
	mediaType := web.JSON
	if result == nil {
		mediaType = web.NDJSON
	}
	content, ok := answer.Content[mediaType]
	if !ok || len(answer.Content) != 1 {
		c.Errorf("%s: the success is not described as %s", name, mediaType)
		return
	}
	s := content.Schema
	if choice { // of one record and of a page
		i := slices.IndexFunc(s.OneOf, func(s schema) bool { _, list := c.resolve(s).Properties["data"]; return list == paged })
		s = s.OneOf[i]
	}
	if paged {
		s = *c.resolve(s).Properties["data"].Items
	}
	if result != nil {
		c.object(name, s, result, false)
	}
}
