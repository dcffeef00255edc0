package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entitlements and metadata are edited as text, one in a line.

// formatEntitlements writes entitlements one in a line.
func formatEntitlements(m map[string]any) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch x := m[name].(type) {
		case bool:
			lines = append(lines, name)
		case string:
			lines = append(lines, name+" = "+quoteEntitlement(x))
		default:
			lines = append(lines, name+" = "+formatValue(x))
		}
	}
	return strings.Join(lines, "\n")
}

// quoteEntitlement puts quotation marks around a text that would be read as
// something else.
func quoteEntitlement(s string) string {
	if x, err := parseEntitlement(s); err == nil && x == s && !strings.Contains(s, "\n") {
		return s
	}
	return quoted(s)
}

// quoted puts a text in quotation marks, as JSON does.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}

// parseEntitlements reads what formatEntitlements writes. It returns an error for each line
// that it cannot read.
func parseEntitlements(s string) (m map[string]any, wrong []error) {
	m = map[string]any{}
	for i, line := range strings.Split(s, "\n") {
		name, value, valued := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if name == "" && !valued {
			continue
		}
		if _, twice := m[name]; name == "" || twice {
			wrong = append(wrong, fmt.Errorf("line %d has no name or repeats a name", i+1))
			continue
		}
		m[name] = true
		if valued {
			x, err := parseEntitlement(strings.TrimSpace(value))
			if err != nil {
				wrong = append(wrong, fmt.Errorf("line %d: %w", i+1, err))
				continue
			}
			m[name] = x
		}
	}
	return m, wrong
}

// parseEntitlement reads the value of an entitlement: true, a number, or a text,
// which may be in quotation marks.
func parseEntitlement(s string) (any, error) {
	switch {
	case s == "":
		return nil, errors.New("the value after the equals sign is missing")
	case s == "true":
		return true, nil
	case s[0] == '"':
		var text string
		if err := json.Unmarshal([]byte(s), &text); err != nil {
			return nil, errors.New("the quotation marks are not balanced")
		}
		return text, nil
	}
	var n json.Number
	if json.Unmarshal([]byte(s), &n) == nil {
		if f, err := n.Float64(); err == nil {
			return f, nil
		}
	}
	return s, nil
}

// formatMetadata writes metadata one in a line.
func formatMetadata(m map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		if value == "" || value != strings.TrimSpace(value) || value[0] == '"' || strings.Contains(value, "\n") {
			value = quoted(value)
		}
		lines = append(lines, name+" = "+value)
	}
	return strings.Join(lines, "\n")
}

// parseMetadata reads what formatMetadata writes. It returns an error for each
// line that it cannot read.
func parseMetadata(s string) (m map[string]string, wrong []error) {
	m = map[string]string{}
	for i, line := range strings.Split(s, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, valued := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if _, twice := m[name]; name == "" || !valued || twice {
			wrong = append(wrong, fmt.Errorf("line %d is not name = text or repeats a name", i+1))
			continue
		}
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), &value); err != nil {
				wrong = append(wrong, fmt.Errorf("line %d: the quotation marks are not balanced", i+1))
				continue
			}
		}
		m[name] = value
	}
	return m, wrong
}
