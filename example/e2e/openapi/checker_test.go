package openapi

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/matryer/is"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A checker compares answers with the description of the service.
type checker struct {
	t          *testing.T
	doc        *openapi3.T
	components any // of the document, as decoded JSON

	mu       sync.Mutex
	seen     map[string]map[int]int                     // by operationId and status, how often
	compiled map[*openapi3.SchemaRef]*jsonschema.Schema // what has been needed so far
}

// unroutedResponses describes the answers that belong to no operation: those to
// an unknown path, to a method that a path does not have, and to OPTIONS.
//
//go:embed testdata/unrouted.json
var unroutedResponses []byte

// newChecker reads the description from the service itself. It closes every
// schema: members that clients must put up with are still ours to describe.
func newChecker(t *testing.T) *checker {
	t.Helper()
	is := is.New(t)
	w := httptest.NewRecorder()
	licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)}).ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	is.Equal(w.Code, http.StatusOK)
	var raw map[string]any
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &raw))
	for name, schema := range raw["components"].(map[string]any)["schemas"].(map[string]any) {
		isOAuth := name == "TokenRequest" || name == "TokenBody" // of which unknown members are ignored (RFC 6749)
		if schema := schema.(map[string]any); schema["properties"] != nil && schema["additionalProperties"] == nil && !isOAuth {
			schema["additionalProperties"] = false
		}
	}
	var unrouted map[string]any
	is.NoErr(json.Unmarshal(unroutedResponses, &unrouted))
	maps.Copy(raw["components"].(map[string]any)["responses"].(map[string]any), unrouted)
	closed, err := json.Marshal(raw)
	is.NoErr(err)
	doc, err := openapi3.NewLoader().LoadFromData(closed)
	is.NoErr(err)
	is.NoErr(doc.Validate(t.Context()))
	var parts struct{ Components json.RawMessage }
	is.NoErr(json.Unmarshal(closed, &parts))
	components, err := jsonschema.UnmarshalJSON(bytes.NewReader(parts.Components))
	is.NoErr(err)
	return &checker{
		t: t, doc: doc, components: components,
		seen: map[string]map[int]int{}, compiled: map[*openapi3.SchemaRef]*jsonschema.Schema{},
	}
}

// around checks what passes through. It stands between the listener and the
// handler, and changes nothing.
func (c *checker) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent, answered bytes.Buffer
		asked := r.Clone(context.WithoutCancel(r.Context()))
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &sent), r.Body}
		tee := &teeWriter{ResponseWriter: w, body: &answered}
		next.ServeHTTP(tee, r)
		if err := c.check(asked, sent.Bytes(), tee.status, tee.header, answered.Bytes()); err != nil {
			c.t.Errorf("%s %s\n%s\n--- answered %d %v\n%s\n--- but: %v", asked.Method, asked.URL, &sent, tee.status, tee.header, &answered, err)
		}
	})
}

// A teeWriter keeps what it writes.
type teeWriter struct {
	http.ResponseWriter
	status int
	header http.Header // a copy from when the response began
	body   *bytes.Buffer
}

func (w *teeWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.header = status, w.Header().Clone()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *teeWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.body.Write(p)
	return w.ResponseWriter.Write(p)
}

