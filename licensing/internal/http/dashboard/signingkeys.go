package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

const (
	keysPath  = "settings/keys"
	keysTitle = "Signing keys"
)

// signingKeyRow is a signing key with its times formatted for a page.
type signingKeyRow struct {
	files.Key
	Created, Since *moment
}

// keyStates describe the states of a signing key.
var keyStates = map[files.KeyState]struct{ pill, hint string }{
	files.KeyNext:        {"scheduled", "published, signs after the next rotation"},
	files.KeyActive:      {"active", "signs license files"},
	files.KeyVerify:      {"", "its license files stay valid"},
	files.KeyRetired:     {"", "no longer published"},
	files.KeyCompromised: {"revoked", "no longer published"},
}

// Pill returns the class of the status label.
func (r signingKeyRow) Pill() string { return keyStates[r.State].pill }

// Hint describes the state.
func (r signingKeyRow) Hint() string { return keyStates[r.State].hint }

// Where says where the private half is.
func (r signingKeyRow) Where() string {
	switch r.Private {
	case files.PrivateSealed:
		return "Store, encrypted"
	case files.PrivatePlain:
		return "Store, unencrypted"
	case files.PrivateHost:
		return "Options.SigningKeys"
	}
	return "Kept elsewhere"
}

// Compromisable reports whether the key can be marked as compromised.
func (r signingKeyRow) Compromisable() bool { return r.State != files.KeyCompromised }

// Path returns the path of the pages of the key, as a reference from dashboard/.
func (r signingKeyRow) Path() string { return keysPath + "/" + url.PathEscape(r.ID) }

// End returns the characters of the ID that confirm a change.
func (r signingKeyRow) End() string { return r.ID[max(0, len(r.ID)-6):] }

func (v *visit) signingKeys() (rows []signingKeyRow, err error) {
	keys, err := v.files.Keys(v.r.Context())
	for _, k := range keys {
		rows = append(rows, signingKeyRow{k, v.moment(k.CreatedAt), v.moment(k.StateAt)})
	}
	return rows, err
}

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
	var body struct {
		Rows        []signingKeyRow
		JWKS        string
		Unencrypted bool // a private key is stored in plain text
	}
	var err error
	if body.Rows, err = v.signingKeys(); err != nil {
		return err
	}
	if body.JWKS, err = v.jwks(); err != nil {
		return err
	}
	body.Unencrypted = slices.ContainsFunc(body.Rows, func(r signingKeyRow) bool { return r.Private == files.PrivatePlain })
	return v.render(http.StatusOK, "signingkeys", page{Title: keysTitle, Section: "keys", Body: body})
}

func downloadSigningKeys(v *visit) error {
	text, err := v.jwks()
	if err != nil {
		return err
	}
	v.download("application/jwk-set+json", "license-keys.json", text)
	return nil
}

// A keyRotation is the form that activates the next key.
type keyRotation struct {
	*form
	next *signingKeyRow // nil: there is none
}

func (v *visit) keyRotation() (r keyRotation, err error) {
	rows, err := v.signingKeys()
	if err != nil {
		return r, err
	}
	r.form = &form{Groups: []group{{}}, Hidden: map[string]string{}}
	if i := slices.IndexFunc(rows, func(r signingKeyRow) bool { return r.State == files.KeyNext }); i >= 0 {
		r.next = &rows[i]
		r.Hidden["next"] = r.next.ID
		if v.h.opts.Now().Sub(r.next.CreatedAt) < files.MinPublished {
			r.Groups[0].Fields = append(r.Groups[0].Fields, &field{Name: "force", Label: "Published for less than 90 days", Type: "checkbox", Options: []option{
				{Value: "1", Label: "Rotate anyway", Hint: "Programs that pin the keys of an earlier version may not know the new key. They refuse its license files."},
			}})
		}
	}
	return r, nil
}

func showRotateKey(v *visit) error {
	r, err := v.keyRotation()
	if err != nil {
		return err
	}
	r.Once = newMark()
	return v.renderRotateKey(http.StatusOK, r)
}

func (v *visit) renderRotateKey(status int, r keyRotation) error {
	text := []string{"The ring has no next key. Add one in Go with Files().AddKey or Options.SigningKeys."}
	if r.next != nil {
		text = []string{
			"The key " + r.next.ID + ", published since " + r.next.Created.Full + ", signs license files from now on.",
			"The active key signs no more, and the license files that it signed stay valid.",
		}
	}
	return v.render(status, "confirm", page{Title: "Rotate signing key", Section: "keys", Body: confirmation{
		Form: r.form, Text: text, Action: "Rotate key", Back: keysPath, Subject: keysTitle,
	}})
}

