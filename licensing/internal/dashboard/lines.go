package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entitlements and metadata are edited as text, one per line.

// formatEntitlements formats entitlements, one per line.
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

// quoteEntitlement quotes a string that parseEntitlement would not return
// unchanged.
func quoteEntitlement(s string) string {
	if x, err := parseEntitlement(s); err == nil && x == s && !strings.Contains(s, "\n") {
		return s
	}
	return quoted(s)
}

// quoted returns s as a JSON string.
func quoted(s string) string {
	b, _ := json.Marshal(s) // strings always encode
	return string(b)
}

// parseEntitlements parses the output of formatEntitlements. It returns an error
// for each invalid line.
func parseEntitlements(s string) (m map[string]any, errs []error) {
	m = map[string]any{}
	for i, line := range strings.Split(s, "\n") {
		name, value, valued := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if name == "" && !valued {
			continue
		}
		if _, twice := m[name]; name == "" || twice {
			errs = append(errs, fmt.Errorf("line %d has no name or repeats a name", i+1))
			continue
		}
		m[name] = true
		if valued {
			x, err := parseEntitlement(strings.TrimSpace(value))
			if err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", i+1, err))
				continue
			}
			m[name] = x
		}
	}
	return m, errs
}

// parseEntitlement parses the value of an entitlement: true, a number, or a
// string with or without quotation marks.
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

// formatMetadata formats metadata, one entry per line.
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

// parseMetadata parses the output of formatMetadata. It returns an error for
// each invalid line.
func parseMetadata(s string) (m map[string]string, errs []error) {
	m = map[string]string{}
	for i, line := range strings.Split(s, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, valued := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if _, twice := m[name]; name == "" || !valued || twice {
			errs = append(errs, fmt.Errorf("line %d is not name = text or repeats a name", i+1))
			continue
		}
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), &value); err != nil {
				errs = append(errs, fmt.Errorf("line %d: the quotation marks are not balanced", i+1))
				continue
			}
		}
		m[name] = value
	}
	return m, errs
}
