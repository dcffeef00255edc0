package endpoints

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

var update = flag.Bool("update", false, "rewrite openapi.json")

// TestOpenAPI generates openapi.json from [Routes], the Go types of parameters
// and results, and openapi.source.json, and compares it with the file. To rewrite
// the file, run
//
//	go test ./licensing/internal/http/endpoints -run OpenAPI -update
//
// openapi.source.json is an OpenAPI document that lacks what follows from code.
// It has the descriptions and examples, everything about endpoints that have no
// typed function, such as those of OAuth, and these members:
//
//   - In an operation, parameters has what a query parameter has beyond its type,
//     or in place of a shared parameter, by name; answer names the response of a success, and created that of
//     a success with 201 beside it, and pending that of one with 202; also lists the statuses
//     of problems that do not follow from the row; example is that of the body.
//   - In a response, status is that of a problem; example is one, or the name of
//     a shared one; schema names the schema if the Go type has several.
//   - In a schema, go lists the Go types; like names a schema whose members of
//     the same names have the same descriptions and limits; list names the
//     schema of the elements of a page; of names a schema that has fewer required
//     members. A keyword that is null is left out.
//   - In a webhook, always and sometimes list the members of data.
func TestOpenAPI(t *testing.T) {
	is := is.New(t)
	source, err := os.ReadFile("openapi.source.json")
	is.NoErr(err)
	g := generator{T: t, doc: obj(), rows: map[string][]web.Route{}, bodies: map[string][]string{}}
	is.NoErr(json.Unmarshal(source, g.doc))
	generated := g.generate()
	if *update {
		is.NoErr(os.WriteFile("openapi.json", generated, 0o644))
		return
	}
	if !bytes.Equal(generated, Description) {
		t.Error("openapi.json is out of date; run go test ./licensing/internal/http/endpoints -run OpenAPI -update")
	}
}

type generator struct {
	*testing.T
	doc     *object
	rows    map[string][]web.Route // by method and path; GET /license/{licenseID} has two
	bodies  map[string][]string    // the requests that have a schema as their body
	schemas *schemas
}

func (g *generator) generate() []byte {
	components := g.doc.object("components")
	g.schemas = &schemas{T: g.T, source: components.object("schemas"), done: map[string]*object{}, enums: map[reflect.Type][]any{}, requested: map[string]bool{}, docs: map[string]string{}}
	results := []reflect.Type{
		reflect.TypeFor[api.RowResult](), reflect.TypeFor[api.EventData](), reflect.TypeFor[api.Problem](), reflect.TypeFor[health](),
	}
	g.schemas.add(reflect.TypeFor[api.CreateLicenseParams](), true)
	g.schemas.add(reflect.TypeFor[api.LicenseRow](), true)
	g.schemas.add(reflect.TypeFor[api.UsageReport](), true)
	g.schemas.add(reflect.TypeFor[api.LicenseUsage](), true)
	for _, row := range Routes(Config{Auth: auth.New(memory.New(), auth.Options{}), Metadata: http.NotFoundHandler(), MaxImport: 1}) {
		name := row.Method + " " + row.Path
		g.rows[name] = append(g.rows[name], row)
		if row.Do != nil {
			g.schemas.add(row.Do.Params, true)
			if row.Do.Result != nil && !inSource(row) {
				results = append(results, row.Do.Result)
			}
		}
	}
	for _, t := range results {
		g.schemas.add(t, false)
	}
	all := obj()
	for _, m := range g.schemas.source.members {
		source, made := m.value.(*object), g.schemas.done[m.name]
		switch {
		case made != nil:
			all.set(m.name, made)
		case source.text("list") != "":
			all.set(m.name, list(source))
		case source.text("of") != "":
			all.set(m.name, g.requiring(source))
		case ofType(source):
			g.Errorf("no endpoint uses a Go type of the schema %s", m.name)
		default:
			all.set(m.name, source)
		}
	}
	components.set("schemas", all)
	for _, path := range g.doc.object("paths").members {
		g.path(path.name, path.value.(*object))
	}
	for _, m := range components.object("responses").members {
		g.response(m.value.(*object))
	}
	for _, m := range all.members {
		g.describe(m.name, m.value.(*object))
	}
	g.webhooks()
	finish(g.doc, g.schemas.requested)
	return format(g.doc)
}

