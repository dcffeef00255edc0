package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// GetFileKeys returns the public keys of license files as a JSON Web Key Set, for
// a build that embeds them in a program; licensefile.ParseKeys reads it. A
// program must not fetch its keys: an attacker who can change the response could
// then sign files.
func (c *Client) GetFileKeys(ctx context.Context) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, "GET /file/keys", anonymous, nil)
}

// IssueFileParams are the parameters of [Client.IssueFile]. At most one of
// Fingerprint, ActivationID and Request says what the file is bound to; a
// license with MaxActivations needs one of them.
type IssueFileParams struct {
	LicenseID    string `json:"-" path:"licenseID"`
	Lifetime     string `json:"lifetime,omitempty"`      // an ISO 8601 duration such as "P14D"; empty: the longest for a license key
	Fingerprint  string `json:"fingerprint,omitempty"`   // is activated if it has no active activation
	ActivationID string `json:"activation_id,omitempty"` // an active activation
	Request      string `json:"request,omitempty"`       // the text of a program without a network; see [Program.Request]
	ProductID    string `json:"product_id,omitempty"`    // the license must be for this product
	Nonce        string `json:"nonce,omitempty"`         // is put into the file

	IdempotencyKey string `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// IssueFile returns a license file, which holds the seat of its activation
// until it expires. It fails with [CodeNotFound], [CodeInvalidParameters] or
// the code of a verdict.
func (c *Client) IssueFile(ctx context.Context, p IssueFileParams) (LicenseFile, error) {
	return call[LicenseFile](ctx, c, "POST /license/{licenseID}/file", keyed, p)
}

// IssueFileByKeyParams are the parameters of [Client.IssueFileByKey]. Only Key
// is required. The other fields are as in [IssueFileParams].
type IssueFileByKeyParams struct {
	Key          string `json:"key"`
	Lifetime     string `json:"lifetime,omitempty"`
	Fingerprint  string `json:"fingerprint,omitempty"`
	ActivationID string `json:"activation_id,omitempty"`
	Request      string `json:"request,omitempty"`
	ProductID    string `json:"product_id,omitempty"`
	Nonce        string `json:"nonce,omitempty"`
}

// IssueFileByKey returns a license file for the license with a key, of at most
// License.OfflineSeconds. It fails as [Client.IssueFile] does. It needs no access
// token.
func (c *Client) IssueFileByKey(ctx context.Context, p IssueFileByKeyParams) (LicenseFile, error) {
	return call[LicenseFile](ctx, c, "POST /license/file", anonymous, p)
}

// VoidFilesParams are the parameters of [Client.VoidFiles].
type VoidFilesParams struct {
	LicenseID      string `json:"-" path:"licenseID"`
	Reason         string `json:"reason,omitempty"`           // kept in the event
	IfMatch        string `json:"-" header:"If-Match"`        // as in [UpdateLicenseParams]
	IdempotencyKey string `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// VoidFiles raises the generation of a license, so that programs which see the
// next revocation list refuse all files issued so far. Seats stay held until the
// files expire. It fails with [CodeNotFound] or [CodeStale].
func (c *Client) VoidFiles(ctx context.Context, p VoidFilesParams) (License, error) {
	return call[License](ctx, c, "POST /license/{licenseID}/file/void", keyed, p)
}

// GetFileRevocations returns the revocation list of a product, which
// licensefile.KeySet.VerifyRevocations verifies. It fails with [CodeNotFound].
func (c *Client) GetFileRevocations(ctx context.Context, productID string) (string, error) {
	type params struct {
		ProductID string `json:"-" query:"product_id"`
	}
	const operation = "GET /file/revocations"
	var text []byte
	err := c.do(ctx, operation, anonymous, params{productID}, func(resp *http.Response) (err error) {
		if resp.Header.Get("Content-Type") != "application/jwt" {
			return unexpected(operation, resp, "the response is not a revocation list")
		}
		text, err = io.ReadAll(io.LimitReader(resp.Body, licensefile.MaxListSize))
		return err
	})
	return string(text), err
}
