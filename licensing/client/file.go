package client

import (
	"context"
	"encoding/json"
)

// GetFileKeys returns the public keys of license files as a JSON Web Key Set, for
// a build that embeds them in a program; licensefile.ParseKeys reads it. A
// program must not fetch its keys: an attacker who can change the response could
// then sign files.
func (c *Client) GetFileKeys(ctx context.Context) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, "GET /file/keys", anonymous, nil)
}
