package licensingtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A transcript holds all requests and responses in order, with everything that
// differs between runs masked. It is the same for every store.
type transcript struct {
	exchanges []string
	masks     map[string]string
	counts    map[string]int
}

func newTranscript() *transcript {
	return &transcript{masks: map[string]string{}, counts: map[string]int{}}
}

// random matches random values: IDs, credentials, license keys, cursors,
// signing keys and what they sign, digests, and request IDs. The masks contain the group names.
var random = regexp.MustCompile(`` +
	`(?P<id>[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}\b)` +
	`|(?P<credential>[a-z]{3}_[0-9A-Za-z]{49}\b)` +
	`|(?P<key>\b[0-9A-HJKMNP-TV-Z]{5}(?:-[0-9A-HJKMNP-TV-Z]{5}){4}\b)` +
	`|"next_cursor":"(?P<cursor>[^"]+)"` +
	`|\bcursor=(?P<cursor>[^&>"\s]+)` +
	`|"(?:x|kid)":"(?P<jwk>[0-9A-Za-z_-]{43})"` +
	`|(?P<jws>\beyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+)` +
	`|(?i:etag|if-none-match): "(?P<digest>[0-9A-Za-z_-]{22})"` +
	`|"request_id":"(?P<request>[^"]+)"`)

// mask replaces each random value by its kind and a number. Equal values get the
// same number. It looks only around long words, because most of a response is
// short ones and the expression is slow.
func (tr *transcript) mask(s string) string {
	var b strings.Builder
	at := 0 // s[:at] is written
	for i := 0; i < len(s); {
		if !wordByte(s[i]) {
			i++
			continue
		}
		end := i
		for end < len(s) && wordByte(s[end]) {
			end++
		}
		if end-i < shortest {
			i = end
			continue
		}
		from := max(at, i-longestPrefix)
		if n := strings.IndexAny(s[end:], "\"&> \n"); n >= 0 {
			end = min(end+n+1, len(s))
		} else {
			end = len(s)
		}
		i = end
		if m := random.FindStringSubmatchIndex(s[from:end]); m != nil {
			for group, kind := range random.SubexpNames() {
				if kind != "" && m[2*group] >= 0 {
					b.WriteString(s[at : from+m[2*group]])
					i = from + m[2*group+1]
					b.WriteString(tr.maskOf(kind, s[from+m[2*group]:i]))
					at = i
				}
			}
		}
	}
	return b.String() + s[at:]
}

// What random matches has a word of at least shortest bytes, and at most
// longestPrefix bytes before it.
const (
	shortest      = 20
	longestPrefix = len(`if-none-match: "`)
)

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_' || c == '.'
}

func (tr *transcript) maskOf(kind, text string) string {
	if mask, known := tr.masks[text]; known {
		return mask
	}
	tr.counts[kind]++
	mask := fmt.Sprintf("<%s %d>", kind, tr.counts[kind])
	tr.masks[text] = mask
	return mask
}

// unlike lists headers that differ for reasons other than the store.
var unlike = []string{"Date", "Content-Length", "X-Request-Id"}

// add records one exchange.
func (tr *transcript) add(request string, an *answer) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d\n", request, an.status)
	names := make([]string, 0, len(an.header))
	for name := range an.header {
		if !slices.Contains(unlike, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(an.header[name], "\n"+name+": "))
	}
	fmt.Fprintf(&b, "\n%s", an.body)
	tr.exchanges = append(tr.exchanges, tr.mask(b.String()))
}

// diff describes the first difference between got and want, or is empty.
func (tr *transcript) diff(want *transcript) string {
	for i := range max(len(tr.exchanges), len(want.exchanges)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(tr.exchanges) {
			g = tr.exchanges[i]
		}
		if i < len(want.exchanges) {
			w = want.exchanges[i]
		}
		if g != w {
			return fmt.Sprintf("exchange %d\n--- on this backend\n%s\n--- on store/memory\n%s", i+1, g, w)
		}
	}
	return ""
}