// requiring returns a schema with more required members.
func (g *generator) requiring(source *object) *object {
	of := source.text("of")
	made := &object{slices.Clone(g.schemas.done[of].members)}
	made.set("description", cmp.Or(made.text("description"), g.schemas.docs[of]))
	required, _ := made.get("required").([]any)
	more, _ := source.get("required").([]any)
	source.remove("of", "required")
	made.set("required", slices.Concat(required, more))
	return made.merge(source).order(keywords...)
}

// list returns the schema of a page of a list.
func list(source *object) *object {
	name := source.text("list")
	source.remove("list")
	return obj("type", "object", "description", "A page of a list.", "required", []any{"object", "data", "has_more", "next_cursor"}, "properties", obj(
		"object", obj("const", "list"),
		"data", obj("type", "array", "items", ref("schemas", name)),
		"has_more", obj("type", "boolean"),
		"next_cursor", obj("type", []any{"string", "null"}, "description", "The parameter `cursor` of the next page. Null: this is the last page."),
	)).merge(source)
}

// path completes the operations of a path.
func (g *generator) path(path string, item *object) {
	var inPath []any
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			inPath = append(inPath, g.parameter("path", strings.TrimSuffix(name, "}"), nil))
		}
	}
	for _, m := range item.members {
		operation := m.value.(*object)
		rows := g.rows[strings.ToUpper(m.name)+" "+path]
		if len(rows) > 0 && rows[0].Do != nil && !inSource(rows[0]) {
			g.operation(path, operation, rows)
		}
	}
	if inPath != nil {
		item.set("parameters", inPath)
		item.order("parameters")
	}
}

// inSource reports whether the source describes a row completely: its result is
// a document, or it is a probe.
func inSource(row web.Route) bool {
	return row.Do.Result == reflect.TypeFor[web.Document]() || row.Probe
}

func reads(row web.Route) bool { return row.Method == "GET" || row.Method == "DELETE" }

func versioned(row web.Route) bool {
	result := row.Do.Result
	return result != nil && result.Implements(reflect.TypeFor[interface{ Version() api.Version }]()) && !row.Do.Paged
}

func idempotent(row web.Route) bool {
	return !reads(row) && row.Method != "PUT" && row.Scope != "" && row.Rows == 0 && !row.Secret && !row.Steps
}

func hasField(row web.Route, name string) bool {
	params := row.Do.Params
	_, ok := params.FieldByName(name)
	return ok
}

