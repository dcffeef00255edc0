package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// GetFileKeys returns the public keys of license files as a JSON Web Key Set, for
// a build that embeds them in a program; licensefile.ParseKeys reads it. A
// program must not fetch its keys: an attacker who can change the response could
// then sign files.
func (c *Client) GetFileKeys(ctx context.Context) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, "GET /file/keys", anonymous, nil)
}

// IssueFile returns a license file, which holds the seat of its activation
// until it expires. It fails with [api.CodeNotFound], [api.CodeInvalidParameters] or
// the code of a verdict.
func (c *Client) IssueFile(ctx context.Context, p api.IssueFileParams) (api.LicenseFile, error) {
	return call[api.LicenseFile](ctx, c, "POST /license/{licenseID}/file", keyed, p)
}

// IssueFileByKey returns a license file for the license with a key, of at most
// License.OfflineSeconds. It fails as [Client.IssueFile] does. It needs no access
// token.
func (c *Client) IssueFileByKey(ctx context.Context, p api.IssueFileByKeyParams) (api.LicenseFile, error) {
	return call[api.LicenseFile](ctx, c, "POST /license/file", anonymous, p)
}

// VoidFiles raises the generation of a license, so that programs which see the
// next revocation list refuse all files issued so far. Seats stay held until the
// files expire. It fails with [api.CodeNotFound] or [api.CodeStale].
func (c *Client) VoidFiles(ctx context.Context, p api.VoidFilesParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/file/void", keyed, p)
}

// GetFileRevocations returns the revocation list of a product or, if licenseID is not empty,
// that of one of its licenses, when the list of the product is too large. VerifyRevocations of
// licensefile.KeySet verifies it. It fails with [api.CodeNotFound].
func (c *Client) GetFileRevocations(ctx context.Context, productID, licenseID string) (string, error) {
	type params struct {
		ProductID string `json:"-" query:"product_id"`
		LicenseID string `json:"-" query:"license_id"`
	}
	const operation = "GET /file/revocations"
	var text []byte
	err := c.do(ctx, operation, anonymous, params{productID, licenseID}, func(resp *http.Response) (err error) {
		if resp.Header.Get("Content-Type") != "application/jwt" {
			return unexpected(operation, resp, "the response is not a revocation list")
		}
		text, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse))
		return err
	})
	return string(text), err
}
