package program

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf16"
)

// A machine reads what identifies a machine. Each function returns an empty text
// if there is nothing.
type machine struct {
	readFile func(path string) string
	registry func() string // MachineGuid of Windows, in the bytes of the registry
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
	if id := strings.TrimSpace(registryText(m.registry())); id != "" {
		return id
	}
	_, after, _ := strings.Cut(m.ioreg(), `"IOPlatformUUID" = "`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

// registryText returns a text of the registry of Windows, which is UTF-16 in little-endian
// order, and ends at a zero if there is one.
func registryText(value string) string {
	var units []uint16
	for ; len(value) >= 2; value = value[2:] {
		unit := uint16(value[0]) | uint16(value[1])<<8
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	return string(utf16.Decode(units))
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
