package licensefile

import "strings"

// Pasted returns the text of a license file, of a revocation list or of the answer to an
// office before mail programs and editors changed it: without white space, line
// breaks, marks of a reply, the "=" at the end of lines of quoted-printable, byte order marks
// and every other character that such a text does not have. One space is between the two
// texts of an answer. Use it for what a person pasted or saved; [KeySet.Verify] is strict.
func Pasted(text string) string {
	parts := strings.SplitN(compact(text), ".", 4)
	// After the signature, whose length is fixed, the second text of an answer begins.
	if size := base64url.EncodedLen(signatureSize); len(parts) == 4 && len(parts[2]) > size {
		parts[2] = parts[2][:size] + " " + parts[2][size:]
	}
	return strings.Join(parts, ".")
}

// compact drops the characters that no text of this package has.
func compact(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
			return c
		}
		return -1
	}, text)
}
