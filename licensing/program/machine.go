package program

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A machine reads what identifies a machine. Each function returns an empty text
// if there is nothing.
type machine struct {
	readFile func(path string) string
	registry func() string // MachineGuid of Windows
	ioreg    func() string // the output of ioreg on macOS
}

// id returns the ID of the machine; empty: it has none. Images of containers
// may have an empty file, or one that says that it is to be filled.
func (m machine) id() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if id := strings.TrimSpace(m.readFile(path)); len(id) >= 32 {
			return id
		}
	}
	if id := strings.TrimSpace(m.registry()); id != "" {
		return id
	}
	_, after, _ := strings.Cut(m.ioreg(), `"IOPlatformUUID" = "`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

// fingerprint returns the default fingerprint of a product on this machine. It is
// empty if there is no ID, and none can be stored: a new one at each start would
// take a seat each time.
func (m machine) fingerprint(productID string, d disk) (string, error) {
	if id := m.id(); id != "" {
		// The ID itself is confidential; see machine-id(5).
		digest := sha256.Sum256([]byte("licensekit-machine\x00" + productID + "\x00" + strings.ToLower(id)))
		return hex.EncodeToString(digest[:16]), nil
	}
	id, err := d.read(idName)
	if err == nil && id == "" {
		if err = d.create(idName, rand.Text()); err == nil {
			id, err = d.read(idName) // of the process that was first
		}
	}
	if err != nil || !isText(id) {
		return "", err
	}
	return id, nil
}
