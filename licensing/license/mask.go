package license

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// maskedEnd is the number of characters at the end of a key that a masked key
// shows.
const maskedEnd = 4

// shown returns l as the caller may see it.
func (s *Service) shown(l api.License) api.License {
	if s.caller.MaskKeys {
		l.Key = maskKey(l.Key)
	}
	return l
}

// maskKey returns the last characters of a key after an ellipsis.
func maskKey(key string) string {
	if len(key) < minKeyLength {
		return ""
	}
	return "…" + key[len(key)-maskedEnd:]
}
