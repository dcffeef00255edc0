package dashboard

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// keyEndOf returns the characters of the ID of a signing key that confirm a change.
func keyEndOf(id string) string { return id[max(0, len(id)-6):] }

// jwks returns the published keys as indented JSON.
func (v *visit) jwks() (string, error) {
	set, err := v.files.KeySet(v.r.Context())
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(set, "", "  ")
	return string(text) + "\n", err
}

func showSigningKeys(v *visit) error {
	keys, err1 := v.files.Keys(v.r.Context())
	jwks, err2 := v.jwks()
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	return v.render(http.StatusOK, "signingkeys", page{Title: "Signing keys", Section: "keys", Body: struct {
		Rows        []files.Key
		JWKS        string
		Unencrypted bool // a private key is stored in plain text
		pager
	}{keys, jwks, slices.ContainsFunc(keys, func(k files.Key) bool { return k.Private == files.PrivatePlain }), pager{}}})
}

func downloadSigningKeys(v *visit) error {
	text, err := v.jwks()
	if err != nil {
		return err
	}
	web.Download(v.w, "application/jwk-set+json", "license-keys.json", text)
	return nil
}

func rotateKeyForm(v *visit) (*formPage, error) {
	keys, err := v.files.Keys(v.r.Context())
	if err != nil {
		return nil, err
	}
	p := newFormPage("keys", lists["keys"], "Rotate signing key", "The ring has no next key. Add one in Go with Files().AddKey or Options.SigningKeys.")
	p.Action, p.Once, p.done = "Rotate key", true, "The next key signs license files now."
	i := slices.IndexFunc(keys, func(k files.Key) bool { return k.State == files.KeyNext })
	if i < 0 {
		p.do = func(*visit) (string, error) { return "", keyConflict(files.ErrNoNextKey) }
		return p, nil
	}
	next := keys[i]
	p.Text = []string{
		"The key " + next.ID + ", published since " + v.moment(next.CreatedAt).Full + ", signs license files from now on.",
		"The active key no longer signs, and the license files that it signed stay valid.",
	}
	p.Form.Hidden["next"] = next.ID
	if v.h.opts.Now().Sub(next.CreatedAt) < files.MinPublished {
		p.Form.add(&field{Name: "force", Label: "Published for less than 90 days", Type: "checkbox", Options: []option{
			{Value: "1", Label: "Rotate anyway", Hint: "Programs that pin the keys of an earlier version may not know the new key. They refuse its license files."},
		}})
	}
	p.do = func(tx *visit) (string, error) {
		if next.ID != v.sent("next") {
			return "", conflictError("The keys were changed after you opened this page. Check the next key and submit again.")
		}
		_, err := tx.files.RotateKey(v.r.Context(), files.RotateKeyParams{Algorithm: next.Algorithm, Force: v.sent("force") != ""})
		if errors.Is(err, files.ErrKeyTooNew) {
			p.Form.addError("force", "Select this to rotate now, or wait until the next key has been published for 90 days.")
			err = nil
		}
		return "", keyConflict(err)
	}
	return p, nil
}

// keyConflict returns the reason why the ring did not change, or any other error.
func keyConflict(err error) error {
	switch {
	case errors.Is(err, files.ErrNoNextKey):
		return conflictError("There is no next key to activate.")
	case errors.Is(err, files.ErrNoPrivateKey):
		return conflictError("The private half of the next key is kept elsewhere. Pass it in Go with Files().RotateKey or Files().CondemnKey.")
	}
	return err
}

func (v *visit) signingKey() (files.Key, error) {
	keys, err := v.files.Keys(v.r.Context())
	if err != nil {
		return files.Key{}, err
	}
	i := slices.IndexFunc(keys, func(k files.Key) bool { return k.ID == v.r.PathValue("id") })
	if i < 0 {
		return files.Key{}, notFound("This signing key does not exist.")
	}
	if keys[i].State == files.KeyCompromised {
		return files.Key{}, web.NewProblem(http.StatusConflict, "key_state", "This key is already marked as compromised.")
	}
	return keys[i], nil
}

func compromiseKeyForm(v *visit, k files.Key) (*formPage, error) {
	p := newFormPage("keys", lists["keys"], "Mark signing key as compromised",
		"Key ID: "+k.ID, "The key leaves the published keys, and programs refuse its license files once they see a revocation list that names it. This cannot be undone.")
	p.Form = newForm(typedField("key", "Last 6 characters of the key ID", keyEndOf(k.ID), "These are not the last 6 characters of the key ID."))
	p.Action, p.Danger, p.done = "Mark as compromised", true, "The key has been marked as compromised."
	p.do = func(tx *visit) (string, error) {
		_, err := tx.files.CondemnKey(v.r.Context(), files.CondemnKeyParams{ID: k.ID})
		return "", keyConflict(err)
	}
	if k.State == files.KeyActive {
		p.Text = append(p.Text, "The next key becomes active immediately, however new it is.")
	}
	return p, nil
}
