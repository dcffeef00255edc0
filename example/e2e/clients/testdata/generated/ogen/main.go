// The program uses the client that ogen generates for a session with one license.
// It prints what the service answers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ogen-go/ogen/ogenerrors"

	"example.com/session/licensekit"
)

// credentials are those of an API client, and its token when there is one.
type credentials struct{ id, secret, token string }

func (c *credentials) Basic(context.Context, licensekit.OperationName) (licensekit.Basic, error) {
	return licensekit.Basic{Username: c.id, Password: c.secret}, nil
}

func (c *credentials) OAuth2(context.Context, licensekit.OperationName) (licensekit.OAuth2, error) {
	return licensekit.OAuth2{Token: c.token}, nil
}

// Bearer skips the scheme, because OAuth2 sends the same token.
func (c *credentials) Bearer(context.Context, licensekit.OperationName) (licensekit.Bearer, error) {
	return licensekit.Bearer{}, ogenerrors.ErrSkipClientSecurity
}

// is returns an answer as the type that is expected.
func is[T any](answer any, err error) T {
	expected, ok := answer.(T)
	if err != nil || !ok {
		fmt.Fprintf(os.Stderr, "the answer is %T %+v (%v), not %T\n", answer, answer, err, expected)
		os.Exit(1)
	}
	return expected
}

func main() {
	ctx := context.Background()
	as := &credentials{id: os.Getenv("CLIENT_ID"), secret: os.Getenv("CLIENT_SECRET")}
	c, err := licensekit.NewClient(os.Getenv("BASE"), as)
	if err != nil {
		panic(err)
	}
	token := is[*licensekit.TokenHeaders](c.IssueToken(ctx, &licensekit.IssueTokenApplicationJSON{GrantType: "client_credentials"}))
	as.token = token.Response.AccessToken

	license := is[*licensekit.LicenseCreatedHeaders](c.CreateLicense(ctx, &licensekit.CreateLicenseBody{
		Name: "ogen", ProductID: licensekit.NewOptString("atlas"), CustomerID: "ogen", MaxActivations: licensekit.NewOptNilInt(1),
		Entitlements: licensekit.NewOptNilCreateLicenseBodyEntitlements(licensekit.CreateLicenseBodyEntitlements{"export": licensekit.NewBoolCreateLicenseBodyEntitlementsItem(true)}),
	}, licensekit.CreateLicenseParams{})).Response
	list := is[*licensekit.LicensesHeaders](c.ListLicenses(ctx, licensekit.ListLicensesParams{CustomerID: licensekit.NewOptString("ogen")})).Response
	verdict := is[*licensekit.VerdictOnlyHeaders](c.ActivateKey(ctx, &licensekit.ActivateKeyBody{Key: license.Key, Fingerprint: "host-1"})).Response
	conflict := is[*licensekit.ConflictHeaders](c.ActivateKey(ctx, &licensekit.ActivateKeyBody{Key: license.Key, Fingerprint: "host-2"})).Response
	stale := is[*licensekit.StaleHeaders](c.UpdateLicenseByID(ctx,
		&licensekit.UpdateLicenseByIDApplicationMergePatchJSON{Name: licensekit.NewOptString("renamed")},
		licensekit.UpdateLicenseByIDParams{LicenseID: license.ID, IfMatch: licensekit.NewOptString(`"0.active"`)})).Response
	other := is[*licensekit.VerdictOnlyHeaders](c.ValidateKey(ctx, &licensekit.ValidateKeyBody{Key: license.Key, Fingerprint: licensekit.NewOptString("host-2")})).Response
	events := is[*licensekit.EventsHeaders](c.ListEvents(ctx, licensekit.ListEventsParams{Type: []string{"license.*", "activation.created"}, Subject: licensekit.NewOptString(license.ID)})).Response
	deleted := is[*licensekit.DeletedHeaders](c.DeleteLicense(ctx, licensekit.DeleteLicenseParams{LicenseID: license.ID})).Response

	var names, types []string
	for _, l := range list.Data {
		names = append(names, l.Name)
	}
	for _, e := range events.Data {
		types = append(types, e.Type)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"listed": names, "activated": verdict.Activation.Value.Fingerprint,
		"conflict": conflict.Code, "refused": conflict.Verdict.Value.Code, "stale": stale.Code,
		"verdict": other.Code, "licensed": other.License.Value.CustomerID,
		"events": types, "data": map[string]bool{"export": events.Data[0].Data.License.Value.Entitlements["export"].Bool},
		"deleted": deleted.Deleted && deleted.ID == license.ID,
	})
}
