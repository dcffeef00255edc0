package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// An Endpoint is the function of a [Route], with typed parameters and a typed
// result. The two types and the route determine how the request is decoded and
// the result is encoded.
//
// The tags of a parameter struct say where its values stand: path:"licenseID" in
// the path, in place of {licenseID}, and header:"If-Match" in that header, as
// versions. Without the latter, the request must not have preconditions. Package
// input maps the others, from the query for GET and DELETE, from the body for any
// other method.
type Endpoint struct {
	Params reflect.Type
	Result reflect.Type // of a list, that of an element; nil: the endpoint writes lines
	Paged  bool         // the result is a page of a list
	cursor bool         // the parameters have the cursor of a page
	form   *input.Struct
	key    *input.Field // the license key that is the credential; nil: none is
	match  *input.Field // the versions of If-Match; nil: the endpoint has no ETag
	check  func(rules *license.Service, params any) []api.FieldError
	do     func(ctx context.Context, rules *license.Service, params any) (any, error)
	// parts returns the parts of do for a request with an Idempotency-Key.
	parts  func(ctx context.Context, rules *license.Service, params any) (prepare func() error, change func(*license.Service) (any, error))
	stream func(ctx context.Context, rules *license.Service, params any, body []byte, w io.Writer) error
}

// Do returns an Endpoint for a function with one result. If a member of the body
// cannot be decoded, check is called instead of the function, so that all errors
// of the body are reported together. Without it, that is the check of package
// license.
func Do[P, R any](fn func(*license.Service, context.Context, P) (R, error), check ...func(*license.Service, *P) []api.FieldError) *Endpoint {
	e := &Endpoint{
		Params: reflect.TypeFor[P](), form: input.Of(reflect.TypeFor[P]()), Result: reflect.TypeFor[R](),
		do: func(ctx context.Context, rules *license.Service, params any) (any, error) {
			result, err := fn(rules, ctx, *params.(*P))
			return &result, err
		},
	}
	e.parts = func(ctx context.Context, _ *license.Service, params any) (func() error, func(*license.Service) (any, error)) {
		return nil, func(in *license.Service) (any, error) { return e.do(ctx, in, params) }
	}
	e.check = func(rules *license.Service, params any) []api.FieldError {
		if len(check) > 0 {
			return check[0](rules, params.(*P))
		}
		return inner.Of(rules).Faults(params)
	}
	for i := range e.form.Fields {
		switch f := &e.form.Fields[i]; {
		case f.Is("credential"):
			e.key = f
		case f.Header != "":
			e.match = f
		}
	}
	return e
}

// DoInParts is Do with a function that returns the parts of fn for requests with an
// Idempotency-Key: what comes before the Update, and the rest, in place of fn inside
// [license.Service.Once].
func DoInParts[P, R any](fn func(*license.Service, context.Context, P) (R, error),
	parts func(*license.Service, context.Context, P) (prepare func() error, change func(*license.Service) (R, error)),
) *Endpoint {
	e := Do(fn)
	e.parts = func(ctx context.Context, rules *license.Service, params any) (func() error, func(*license.Service) (any, error)) {
		prepare, change := parts(rules, ctx, *params.(*P))
		return prepare, func(in *license.Service) (any, error) {
			result, err := change(in)
			return &result, err
		}
	}
	return e
}

// List returns an Endpoint for a function that returns a page of a list.
func List[P, T any](fn func(*license.Service, context.Context, P) (api.Page[T], error)) *Endpoint {
	e := Do(func(rules *license.Service, ctx context.Context, p P) (list, error) {
		page, err := fn(rules, ctx, p)
		return listOf(&page), err
	})
	e.Result, e.Paged = reflect.TypeFor[T](), true
	_, e.cursor = e.Params.FieldByName("Cursor")
	return e
}

