package web

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ifMatch returns the versions of If-Match, one of which must be the current one;
// nil: there is no such header, or it is *, which requires that the resource exists,
// as every change but that of PUT does anyway. A weak or unknown tag becomes the zero
// Version, which no license has, because If-Match compares strongly (RFC 9110 section
// 13.1.1).
func ifMatch(r *http.Request) (versions []api.Version, any bool, err error) {
	tags, any, err := entityTags(r, "If-Match")
	for _, tag := range tags {
		version, _ := api.ParseVersion(strings.Trim(tag, `"`))
		versions = append(versions, version)
	}
	return versions, any, err
}

// explainStale returns err with another text, if no tag of If-Match is one that the API
// sends: it would never match, however often the client reads the record again.
func explainStale(err error, r *http.Request) error {
	versions, _, _ := ifMatch(r)
	if !errors.Is(err, api.ErrStale) || versions == nil || slices.ContainsFunc(versions, func(v api.Version) bool { return v != api.Version{} }) {
		return err
	}
	p := ProblemOf(err)
	p.Detail = "A proxy has changed the ETag: If-Match has no tag that this API sends. Turn off the compression of the API path in the proxy, and read the record again."
	return p
}

// notModified reports whether If-None-Match names a strong entity tag, so that the
// client already has the response. It compares weakly (RFC 9110 section 13.1.2).
func notModified(r *http.Request, etag string) (bool, error) {
	tags, any, err := entityTags(r, "If-None-Match")
	return any || slices.Contains(tags, etag) || slices.Contains(tags, "W/"+etag), err
}

// entityTagForm is the beginning of a list of entity tags (RFC 9110 section 8.8.3).
var entityTagForm = regexp.MustCompile(`^((?:W/)?"[^"\x00-\x20\x7f]*")[ \t]*(?:,|$)`)

// entityTags parses a header that is "*" or a list of entity tags, on one line or
// several. It returns the tags as they are, in quotes.
func entityTags(r *http.Request, name string) (tags []string, any bool, err error) {
	lines := r.Header.Values(name)
	list := strings.Join(lines, ",")
	if len(lines) == 0 || strings.Trim(list, " \t") == "*" {
		return nil, len(lines) > 0, nil
	}
	for {
		list = strings.TrimLeft(list, ", \t")
		if list == "" && tags != nil {
			return tags, false, nil
		}
		tag := entityTagForm.FindStringSubmatch(list)
		if tag == nil {
			return nil, false, invalid(api.FieldError{Header: name, Code: api.FieldInvalidFormat,
				Detail: `must be * or a list of entity tags as ETag gave them, such as "1.active" with its quotes`})
		}
		tags = append(tags, tag[1])
		list = list[len(tag[0]):]
	}
}
