package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/version"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// flags say how an operation is sent. Operations without flags need an access
// token and can be repeated.
type flags int

const (
	anonymous   flags = 1 << iota // without an access token
	credentials                   // with the client secret in place of an access token
	keyed                         // with an Idempotency-Key
	single                        // must not be repeated after an unknown outcome
	streamed                      // without attemptTimeout
)

const (
	attemptTimeout = 30 * time.Second // of an attempt, except for lists as NDJSON
	maxResponse    = 64 << 20
)

// call sends an operation, such as "GET /license/{licenseID}", and decodes the
// response. The tags of params, a struct or nil, say where its fields go; see
// package api.
func call[T any](ctx context.Context, c *Client, operation string, f flags, params any) (T, error) {
	var result T
	if err := c.do(ctx, operation, f, params, decode(operation, &result)); err != nil {
		return *new(T), err
	}
	return result, nil
}

// decode returns a function that decodes a success into result.
func decode[T any](operation string, result *T) func(*http.Response) error {
	return func(resp *http.Response) error {
		if !isJSON(resp.Header) {
			return unexpected(operation, resp, "the response is not JSON")
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
		if err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		*result = *new(T)
		if err := json.Unmarshal(body, result); err != nil {
			return unexpected(operation, resp, "the response has an unknown form")
		}
		if !isComplete(*result) {
			return unexpected(operation, resp, "the response has an unknown form")
		}
		return nil
	}
}

// do sends an operation with retries, and calls use with a success.
func (c *Client) do(ctx context.Context, operation string, f flags, params any, use func(*http.Response) error) error {
	r, err := c.encode(operation, f, params)
	if err != nil {
		return err
	}
	renewed := false
	return c.retry(ctx, f&single == 0, func() error {
		for {
			token, err := c.attempt(ctx, r, f, use)
			if token != "" && !renewed && errors.Is(err, api.CodeInvalidToken) {
				// The token was revoked, or the service lost it.
				renewed = true
				c.tokens.drop(token)
				continue
			}
			return err
		}
	})
}

// attempt makes one attempt within its time.
func (c *Client) attempt(ctx context.Context, r request, f flags, use func(*http.Response) error) (token string, err error) {
	if f&streamed == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
	}
	return c.send(ctx, r, f, use)
}

// send makes one attempt, and returns the access token that it used.
func (c *Client) send(ctx context.Context, r request, f flags, use func(*http.Response) error) (token string, err error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.operation, err)
	}
	req.Header = r.header.Clone()
	switch {
	case f&credentials != 0:
		if c.id == "" {
			return "", errNoCredentials
		}
		req.SetBasicAuth(url.QueryEscape(c.id), url.QueryEscape(c.secret))
	case f&anonymous == 0:
		if c.id == "" {
			return "", errNoCredentials
		}
		if token, err = c.tokens.get(ctx, c.requestToken); err != nil {
			return "", &notSentError{err}
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return token, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return token, newError(r.operation, resp)
	}
	return token, use(resp)
}

// A notSentError is the error of an attempt that had no token to send.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

// requestToken requests an access token with all scopes of the API client.
func (c *Client) requestToken(ctx context.Context) (t Token, err error) {
	r, err := c.encode("POST /oauth/token", credentials, tokenRequest{GrantType: "client_credentials"})
	if err != nil {
		return Token{}, err
	}
	_, err = c.send(ctx, r, credentials, decode(r.operation, &t))
	return t, err
}

// A request is an operation with its parameters, ready to be sent repeatedly.
type request struct {
	operation   string
	method, url string
	header      http.Header
	body        []byte
}

// encode returns the request of an operation.
func (c *Client) encode(operation string, f flags, params any) (request, error) {
	method, path, _ := strings.Cut(operation, " ")
	r := request{operation: operation, method: method, header: http.Header{}}
	r.header.Set("User-Agent", version.UserAgent("licensekit-client"))
	r.header.Set("Accept", "application/json, application/x-ndjson, application/problem+json")
	query := url.Values{}
	if c.key != "" && f&(keyed|credentials) == 0 && method != http.MethodGet {
		return request{}, fmt.Errorf("%s: has no idempotency key; call it without Once", operation)
	}
	if f&keyed != 0 {
		r.header.Set("Idempotency-Key", cmp.Or(c.key, rand.Text()))
	}
	if rows, ok := params.(ndjson); ok {
		r.body = rows
		r.header.Set("Content-Type", "application/x-ndjson")
	} else if params != nil {
		v := reflect.ValueOf(params)
		hasBody, reads := false, method == http.MethodGet || method == http.MethodDelete
		for _, field := range reflect.VisibleFields(v.Type()) {
			if field.Anonymous {
				continue
			}
			value, inPath, param := v.FieldByIndex(field.Index), "{"+field.Tag.Get("path")+"}", field.Tag.Get("query")
			isMember := !reads && memberName(field) != ""
			hasBody = hasBody || isMember
			switch {
			case strings.Contains(path, inPath):
				if value.String() == "" {
					return request{}, fmt.Errorf("%s: %s must be set", operation, field.Name)
				}
				path = strings.ReplaceAll(path, inPath, url.PathEscape(value.String()))
			case isMember, value.IsZero():
			case field.Tag.Get("header") != "":
				r.header.Set(field.Tag.Get("header"), headerText(value))
			case param != "":
				addQuery(query, param, value)
			default:
				return request{}, fmt.Errorf("%s: %s has no place in this request; it must not be set", operation, field.Name)
			}
		}
		if hasBody {
			text, err := json.Marshal(members(params))
			if err != nil {
				return request{}, fmt.Errorf("%s: %w", operation, err)
			}
			r.body = text
			r.header.Set("Content-Type", "application/json")
		}
	}
	r.url = c.base + path
	if len(query) > 0 {
		r.url += "?" + query.Encode()
	}
	return r, nil
}

// members returns the members of a struct that do not have their zero value.
func members(params any) map[string]any {
	all := map[string]any{}
	v := reflect.ValueOf(params)
	for _, field := range reflect.VisibleFields(v.Type()) {
		if name, value := memberName(field), v.FieldByIndex(field.Index); name != "" && !value.IsZero() {
			all[name] = value.Interface()
		}
	}
	return all
}

// memberName returns the name of the member that a field is; empty: it is none.
func memberName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}

// headerText returns the versions of If-Match as entity tags: if there are none,
// one that no license has.
func headerText(value reflect.Value) string {
	versions := value.Interface().([]api.Version)
	if len(versions) == 0 {
		versions = []api.Version{{}}
	}
	tags := make([]string, len(versions))
	for i, version := range versions {
		tags[i] = version.ETag()
	}
	return strings.Join(tags, ", ")
}

// addQuery adds a parameter.
func addQuery(query url.Values, name string, value reflect.Value) {
	switch v := value.Interface().(type) {
	case time.Time:
		query.Set(name, v.Format(time.RFC3339Nano))
	case []string:
		query[name] = v
	default:
		query.Set(name, fmt.Sprint(v))
	}
}