func (w *teeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// check returns what is wrong with an answer, or with taking the request.
func (c *checker) check(r *http.Request, sent []byte, status int, header http.Header, answered []byte) error {
	route, params, err := c.find(r, status, answered)
	if err != nil {
		return err
	}
	sentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isForm := sentType == "application/x-www-form-urlencoded"
	options := &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true,
		ExcludeRequestBody: !isForm, // checkBody compiles each schema only once
	}
	asked := r.Clone(r.Context())
	asked.Body = io.NopCloser(bytes.NewReader(sent))
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	input := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route, Options: options}
	if status < 300 && route.Path != "" {
		err := openapi3filter.ValidateRequest(r.Context(), input)
		body := route.Operation.RequestBody
		isLines := sentType == "application/x-ndjson" // is taken, and each line judged by itself
		if err == nil && body != nil && !isForm && !isLines && (body.Value.Required || len(sent) > 0) {
			err = c.checkBody(body.Value.Content, sentType, sent)
		}
		if err != nil {
			return fmt.Errorf("a request that is not described was taken: %w", err)
		}
		if err := onlyDescribed(route, asked.URL.Query()); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if c.seen[route.Operation.OperationID] == nil {
		c.seen[route.Operation.OperationID] = map[int]int{}
	}
	c.seen[route.Operation.OperationID][status]++
	c.mu.Unlock()
	described := route.Operation.Responses.Status(status)
	if described == nil {
		return fmt.Errorf("the status %d is not described", status)
	}
	for name, h := range described.Value.Headers {
		if err := c.checkHeader(h.Value, header.Values(name)); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	switch {
	case r.Method == http.MethodHead:
		return nil
	case len(described.Value.Content) == 0:
		if len(answered) > 0 {
			return errors.New("no body is described")
		}
		return nil
	}
	if header.Get("Content-Encoding") == "gzip" {
		packed, err := gzip.NewReader(bytes.NewReader(answered))
		if err != nil {
			return err
		}
		if answered, err = io.ReadAll(packed); err != nil {
			return err
		}
	}
	answeredType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return c.checkBody(described.Value.Content, answeredType, answered)
}

// checkHeader compares the values of a header with its description.
func (c *checker) checkHeader(described *openapi3.Header, values []string) error {
	switch {
	case len(values) == 0 && described.Required:
		return errors.New("is missing")
	case len(values) > 1:
		return errors.New("has several values")
	case len(values) == 0 || described.Schema == nil:
		return nil
	}
	schema, err := c.compile(described.Schema)
	if err != nil {
		return err
	}
	if described.Schema.Value.Type.Includes("integer") {
		return schema.Validate(json.Number(values[0]))
	}
	return schema.Validate(values[0])
}

// checkBody compares a body with the schema of its media type. NDJSON is an array
// of its lines.
func (c *checker) checkBody(content openapi3.Content, mediaType string, body []byte) error {
	described := content[mediaType]
	if described == nil {
		return fmt.Errorf("the content type %q is not described", mediaType)
	}
	var value any
	switch {
	case mediaType == "application/jwt", mediaType == "text/csv":
		value = string(body)
	case mediaType == "application/x-ndjson":
		lines := []any{}
		for line := range bytes.Lines(body) {
			item, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err != nil {
				return fmt.Errorf("a line of the body: %w", err)
			}
			lines = append(lines, item)
		}
		value = lines
	default:
		var err error
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return fmt.Errorf("the body: %w", err)
		}
	}
	schema, err := c.compile(described.Schema)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// compile returns a schema of the document in the form that validates.
func (c *checker) compile(ref *openapi3.SchemaRef) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if schema := c.compiled[ref]; schema != nil {
		return schema, nil
	}
	data, err := json.Marshal(ref)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	resource := decoded.(map[string]any)
	resource["components"] = c.components // which its references begin with
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	const name = "mem:///schema.json"
	if err := compiler.AddResource(name, resource); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return nil, err
	}
	c.compiled[ref] = schema
	return schema, nil
}

// find returns what describes the answer to r. For a path or a method that
// there is not, that is no operation, but an answer that all paths have.
func (c *checker) find(r *http.Request, status int, answered []byte) (*routers.Route, map[string]string, error) {
	route, params := c.route(r)
	name := ""
	switch {
	case status == http.StatusNotFound && (bytes.Contains(answered, []byte(`"code":"no_such_path"`)) || route == nil && r.Method == http.MethodHead):
		name = "NoSuchPath" // also of an address that looks like an operation's until it is unescaped
	case status == http.StatusMethodNotAllowed && strings.HasPrefix(r.URL.Path, "/oauth/"):
		name = "OAuthMethodNotAllowed"
	case status == http.StatusMethodNotAllowed:
		name = "MethodNotAllowed"
	case status == http.StatusNoContent && r.Method == http.MethodOptions:
		name = "Options"
	case route == nil:
		return nil, nil, errors.New("no operation is described for that")
	default:
		return route, params, nil
	}
	operation := &openapi3.Operation{OperationID: name, Responses: openapi3.NewResponses(openapi3.WithStatus(status, c.doc.Components.Responses[name]))}
	return &routers.Route{Spec: c.doc, Operation: operation}, nil, nil
}

// route returns the operation that r asks for, or nil: of two paths that match,
// the one with fewer parameters.
func (c *checker) route(r *http.Request) (best *routers.Route, params map[string]string) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	asked := strings.Split(r.URL.EscapedPath(), "/")
	for path, item := range c.doc.Paths.Map() {
		operation := item.GetOperation(method)
		values, ok := match(strings.Split(path, "/"), asked)
		if operation != nil && ok && (best == nil || len(values) < len(params)) {
			best = &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: method, Operation: operation}
			params = values
		}
	}
	return best, params
}

// match returns what the parameters of a template stand for.
func match(template, asked []string) (values map[string]string, ok bool) {
	values = map[string]string{}
	if len(template) != len(asked) {
		return nil, false
	}
	for i, segment := range template {
		value, err := url.PathUnescape(asked[i])
		switch name, isParam := strings.CutPrefix(segment, "{"); {
		case i == 0: // what is before the first slash
		case err != nil || value == "":
			return nil, false
		case isParam:
			values[strings.TrimSuffix(name, "}")] = value
		case segment != value:
			return nil, false
		}
	}
	return values, true
}

// onlyDescribed reports a parameter that was taken and is not described.
// Endpoints of OAuth ignore those they do not know (RFC 6749 section 3.2), and so
// do those for probes, which may add some of their own.
func onlyDescribed(route *routers.Route, query url.Values) error {
	if strings.HasPrefix(route.Path, "/oauth/") || route.Path == "/health" || route.Path == "/ready" {
		return nil
	}
	for name := range query {
		if route.Operation.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("the parameter %s is not described and was taken", name)
		}
	}
	return nil
}

// saw reports whether an answer of that status to an operation passed.
func (c *checker) saw(operation string, status int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[operation][status] > 0
}
