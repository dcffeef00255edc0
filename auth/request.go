package auth

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// A request has the parameters and credentials of a request to an OAuth endpoint.
type request struct {
	params map[string]string // known parameters that are not empty
	creds  credentials
}

// credentials are the ID and the secret that a client sends.
type credentials struct {
	id, secret string
	via        string // "basic", "form", "json" or "query"
}

// readRequest reads the named parameters and the credentials of the client. It
// ignores other parameters, as RFC 6749 section 3.2 requires.
func (a *Auth) readRequest(w http.ResponseWriter, r *http.Request, names ...string) (request, error) {
	names = append(names, "client_id", "client_secret")
	params, via, err := a.readParams(w, r, names)
	if err != nil {
		return request{}, err
	}
	req := request{params: params, creds: credentials{id: params["client_id"], secret: params["client_secret"], via: via}}

	headers := slices.DeleteFunc(slices.Clone(r.Header["Authorization"]), func(h string) bool { return h == "" })
	if len(headers) == 0 {
		a.names(r, req.creds)
		return req, nil
	}
	basic := readBasic(headers[0])
	basic.via = "basic"
	switch {
	case len(headers) > 1, params["client_secret"] != "":
		return request{}, invalidRequest("The request has credentials in more than one place; send them once.")
	case basic.id != "" && params["client_id"] != "" && params["client_id"] != basic.id:
		return request{}, invalidRequest("The client_id differs from the one in the Authorization header.")
	}
	req.creds = basic
	a.names(r, req.creds)
	return req, nil
}

// names reports the client that a request names, for the log: not what has another
// form, which may be a secret in the wrong place.
func (a *Auth) names(r *http.Request, creds credentials) {
	if wellFormed(clientPrefix, creds.id) {
		a.seen(r, creds.id, nil)
	}
}

// readBasic reads an Authorization header of the Basic scheme. It
// percent-decodes the ID and the secret, as RFC 6749 section 2.3.1 says; ours
// have no characters that need encoding. If the header is malformed, the
// credentials are empty.
func readBasic(header string) credentials {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return credentials{}
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimLeft(encoded, " "))
	if err != nil {
		return credentials{}
	}
	id, secret, ok := strings.Cut(string(raw), ":")
	if !ok {
		return credentials{}
	}
	id, idErr := url.QueryUnescape(id)
	secret, secretErr := url.QueryUnescape(secret)
	if idErr != nil || secretErr != nil {
		return credentials{}
	}
	return credentials{id: id, secret: secret}
}

// readParams reads the named parameters from the query of a GET request or the
// body of a POST request. It also returns where they were.
func (a *Auth) readParams(w http.ResponseWriter, r *http.Request, names []string) (params map[string]string, via string, err error) {
	if r.Method == http.MethodGet {
		params, err = readForm(r.URL.RawQuery, names)
		return params, "query", err
	}

	for name := range r.URL.Query() {
		if slices.Contains(names, name) {
			return nil, "", invalidRequest("Send the parameters of a POST request in its body, not in the URL.")
		}
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (mediaType != "application/x-www-form-urlencoded" && mediaType != "application/json") {
		return nil, "", invalidRequest("The Content-Type must be application/x-www-form-urlencoded or application/json.")
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, "", invalidRequest("The body must not have a Content-Encoding.")
	}
	limit := a.opts.Tokens.MaxBody
	if mediaType == "application/json" {
		limit = min(limit, maxJSON)
	}
	body, err := readBody(w, r, limit)
	if err != nil {
		return nil, "", err
	}
	if mediaType == "application/json" {
		params, err = readJSON(body, names)
		return params, "json", err
	}
	params, err = readForm(string(body), names)
	return params, "form", err
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	tooLarge := &Error{Status: http.StatusRequestEntityTooLarge, Code: "invalid_request", Description: fmt.Sprintf("The body is larger than %d bytes.", limit)}
	if r.ContentLength > limit {
		return nil, tooLarge // not read, so that a caller that waits for 100 Continue need not send it
	}
	var buffer bytes.Buffer
	buffer.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead)
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	body := buffer.Bytes()
	if err == nil && len(body) == 0 && r.ContentLength > 0 { // net/http would have returned an error
		return nil, invalidRequest("The body was read before the service got it; mount the service outside of middleware that reads bodies.")
	}
	if err == nil {
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	return nil, invalidRequest("The body ended early.")
}

// The limits of what a stranger can make the endpoints parse. A request names at most seven
// parameters, and has less than 1 KiB.
const (
	maxParameters = 30
	maxJSON       = 4 << 10 // bytes of a body in JSON, which its decoder copies several times
)

func tooManyParameters() *Error {
	return invalidRequest(fmt.Sprintf("The request has more than %d parameters.", maxParameters))
}

// readForm reads parameters that are encoded as a form.
func readForm(query string, names []string) (map[string]string, error) {
	if strings.Count(query, "&") >= maxParameters {
		return nil, tooManyParameters()
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, invalidRequest("The parameters are not in the form application/x-www-form-urlencoded.")
	}
	params := map[string]string{}
	for _, name := range names {
		switch v := values[name]; {
		case len(v) > 1:
			return nil, repeated(name)
		case len(v) == 1 && v[0] != "":
			params[name] = v[0]
		}
	}
	return params, nil
}

// readJSON reads parameters from the members of a JSON object.
func readJSON(body []byte, names []string) (map[string]string, error) {
	notObject := invalidRequest("The body is not a JSON object.")
	if !utf8.Valid(body) || bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) > maxParameters {
		return nil, notObject
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, notObject
	}
	params := map[string]string{}
	seen := map[string]bool{}
	for n := 0; d.More(); n++ {
		if n == maxParameters {
			return nil, tooManyParameters()
		}
		var value json.RawMessage
		t, err := d.Token()
		name, _ := t.(string)
		if err != nil || d.Decode(&value) != nil {
			return nil, notObject
		}
		if !slices.Contains(names, name) {
			continue
		}
		if seen[name] {
			return nil, repeated(name)
		}
		seen[name] = true
		var s string
		if value[0] != '"' || json.Unmarshal(value, &s) != nil {
			return nil, invalidRequest("The member " + name + " must be a string.")
		}
		if s != "" {
			params[name] = s
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, notObject
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, notObject
	}
	return params, nil
}

func invalidRequest(description string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_request", Description: description}
}

func repeated(name string) *Error {
	return invalidRequest("The parameter " + name + " must not be repeated.")
}
