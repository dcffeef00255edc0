package catalog

// The groups of license keys are terms of their own: an equals sign, which no
// word contains, and the group. They match only as a whole, and only for callers
// who may see keys; matching beginnings would reveal a key character by
// character.
const (
	groupMark   = "="
	groupLength = 5
)

// keyGroups returns the terms of the groups of a key in the form of generated
// keys.
func keyGroups(key string) []string {
	const length = groupLength*(groupLength+1) - 1 // as many groups as characters in one
	if len(key) != length {
		return nil
	}
	terms := make([]string, 0, groupLength)
	for i := 0; i < length; i += groupLength + 1 {
		term := keyGroup(key[i : i+groupLength])
		if term == "" || i > 0 && key[i-1] != '-' {
			return nil
		}
		terms = append(terms, term)
	}
	return terms
}

// keyGroup returns the term of a group as people type it: in any case, with I and
// L for 1 and O for 0. It is empty if s cannot be a group.
func keyGroup(s string) string {
	if len(s) != groupLength {
		return ""
	}
	var term [1 + groupLength]byte
	term[0] = groupMark[0]
	for i := range groupLength {
		c := s[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		switch {
		case c == 'I' || c == 'L':
			c = '1'
		case c == 'O':
			c = '0'
		case c < '0' || c > 'Z' || c > '9' && c < 'A':
			return ""
		}
		term[1+i] = c
	}
	return string(term[:])
}