// Stream returns an Endpoint for a function that writes NDJSON line by line, or the
// Media of its route. It gets the body if that is NDJSON too. Its route needs a Scope, for which each write
// authorizes the request again: if that fails, the function must return the error.
func Stream[P any](fn func(rules *license.Service, ctx context.Context, p P, body []byte, w io.Writer) error) *Endpoint {
	return &Endpoint{
		Params: reflect.TypeFor[P](), form: input.Of(reflect.TypeFor[P]()),
		stream: func(ctx context.Context, rules *license.Service, params any, body []byte, w io.Writer) error {
			return fn(rules, ctx, *params.(*P), body, w)
		},
	}
}

// reads reports whether the parameters of a route stand in its query.
func (rt *Route) reads() bool { return rt.Method == http.MethodGet || rt.Method == http.MethodDelete }

// serve handles an authorized request: it reads the parameters, from the path
// to the body, and calls the function.
func (e *Endpoint) serve(x *exchange, r *http.Request, route *Route) error {
	params := reflect.New(e.Params)
	key, err := idempotencyKeyFor(r, route)
	if err = cmp.Or(e.readQuery(r, route, params), e.readConditions(r, route, params), err); err != nil {
		return err
	}
	for i := range e.form.Fields {
		if f := &e.form.Fields[i]; f.Path != "" {
			f.In(params).SetString(r.PathValue(f.Path))
		}
	}
	rules := x.site.rules(x, r, route)
	buffer := bodies.Get().(*bytes.Buffer)
	defer freeBody(buffer)
	body, err := e.readMembers(x, r, buffer, route, rules, params)
	if err != nil {
		return err
	}
	switch {
	case e.stream != nil:
		out := guardedStream{x, r}
		if err = out.authorize(); err != nil { // the body may have taken long
			return err
		}
		x.Header().Set("Content-Type", cmp.Or(route.Media, NDJSON))
		if err = e.stream(r.Context(), rules, params.Interface(), body, out); err == nil {
			_, err = x.Write(nil) // begins the response if no line has
		}
	case key != "":
		err = e.serveOnce(x, r, route, rules, key, body, params.Interface())
	default:
		var result any
		if result, err = e.do(r.Context(), rules, params.Interface()); err == nil {
			err = e.answer(x, r, route, result)
		}
	}
	return explainStale(e.located(err, route, 0), r)
}

// rules returns a Service that acts for the client of r, or for a license key
// holder if the route needs no token.
func (s *Site) rules(x *exchange, r *http.Request, route *Route) *license.Service {
	caller := license.Caller{RequestID: x.id}
	if x.grant.ClientID != "" {
		caller.Actor, caller.Products = "client:"+x.grant.ClientID, x.grant.Products
	} else if route.Do.key != nil { // the only calls that record it
		if ip := s.cfg.clientAddress(r); ip.IsValid() {
			caller.Address = ip.String()
		}
	}
	return s.cfg.Rules.As(caller)
}

func (e *Endpoint) readQuery(r *http.Request, route *Route, params reflect.Value) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	errs := e.form.Query(params, values, route.reads())
	switch {
	case route.Probe:
	case err != nil:
		return invalid(api.FieldError{Code: api.FieldInvalidFormat, Detail: "The query is malformed; percent-encode its values"})
	case len(errs) > 0:
		return invalid(parameters(errs)...)
	}
	return nil
}

// located returns err, which a rule has returned. If it is about parameters, it
// says where in the request each stands; the first members of its list are members
// of the body. The rules name a parameter of the path as its field in Go, in lower
// case, with or without underscores.
func (e *Endpoint) located(err error, route *Route, members int) error {
	refused, ok := errors.AsType[*api.InvalidError](err)
	switch {
	case !ok:
		return err
	case !route.reads():
	case slices.ContainsFunc(refused.Fields, func(f api.FieldError) bool { return f.Field != route.Judged }):
		return invalid(parameters(refused.Fields)...)
	default:
		return unprocessable(parameters(refused.Fields)...)
	}
	p := ProblemOf(err)
	for i := members; i < len(p.Errors); i++ {
		name := strings.ReplaceAll(refused.Fields[i].Field, "_", "")
		for _, f := range e.form.Fields {
			if strings.EqualFold(f.GoName, name) && strings.Contains(route.Path, "{"+f.Path+"}") {
				p.Errors[i].Pointer, p.Errors[i].Parameter = "", f.Path
			}
		}
	}
	return p
}

