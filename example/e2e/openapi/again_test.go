package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// choose returns the next request: one that is made from the description, or one that
// follows from what was sent and answered before.
func (f *fuzzer) choose(to target) request {
	g := &f.grammar
	changes := slices.IndexFunc(f.targets, func(t target) bool {
		return t.path == f.last.to.path && (t.method == http.MethodPatch || t.method == http.MethodPut)
	})
	switch taken := f.taken[to.operation.OperationID]; {
	case f.read != nil && changes >= 0 && !f.in(3):
		return f.roundTrip(f.targets[changes])
	case f.last.path != "" && f.in(30): // whatever it was answered
		f.last.defect = nil
		return f.last
	case len(taken) > 0 && f.in(3):
		return f.again(pick(g, taken...))
	}
	return f.request(to)
}

// take keeps a request that was accepted, and its answer.
func (f *fuzzer) take(r request, answer []byte) {
	if r.defect = nil; r.method == r.to.method && len(r.body) < 2000 {
		id := r.to.operation.OperationID
		f.taken[id] = last(append(f.taken[id], r))
	}
	for _, body := range [][]byte{[]byte(r.body), answer} {
		if members := object(string(body)); members != nil && len(body) < 2000 {
			f.earlier = last(append(f.earlier, members))
		}
	}
	if r.method == http.MethodGet {
		f.read = answer
	}
}

// last returns what is kept of a list.
func last[T any](all []T) []T { return all[max(0, len(all)-kept):] }

// object returns the members of an object, or nil.
func object(text string) (members map[string]json.RawMessage) {
	json.Unmarshal([]byte(text), &members)
	return members
}

// join writes an object, the values of which may be no JSON.
func join(members map[string]json.RawMessage, more ...string) string {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		more = append(more, fmt.Sprintf("%q:%s", name, members[name]))
	}
	return "{" + strings.Join(more, ",") + "}"
}

// again returns a request that was accepted, with another token, and with or without
// a difference.
func (f *fuzzer) again(r request) request {
	r.header = maps.Clone(r.header)
	if f.in(2) { // without its conditions and its Idempotency-Key
		maps.DeleteFunc(r.header, func(name, _ string) bool { return name != "Content-Type" })
	}
	delete(r.header, "Authorization")
	f.authorize(r.to, r.header)
	if f.in(4) {
		r.path, r.inPath = f.path(r.to)
	}
	mediaType, _, _ := mime.ParseMediaType(r.header["Content-Type"])
	if described := r.to.operation.RequestBody; described != nil && described.Value.Content[mediaType] != nil && !f.in(3) {
		schema, varied := described.Value.Content[mediaType].Schema.Value, r.body
		if schema.Items != nil { // NDJSON
			schema, varied = schema.Items.Value, pick(&f.grammar, strings.Split(r.body, "\n")...)
		}
		f.vary(&r, varied, schema)
	}
	return r
}

// vary gives an object of a body another value, or a member more or less. By mistake,
// it has a member twice.
func (f *fuzzer) vary(r *request, varied string, schema *openapi3.Schema) {
	members := object(varied)
	if members == nil || len(schema.Properties) == 0 {
		return
	}
	name := pick(&f.grammar, slices.Sorted(maps.Keys(schema.Properties))...)
	if len(members) > 0 && f.in(2) {
		name = pick(&f.grammar, slices.Sorted(maps.Keys(members))...)
	}
	value, has := members[name]
	var twice []string
	switch {
	case has && f.mistake(3) && varied == r.body && schema.Properties[name] != nil: // a line is refused with status 200
		twice = []string{fmt.Sprintf("%q:%s", name, value)}
		r.defect = func(status int, _ []byte) error {
			if status < 300 {
				return fmt.Errorf("the member %s was taken twice", name)
			}
			return nil
		}
	case has && f.in(2) && (f.wild || !slices.Contains(schema.Required, name)):
		delete(members, name)
	case schema.Properties[name] != nil:
		var b strings.Builder
		f.write(&b, name, schema.Properties[name].Value, 1)
		members[name] = json.RawMessage(b.String())
	}
	r.body = strings.Replace(r.body, varied, join(members, twice...), 1)
}

// roundTrip returns a request that writes what the last one read, so it changes
// nothing, and is not refused for what it has.
func (f *fuzzer) roundTrip(to target) request {
	const mediaType = "application/json"
	content := to.operation.RequestBody.Value.Content
	members := object(string(f.read))
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool {
		return content[mediaType].Schema.Value.Properties[name] == nil
	})
	if len(members) == 0 { // a list
		return f.request(to)
	}
	f.wild = false
	r := request{to: to, method: to.method, path: f.last.path, inPath: f.last.inPath, header: map[string]string{"Content-Type": mediaType}, body: join(members)}
	f.authorize(to, r.header)
	r.defect = func(status int, answer []byte) error {
		isInvalid := status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
		if isInvalid && f.c.checkBody(content, mediaType, []byte(r.body)) == nil {
			return fmt.Errorf("what was read is refused")
		}
		for name, value := range object(string(answer)) {
			if sent, ok := members[name]; ok && status < 300 && !bytes.Equal(sent, value) {
				return fmt.Errorf("%s was read and written, and has changed", name)
			}
		}
		return nil
	}
	return r
}