func rotateKey(v *visit) error {
	r, err := v.keyRotation()
	if err != nil {
		return err
	}
	sent := v.sent("next")
	r.fill(v)
	_, repeated, err := v.once(r.form, func(tx *visit) (string, error) {
		if r.next == nil {
			return "", files.ErrNoNextKey
		}
		if r.next.ID != sent {
			return "", errOtherKey
		}
		k, err := tx.files.RotateKey(v.r.Context(), files.RotateKeyParams{Algorithm: r.next.Algorithm, Force: v.sent("force") != ""})
		return k.ID, err
	})
	switch {
	case repeated:
		v.redirectDone(keysPath, "repeated")
	case r.takeKeyErrors(err) && r.Problem == "":
		return v.renderRotateKey(http.StatusUnprocessableEntity, r)
	case r.Problem != "":
		return v.renderRotateKey(http.StatusConflict, r)
	case err != nil:
		return err
	default:
		v.redirectDone(keysPath, "key-rotated")
	}
	return nil
}

var errOtherKey = errors.New("the next signing key changed")

// takeKeyErrors adds the reason why the ring did not change to the form. It
// returns false for any other error.
func (f *form) takeKeyErrors(err error) bool {
	switch {
	case errors.Is(err, files.ErrKeyTooNew):
		f.addError("force", "Select this to rotate now, or wait until the next key has been published for 90 days.")
	case errors.Is(err, files.ErrNoNextKey):
		f.Problem = "There is no next key to activate."
	case errors.Is(err, files.ErrNoPrivateKey):
		f.Problem = "The private half of the next key is kept elsewhere. Pass it in Go with Files().RotateKey or Files().CondemnKey."
	case errors.Is(err, errOtherKey):
		f.Problem = "The keys were changed after you opened this page. Check the next key and submit again."
	default:
		return false
	}
	return true
}

func (v *visit) signingKey() (signingKeyRow, error) {
	rows, err := v.signingKeys()
	if err != nil {
		return signingKeyRow{}, err
	}
	i := slices.IndexFunc(rows, func(r signingKeyRow) bool { return r.ID == v.params["id"] })
	if i < 0 {
		return signingKeyRow{}, notFound("This signing key does not exist.")
	}
	if !rows[i].Compromisable() {
		return signingKeyRow{}, &web.Problem{Status: http.StatusConflict, Code: "key_state", Detail: "This key is already marked as compromised."}
	}
	return rows[i], nil
}

func compromiseForm(k signingKeyRow) *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "key", Label: "Last 6 characters of the key ID", Hint: "Type " + k.End() + " to confirm.", Type: "text", Required: true, Mono: true, MaxLength: 60},
	}}}}
}

func showCompromiseKey(v *visit) error {
	k, err := v.signingKey()
	if err != nil {
		return err
	}
	return v.renderCompromiseKey(http.StatusOK, k, compromiseForm(k))
}

func (v *visit) renderCompromiseKey(status int, k signingKeyRow, f *form) error {
	text := []string{"Key ID: " + k.ID, "The key leaves the published keys, and programs refuse its license files once they see a revocation list that names it. This cannot be undone."}
	if k.State == files.KeyActive {
		text = append(text, "The next key becomes active immediately, however new it is.")
	}
	return v.render(status, "confirm", page{Title: "Mark signing key as compromised", Section: "keys", Body: confirmation{
		Form: f, Text: text, Action: "Mark as compromised", Danger: true, Back: keysPath, Subject: keysTitle,
	}})
}

func compromiseKey(v *visit) error {
	k, err := v.signingKey()
	if err != nil {
		return err
	}
	f := compromiseForm(k)
	f.fill(v)
	if strings.TrimSpace(f.Field("key").Value) != k.End() {
		f.addError("key", "These are not the last 6 characters of the key ID.")
		return v.renderCompromiseKey(http.StatusUnprocessableEntity, k, f)
	}
	_, err = v.files.CondemnKey(v.r.Context(), files.CondemnKeyParams{ID: k.ID})
	if f.takeKeyErrors(err) {
		return v.renderCompromiseKey(http.StatusConflict, k, f)
	}
	if err != nil {
		return err
	}
	v.redirectDone(keysPath, "key-compromised")
	return nil
}
