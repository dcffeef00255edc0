package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// etag writes a version as a strong entity tag.
func etag(v license.Version) string { return `"` + v.String() + `"` }

// ifMatch returns the versions of which one must be the present one for a
// change to happen; nil: any. A tag that is weak, or not one of ours, is kept
// as the zero Version, which no license has: If-Match compares strongly
// (RFC 9110 section 13.1.1). "If-Match: *" asks that the license exists, which
// every change does by itself.
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

// noneMatchOnRead refuses If-None-Match on a request that changes something:
// nothing here can say it better than If-Match, and to ignore it would change
// what the caller meant to protect.
func noneMatchOnRead(r *http.Request) error {
	if r.Header.Get("If-None-Match") == "" {
		return nil
	}
	return Invalid(Fault{Header: "If-None-Match", Code: license.CodeUnknown, Detail: "is for reading; use If-Match with a change"})
}

// unconditional refuses If-Match and If-None-Match on a change to what has no
// entity tag, for the same reason.
func unconditional(r *http.Request) error {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if r.Header.Get(name) != "" {
			return Invalid(Fault{Header: name, Code: license.CodeUnknown, Detail: "is for what has an ETag, which this has not; leave it out"})
		}
	}
	return nil
}

// notModified reports whether the caller already has the version: it is named
// by If-None-Match, which compares weakly (RFC 9110 section 13.1.2). The error
// is a [*license.StaleError] if an If-Match does not name it.
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

// entityTags reads a field that is "*" or a list of entity tags (RFC 9110
// section 8.8.3), on one line or on several.
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
	return Invalid(Fault{Header: header, Code: license.CodeInvalidFormat,
		Detail: `must be * or a list of entity tags as ETag gave them, such as "1.active" with its quotes`})
}

func notInTag(c rune) bool { return c < 0x21 || c == 0x7f }
