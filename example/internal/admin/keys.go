package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// reencrypt encrypts secrets with a new master key, also while the service runs.
func reencrypt(ctx context.Context, c *call) error {
	opts, err := c.masterKeys()
	if err != nil {
		return err
	}
	if opts.MasterKey == nil {
		return errors.New("name the file of the new master key with --master-key-file, and that of the old one with --previous-master-keys-file")
	}
	return c.with(ctx, func(db *Database) error {
		n, err := licensing.NewHandler(db, opts).ReencryptSecrets(ctx)
		fmt.Fprintf(c.out, "webhook secrets  %d\nsigning keys     %d\nsecond factors   %d\nunreadable       %d\n", n.WebhookSecrets, n.SigningKeys, n.SecondFactors, n.Unreadable)
		switch {
		case err != nil:
			return fmt.Errorf("%w; run this again to do the rest", err)
		case n.Unreadable > 0:
			return errors.New("some secrets are encrypted with another key; add it to the file that --previous-master-keys-file names")
		}
		return nil
	})
}

// signingKeys returns the manager of the keys for license files, unless the master
// key is not that of the service.
func signingKeys(ctx context.Context, db *Database, opts licensing.Options) (*files.Service, error) {
	keys := licensing.NewHandler(db, opts).Files()
	n, err := keys.SecretCounts(ctx)
	switch {
	case err != nil:
		return nil, err
	case n.Unreadable > 0 && opts.MasterKey == nil:
		return nil, errors.New("the signing keys are encrypted; name the file of the master key with --master-key-file")
	case n.Unreadable > 0:
		return nil, errors.New("the signing keys are encrypted with a key other than that of --master-key-file")
	}
	return keys, nil
}

// createKeys creates the first keys for license files, as their first use does, and
// prints the set that programs embed.
func createKeys(ctx context.Context, c *call) error {
	opts, err := c.masterKeys()
	if err != nil {
		return err
	}
	return c.with(ctx, func(db *Database) error {
		keys, err := signingKeys(ctx, db, opts)
		if err != nil {
			return err
		}
		set, err := keys.KeySet(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(c.out).Encode(set)
	})
}

// rotateKey activates the next key for license files. The previous key remains
// valid for the files that it signed.
func rotateKey(ctx context.Context, c *call) error {
	opts, err := c.masterKeys()
	if err != nil {
		return err
	}
	return c.with(ctx, func(db *Database) error {
		keys, err := signingKeys(ctx, db, opts)
		if err != nil {
			return err
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
	file, err := keys.Verify(licensefile.Pasted(string(text)))
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
