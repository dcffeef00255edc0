package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// etag formats a version as a strong entity tag.
func etag(v license.Version) string { return `"` + v.String() + `"` }

// ifMatch returns the versions of If-Match, one of which must be the current
// one; nil: any. A weak or unknown tag becomes the zero Version, which no
// license has, because If-Match compares strongly (RFC 9110 section 13.1.1).
// "If-Match: *" requires that the license exists, as every change does anyway.
func ifMatch(r *http.Request) ([]license.Version, error) {
	tags, any, err := entityTags(r, "If-Match")
	if err != nil || any {
		return nil, err
	}
	var versions []license.Version
	for _, tag := range tags {
		version, ok := tag.version()
		if !ok || tag.weak {
			version = license.Version{}
		}
		versions = append(versions, version)
	}
	return versions, nil
}

// noneMatchOnRead refuses If-None-Match on a change. Ignoring it could change
// what the client meant to protect; If-Match is supported instead.
func noneMatchOnRead(r *http.Request) error {
	if r.Header.Get("If-None-Match") == "" {
		return nil
	}
	return invalid(api.FieldError{Header: "If-None-Match", Code: license.CodeUnknown, Detail: "applies only to reads; use If-Match for changes"})
}

// unconditional refuses If-Match and If-None-Match on a change of a resource
// without an entity tag, for the same reason.
func unconditional(r *http.Request) error {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if r.Header.Get(name) != "" {
			return invalid(api.FieldError{Header: name, Code: license.CodeUnknown, Detail: "not supported: this resource has no ETag; omit the header"})
		}
	}
	return nil
}

// notModified reports whether If-None-Match names the version, so that the
// client already has it. It compares weakly (RFC 9110 section 13.1.2). It
// returns a [*license.StaleError] if an If-Match does not name the version.
func notModified(r *http.Request, v license.Version) (bool, error) {
	wanted, err := ifMatch(r)
	if err != nil {
		return false, err
	}
	if wanted != nil && !slices.Contains(wanted, v) {
		return false, &license.StaleError{Current: v}
	}
	tags, any, err := entityTags(r, "If-None-Match")
	if err != nil {
		return false, err
	}
	return any || slices.ContainsFunc(tags, func(tag entityTag) bool {
		version, ok := tag.version()
		return ok && version == v
	}), nil
}

type entityTag struct {
	weak   bool
	opaque string
}

func (t entityTag) version() (license.Version, bool) { return license.ParseVersion(t.opaque) }

// entityTags parses a header that is "*" or a list of entity tags (RFC 9110
// section 8.8.3), on one line or several.
func entityTags(r *http.Request, name string) (tags []entityTag, any bool, err error) {
	lines := r.Header.Values(name)
	if len(lines) == 0 {
		return nil, false, nil
	}
	rest := strings.Join(lines, ",")
	if strings.Trim(rest, " \t") == "*" {
		return nil, true, nil
	}
	for {
		rest = strings.TrimLeft(rest, ", \t")
		if rest == "" {
			break
		}
		var tag entityTag
		rest, tag.weak = strings.CutPrefix(rest, "W/")
		quoted, ok := strings.CutPrefix(rest, `"`)
		if !ok {
			return nil, false, malformedTags(name)
		}
		if tag.opaque, rest, ok = strings.Cut(quoted, `"`); !ok || strings.ContainsFunc(tag.opaque, notInTag) {
			return nil, false, malformedTags(name)
		}
		rest = strings.TrimLeft(rest, " \t")
		if rest != "" && rest[0] != ',' {
			return nil, false, malformedTags(name)
		}
		tags = append(tags, tag)
	}
	if len(tags) == 0 {
		return nil, false, malformedTags(name)
	}
	return tags, false, nil
}

func malformedTags(header string) error {
	return invalid(api.FieldError{Header: header, Code: license.CodeInvalidFormat,
		Detail: `must be * or a list of entity tags as ETag gave them, such as "1.active" with its quotes`})
}

func notInTag(c rune) bool { return c < 0x21 || c == 0x7f }
