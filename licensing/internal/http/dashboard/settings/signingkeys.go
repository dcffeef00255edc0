package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// KeyEndOf returns the characters of the ID of a signing key that confirm a change.
func KeyEndOf(id string) string { return id[max(0, len(id)-6):] }

// jwksOf returns the published keys as indented JSON.
func jwksOf(v *kit.Visit) (string, error) {
	set, err := v.Files.KeySet(v.R.Context())
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(set, "", "  ")
	return string(text) + "\n", err
}

func ShowSigningKeys(v *kit.Visit) error {
	keys, err1 := v.Files.Keys(v.R.Context())
	jwks, err2 := jwksOf(v)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	return v.Render(http.StatusOK, "signingkeys", kit.Page{Title: "Signing keys", Section: "keys", Body: struct {
		Rows        []files.Key
		JWKS        string
		Unencrypted bool // a private key is stored in plain text
		kit.Pager
	}{keys, jwks, slices.ContainsFunc(keys, func(k files.Key) bool { return k.Private == files.PrivatePlain }), kit.Pager{}}})
}

func DownloadSigningKeys(v *kit.Visit) error {
	text, err := jwksOf(v)
	if err != nil {
		return err
	}
	web.Download(v.W, "application/jwk-set+json", "license-keys.json", text)
	return nil
}

func RotateKeyForm(v *kit.Visit) (*forms.FormPage, error) {
	keys, err := v.Files.Keys(v.R.Context())
	if err != nil {
		return nil, err
	}
	p := forms.NewFormPage("keys", kit.Lists["keys"], "Rotate signing key", "The ring has no next key."+v.Opts.Says(" Add one in Go with Files().AddKey or Options.SigningKeys.", ""))
	p.Action, p.Once, p.Done = "Rotate key", true, "The next key signs license files now."
	i := slices.IndexFunc(keys, func(k files.Key) bool { return k.State == files.KeyNext })
	if i < 0 {
		p.Do = func(*kit.Visit) (string, error) { return "", keyConflict(files.ErrNoNextKey) }
		return p, nil
	}
	next := keys[i]
	p.Text = []string{
		"The key " + next.ID + ", published since " + v.Moment(next.CreatedAt).Full + ", signs license files from now on.",
		"The active key no longer signs, and the license files that it signed stay valid.",
	}
	p.Form.Hidden["next"] = next.ID
	if v.Opts.Now().Sub(next.CreatedAt) < files.MinPublished {
		p.Form.Add(&forms.Field{Name: "force", Label: "Published for less than 90 days", Type: "checkbox", Options: []forms.Option{
			{Value: "1", Label: "Rotate anyway", Hint: "Programs that pin the keys of an earlier version may not know the new key. They refuse its license files."},
		}})
	}
	p.Do = func(tx *kit.Visit) (string, error) {
		if next.ID != v.Sent("next") {
			return "", forms.ConflictError("The keys were changed after you opened this page. Check the next key and submit again.")
		}
		_, err := tx.Files.RotateKey(v.R.Context(), files.RotateKeyParams{Algorithm: next.Algorithm, Force: v.Sent("force") != ""})
		if errors.Is(err, files.ErrKeyTooNew) {
			p.Form.AddError("force", "Select this to rotate now, or wait until the next key has been published for 90 days.")
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
		return forms.ConflictError("There is no next key to activate.")
	case errors.Is(err, files.ErrNoPrivateKey):
		return forms.ConflictError("The private half of the next key is kept elsewhere. Pass it in Go with Files().RotateKey or Files().CondemnKey.")
	}
	return err
}

func SigningKey(v *kit.Visit) (files.Key, error) {
	keys, err := v.Files.Keys(v.R.Context())
	if err != nil {
		return files.Key{}, err
	}
	i := slices.IndexFunc(keys, func(k files.Key) bool { return k.ID == v.R.PathValue("id") })
	if i < 0 {
		return files.Key{}, kit.NotFound("This signing key does not exist.")
	}
	if keys[i].State == files.KeyCompromised {
		return files.Key{}, web.NewProblem(http.StatusConflict, "key_state", "This key is already marked as compromised.")
	}
	return keys[i], nil
}

func CompromiseKeyForm(v *kit.Visit, k files.Key) (*forms.FormPage, error) {
	p := forms.NewFormPage("keys", kit.Lists["keys"], "Mark signing key as compromised",
		"Key ID: "+k.ID, "The key leaves the published keys, and programs refuse its license files once they see a revocation list that names it. This cannot be undone.")
	p.Form = forms.NewForm(forms.TypedField("key", "Last 6 characters of the key ID", KeyEndOf(k.ID), "These are not the last 6 characters of the key ID."))
	p.Action, p.Danger, p.Done = "Mark as compromised", true, "The key has been marked as compromised."
	p.Do = func(tx *kit.Visit) (string, error) {
		_, err := tx.Files.CondemnKey(v.R.Context(), files.CondemnKeyParams{ID: k.ID})
		return "", keyConflict(err)
	}
	if k.State == files.KeyActive {
		p.Text = append(p.Text, "The next key becomes active immediately, however new it is.")
	}
	return p, nil
}
