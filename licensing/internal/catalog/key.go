package catalog

import "strings"

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
func keyGroups(key string) (terms []string) {
	groups := strings.Split(key, "-")
	if len(groups) != groupLength {
		return nil
	}
	for _, group := range groups {
		term := keyGroup(group)
		if term == "" {
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
	b := []byte(strings.ToUpper(s))
	for i, c := range b {
		switch {
		case c == 'I' || c == 'L':
			b[i] = '1'
		case c == 'O':
			b[i] = '0'
		case c < '0' || c > 'Z' || c > '9' && c < 'A':
			return ""
		}
	}
	return groupMark + string(b)
}
