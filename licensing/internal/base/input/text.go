package input

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// appendText appends the text of a JSON string to b.
func appendText(b, quoted []byte) []byte {
	rest := quoted[1 : len(quoted)-1]
	for {
		n := bytes.IndexByte(rest, '\\')
		if n < 0 {
			return append(b, rest...)
		}
		b = append(b, rest[:n]...)
		c := rest[n+1]
		rest = rest[n+2:]
		switch c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := unit(rest)
			if rest = rest[4:]; utf16.IsSurrogate(r) { // the other half follows
				r = utf16.DecodeRune(r, unit(rest[2:]))
				rest = rest[6:]
			}
			b = utf8.AppendRune(b, r)
		default: // a quotation mark or a slash
			b = append(b, c)
		}
	}
}

// textOf returns the text of a JSON string, which it copies only if that has escapes.
func textOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return appendText(make([]byte, 0, len(quoted)), quoted)
}

// unquote returns the text of a JSON string.
func unquote(quoted []byte) string { return string(textOf(quoted)) }

// unit returns the UTF-16 code unit in four hexadecimal digits, with which hex begins.
func unit(hex []byte) rune {
	n, _ := strconv.ParseUint(string(hex[:4]), 16, 16)
	return rune(n)
}

// hasLoneSurrogate reports whether a JSON string has an escape of half of a surrogate pair
// that is not beside that of the other half.
func hasLoneSurrogate(quoted []byte) bool {
	for rest := quoted; ; {
		n := bytes.IndexByte(rest, '\\')
		if n < 0 {
			return false
		}
		if rest = rest[n+1:]; rest[0] != 'u' {
			rest = rest[1:]
			continue
		}
		r := unit(rest[1:])
		if rest = rest[5:]; !utf16.IsSurrogate(r) {
			continue
		}
		if rest[0] != '\\' || rest[1] != 'u' || utf16.DecodeRune(r, unit(rest[2:])) == utf8.RuneError {
			return true
		}
		rest = rest[6:]
	}
}

// maxText is the maximum length in bytes of a string whose limit is not known here, such as the
// request text of a program.
const maxText = 8 << 10

// checkLength returns an error if a JSON string has more characters than most or, if most is 0,
// more bytes than maxText.
func checkLength(quoted []byte, most int) []api.FieldError {
	switch {
	case most > 0 && isLonger(quoted, most):
		return failed(api.FieldTooLong, fmt.Sprintf("must be at most %d characters", most))
	case most == 0 && len(quoted)-len(`""`) > maxText:
		return failed(api.FieldTooLong, fmt.Sprintf("must be at most %d bytes", maxText))
	}
	return nil
}

// isLonger reports whether a JSON string has more characters than most. It copies
// nothing of it.
func isLonger(quoted []byte, most int) bool {
	if len(quoted)-len(`""`) <= most {
		return false
	}
	n := utf8.RuneCount(quoted) - len(`""`)
	for rest := quoted; ; {
		at := bytes.IndexByte(rest, '\\')
		switch {
		case at < 0:
			return n > most
		case rest[at+1] != 'u':
			n -= len(`\n`) - 1
			rest = rest[at+2:]
		case utf16.IsSurrogate(unit(rest[at+2:])):
			n -= len(`\ud83d\ude00`) - 1
			rest = rest[at+12:]
		default:
			n -= len(`\u00e9`) - 1
			rest = rest[at+6:]
		}
	}
}