// parameters returns faults whose fields are parameters of the query.
func parameters(errs []api.FieldError) []api.FieldError {
	all := make([]api.FieldError, len(errs))
	for i, e := range errs {
		all[i] = api.FieldError{Parameter: e.Field, Code: e.Code, Detail: e.Detail}
	}
	return all
}

// readConditions reads the preconditions of a change. Preconditions of a read
// are evaluated with its result.
func (e *Endpoint) readConditions(r *http.Request, route *Route, params reflect.Value) error {
	if route.Method == http.MethodGet {
		return nil
	}
	refused, detail := []string{"If-Match", "If-None-Match"}, "not supported: this resource has no ETag; omit the header"
	if e.match != nil {
		refused, detail = refused[1:], "applies only to reads; use If-Match for changes"
	}
	for _, header := range refused { // to ignore it could change what the client meant to protect
		if r.Header.Get(header) != "" {
			return invalid(api.FieldError{Header: header, Code: api.FieldUnknown, Detail: detail})
		}
	}
	if e.match == nil {
		return nil
	}
	versions, any, err := ifMatch(r)
	if any && route.Method == http.MethodPut {
		return invalid(api.FieldError{Header: "If-Match", Code: api.FieldInvalidFormat, Detail: "must name the ETag of the version to replace"})
	}
	e.match.In(params).Set(reflect.ValueOf(versions))
	return err
}

// readMembers reads the body of r into the parameters, and returns it, which is in the buffer. A
// request whose parameters have no members must not have a body.
func (e *Endpoint) readMembers(x *exchange, r *http.Request, buffer *bytes.Buffer, route *Route, rules *license.Service, params reflect.Value) (body []byte, err error) {
	switch {
	case route.Probe:
		return nil, nil
	case route.Rows > 0:
		return readBody(x, r, buffer, route.Rows, []string{NDJSON})
	case route.reads() || !e.form.HasMembers():
		if hasBody(r) { // to ignore it would ignore what the client meant
			return nil, NewProblem(http.StatusBadRequest, api.CodeUnexpectedBody, "This request does not take a body; omit it.")
		}
		return nil, nil
	}
	var members input.Object
	if !route.OptionalBody || hasBody(r) {
		types := []string{JSON}
		if route.Method == http.MethodPatch {
			types = append(types, MergePatch)
		}
		body, err = readBody(x, r, buffer, max(x.site.cfg.MaxBody, route.Body), types)
		if err == nil {
			members, err = input.JSON(body)
		}
		if err != nil {
			return nil, err
		}
	}
	errs := e.form.Body(params, members)
	for i, f := range errs {
		switch {
		case f.Code != api.FieldUnknown || !e.inResult(f.Field):
		case route.Method == http.MethodPatch:
			errs[i].Code, errs[i].Detail = api.FieldImmutable, "cannot be changed by a patch; omit it"
		case route.Method == http.MethodPut || route.Status == http.StatusCreated:
			errs[i].Code, errs[i].Detail = api.FieldImmutable, "is set by the service; omit it"
		}
	}
	if e.key != nil {
		if err := x.site.limitKey(r, e.key.In(params).String()); err != nil {
			return nil, err
		}
	}
	if len(errs) > 0 {
		all := input.All(errs, func() []api.FieldError { return e.check(rules, params.Interface()) })
		return nil, e.located(&api.InvalidError{Fields: all}, route, len(errs))
	}
	return body, nil
}

// inResult reports whether the result has a member of that name.
func (e *Endpoint) inResult(name string) bool {
	return e.Result.Kind() == reflect.Struct && slices.ContainsFunc(reflect.VisibleFields(e.Result), func(f reflect.StructField) bool {
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return member == name && name != "" && name != "-"
	})
}
