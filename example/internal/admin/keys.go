package admin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// masterKeyVariable is the environment variable with Options.MasterKey, in
// base64.
const masterKeyVariable = "LICENSING_MASTER_KEY"

// rotateKey activates the next key for license files. The previous key remains
// valid for the files that it signed.
func rotateKey(ctx context.Context, c *call) error {
	opts := licensing.Options{}
	if text, set := os.LookupEnv(masterKeyVariable); set {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) < 32 {
			return errors.New(masterKeyVariable + " must be at least 32 bytes in base64") // err would reveal a part of the key
		}
		opts.MasterKey = key
	}
	return c.with(ctx, c.args[0], func(db *Database) error {
		keys := licensing.NewHandler(db, opts).Files()
		n, err := keys.SecretCounts(ctx)
		if err != nil {
			return err
		}
		switch {
		case n.Unreadable > 0 && opts.MasterKey == nil:
			return errors.New("the signing keys are encrypted; set " + masterKeyVariable)
		case n.Unreadable > 0:
			return errors.New("the signing keys are encrypted with a key other than " + masterKeyVariable)
		}
		k, err := keys.RotateKey(ctx, files.RotateKeyParams{})
		if errors.Is(err, files.ErrKeyTooNew) {
			return fmt.Errorf("%w; the dashboard can rotate it anyway", err)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "The key %s now signs license files. Embed the keys of GET /file/keys in new versions of your programs.\n", k.ID)
		return err
	})
}

// verify checks the signature of a license file, and shows what it says.
func verify(_ context.Context, c *call) error {
	jwks, err := os.ReadFile(c.args[1])
	if err != nil {
		return err
	}
	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		return fmt.Errorf("%s: %w", c.args[1], err)
	}
	text, err := os.ReadFile(c.args[0])
	if err != nil {
		return err
	}
	file, err := keys.Verify(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", c.args[0], err)
	}
	state := "is valid"
	if now := c.now(); !now.Before(file.ExpiresAt) {
		state = "has expired"
	} else if now.Before(file.NotBefore) {
		state = "is not yet valid"
	}
	bound := "any machine"
	if file.ActivationID != "" {
		bound = "activation " + file.ActivationID
	}
	_, err = fmt.Fprintf(c.out, "The signature is correct, and the file %s.\nlicense     %s\nproduct     %s\ngeneration  %d\nfor         %s\nissued      %s\nexpires     %s\n",
		state, file.LicenseID, file.ProductID, file.Generation, bound, file.IssuedAt.UTC().Format(time.RFC3339), file.ExpiresAt.UTC().Format(time.RFC3339))
	return err
}