// operation completes an operation of the source with what its rows define.
func (g *generator) operation(path string, o *object, rows []web.Route) {
	words, answer, created, pending, also, example := o.object("parameters"), o.text("answer"), o.text("created"), o.text("pending"), o.texts("also"), o.get("example")
	o.remove("parameters", "answer", "created", "pending", "also", "example")
	security := []any{}
	if scope := rows[0].Scope; scope != "" {
		security = []any{obj("oauth2", []any{scope}), obj("bearer", []any{})}
	}
	o.set("security", security)
	var parameters []any
	for _, row := range rows {
		parameters = append(parameters, g.parameters(row, words)...)
	}
	for _, m := range words.members {
		g.Errorf("the source describes the parameter %s of %s %s, which it does not have", m.name, rows[0].Method, path)
	}
	if len(parameters) > 0 {
		o.set("parameters", parameters)
	}
	if body := g.body(rows[0], example); body != nil {
		o.set("requestBody", body.merge(o.object("requestBody")).order("required"))
	}
	answers := obj()
	for _, status := range g.statuses(path, rows[0], also) {
		answers.set(status, ref("responses", g.problem(status)))
	}
	answers.set(strconv.Itoa(max(rows[0].Status, http.StatusOK)), ref("responses", answer))
	if created != "" {
		answers.set("201", ref("responses", created))
		row := rows[0]
		row.Status = http.StatusCreated
		g.success(created, g.doc.object("components").object("responses").object(created), row)
	}
	if pending != "" {
		answers.set("202", ref("responses", pending))
		g.success(pending, g.doc.object("components").object("responses").object(pending), rows[0])
	}
	slices.SortFunc(answers.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	o.set("responses", answers)
	o.order("operationId", "tags", "summary", "description", "security", "parameters", "requestBody", "responses")
	response := g.doc.object("components").object("responses").object(answer)
	for _, row := range rows {
		g.success(answer, response, row)
	}
}

// parameters returns the parameters of a row, and removes their words.
func (g *generator) parameters(row web.Route, words *object) (all []any) {
	params := row.Do.Params
	for _, f := range input.Of(params).Fields {
		if f.Param == "" || !reads(row) && f.Name != "" {
			continue
		}
		schema := g.schemas.ofType(f.Type)
		if field, ok := params.FieldByName(f.GoName); ok {
			restrict(schema, field.Tag.Get("validate"), true)
		}
		p := obj("name", f.Param, "in", "query", "schema", schema.order(keywords...)).merge(words.object(f.Param))
		if p.order("name", "in", "description", "allowEmptyValue", "example", "schema"); words.get(f.Param) == nil {
			p = g.parameter("query", f.Param, p)
		}
		words.remove(f.Param)
		all = append(all, p)
	}
	header := func(has bool, name string) {
		if has {
			all = append(all, g.parameter("header", name, nil))
		}
	}
	header(hasField(row, "IfMatch") || versioned(row) && row.Method == "GET", "If-Match")
	header(versioned(row) && row.Method == "GET", "If-None-Match")
	header(idempotent(row), "Idempotency-Key")
	return all
}

// parameter returns a reference to a shared parameter; p if there is none.
func (g *generator) parameter(in, name string, p *object) *object {
	for _, m := range g.doc.object("components").object("parameters").members {
		if shared := m.value.(*object); shared.text("in") == in && shared.text("name") == name {
			return ref("parameters", m.name)
		}
	}
	if p == nil {
		g.Errorf("the source lacks the parameter %s in the %s", name, in)
	}
	return p
}

// body returns the body of a request, or nil.
func (g *generator) body(row web.Route, example any) *object {
	params := row.Do.Params
	types := []string{web.JSON}
	schema := g.schemas.nameOf(params)
	switch {
	case row.Rows > 0:
		types, schema = []string{web.NDJSON}, "LicenseRows"
	case reads(row) || !input.Of(params).HasMembers():
		return nil
	case row.Method == "PATCH":
		types = []string{web.MergePatch, web.JSON}
	}
	if schema == "" {
		g.Errorf("no schema of the source names the Go type %v", params)
	}
	g.bodies[schema] = append(g.bodies[schema], "`"+row.Method+" "+row.Path+"`")
	content := obj()
	for _, mediaType := range types {
		content.set(mediaType, obj("schema", ref("schemas", schema), "example", example))
	}
	if row.OptionalBody || row.Rows > 0 {
		return obj("content", content)
	}
	return obj("required", true, "content", content)
}

// statuses returns the statuses of the problems of a row, and others.
func (g *generator) statuses(path string, row web.Route, others []string) []string {
	all := append(others, "400", "500", "503")
	if !row.Unlimited {
		all = append(all, "429")
	}
	if row.Scope != "" {
		all = append(all, "401", "403")
	}
	if !reads(row) {
		all = append(all, "408", "413", "415")
	}
	if !reads(row) || row.Judged != "" || row.Steps {
		all = append(all, "422")
	}
	if strings.Contains(path, "{") {
		all = append(all, "404")
	}
	if hasField(row, "IfMatch") || versioned(row) && row.Method == "GET" {
		all = append(all, "412")
	}
	if versioned(row) && row.Method == "GET" {
		all = append(all, "304")
	}
	if versioned(row) && !reads(row) && row.Do.Result == reflect.TypeFor[api.License]() {
		all = append(all, "409")
	}
	return all
}

// problem returns the name of the response with a status that is not a success.
func (g *generator) problem(status string) string {
	for _, m := range g.doc.object("components").object("responses").members {
		if fmt.Sprint(m.value.(*object).get("status")) == status {
			return m.name
		}
	}
	g.Errorf("the source lacks a response with the status %s", status)
	return ""
}

// success completes the response of a row. Rows may have the same response if
// they define the same.
func (g *generator) success(name string, response *object, row web.Route) {
	result, paged := row.Do.Result, row.Do.Paged
	headers := obj()
	header := func(has bool, name string) {
		if has {
			headers.set(name, ref("headers", name))
		}
	}
	header(versioned(row), "ETag")
	header(idempotent(row), "Idempotency-Replayed")
	header(row.Status == http.StatusCreated && row.Created != nil, "Location")
	header(paged && row.Method == "GET" && hasField(row, "Cursor"), "Link")
	headers.merge(response.object("headers"))
	if known := response.get("from"); known != nil && known != inline(headers) && response.get("content") == nil {
		g.Errorf("the response %s is of rows with different headers: %s and %s", name, known, inline(headers))
	}
	response.set("from", inline(headers))
	response.set("headers", headers)
	if response.get("content") != nil {
		return
	}
	schema := response.text("schema")
	if schema == "" {
		schema = g.schemas.nameOf(result)
	}
	if schema == "License" && !paged { // the result of an operation has the key; verdicts and events omit it
		schema = "LicenseWithKey"
	}
	if paged {
		schema += "List"
	}
	content := obj("schema", ref("schemas", schema))
	switch example := response.get("example").(type) {
	case string:
		content.set("examples", obj(example, ref("examples", example)))
	case nil:
	default:
		content.set("example", example)
	}
	response.set("media", obj(web.JSON, content))
}

// answers are the errors that show what the examples of problems say.
var answers = map[string]error{
	"not_found": api.ErrNotFound, "invalid_parameters": api.ErrInvalid, "stale": api.ErrStale, "key_taken": api.ErrKeyTaken,
	"cursor_gone": api.ErrCursorGone, "unavailable": store.ErrUnavailable, "internal": errors.New("any other error"),
}

// response completes a response with the headers that every response has, and a
// problem with its content.
func (g *generator) response(r *object) {
	if r.get("from") == nil && r.get("status") == nil && r.get("content") == nil {
		g.Errorf("no operation has the response %q", r.text("description"))
	}
	media := r.get("media")
	if example, ok := r.get("example").(*object); ok && r.get("status") != nil {
		status, err := strconv.Atoi(fmt.Sprint(r.get("status")))
		if err != nil {
			g.Fatal(err)
		}
		problem := obj("type", "about:blank", "title", http.StatusText(status), "status", status)
		problem.merge(example)
		if answer := answers[example.text("code")]; answer != nil {
			problem.set("detail", web.ProblemOf(answer).Detail)
		}
		problem.set("request_id", "req_01kaxh3vb2c4d6e8f0g1h3j5km")
		problem.order("type", "title", "status", "code", "detail", "request_id")
		media = obj("application/problem+json", obj("schema", ref("schemas", "Problem"), "example", problem))
	}
	headers := obj("X-Request-Id", ref("headers", "X-Request-Id"), "Licensing-Version", ref("headers", "Licensing-Version"), "Cache-Control", ref("headers", "No-Store"))
	if own := r.object("headers"); own.index("Cache-Control") >= 0 {
		headers.set("Cache-Control", own.get("Cache-Control"))
	}
	r.set("headers", headers.merge(r.object("headers")))
	if media != nil {
		r.set("content", media)
	}
	r.remove("from", "media", "status", "schema", "example")
	r.order("description", "headers", "content")
}

// TestAnswersThatHaveAKeyRequireIt, so that it is not optional in generated clients.
func TestAnswersThatHaveAKeyRequireIt(t *testing.T) {
	is := is.New(t)
	doc := obj()
	is.NoErr(json.Unmarshal(Description, doc))
	components := doc.object("components")
	required := func(name string) []string { return components.object("schemas").object(name).texts("required") }
	is.True(slices.Contains(required("LicenseWithKey"), "key"))
	is.True(!slices.Contains(required("License"), "key")) // of verdicts and events
	for _, m := range components.object("responses").members {
		if strings.Contains(inline(m.value), `"#/components/schemas/License"`) {
			t.Errorf("the key is optional in the response %s", m.name)
		}
	}
}
