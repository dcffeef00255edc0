package program

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An owner is the contents of ownerName. It says which programs use a default
// directory: those of one product that pin at least one of the keys. Another vendor
// with the same product ID has other keys.
type owner struct {
	ProductID string   `json:"product_id"`
	Keys      []string `json:"keys"` // the IDs of all keys that programs with this directory have pinned
}

// defaultDir returns the directory of a program without Options.Dir, and the owner
// to store in it; empty: it is there.
func defaultDir(productID string, pinned []string) (dir, owner string, err error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return "", "", fmt.Errorf("program: Options.Dir must be set, because there is no directory for the configuration of the user: %w", err)
	}
	dir, owner = findDir(config, productID, pinned)
	return dir, owner, nil
}

// findDir finds the directory of a program below config, or names a new one. The name
// has the oldest key that was pinned when the directory was made. Any key that was
// ever pinned finds it again, so that it stays when keys are rotated, and for an older
// version of the program.
func findDir(config, productID string, pinned []string) (dir, store string) {
	prefix := folderPrefix(productID)
	name, o := prefix+folderDigest(productID, pinned[0]), owner{ProductID: productID}
	names := []string{name}
	entries, _ := os.ReadDir(config) // without it, the directory is new
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	for _, n := range names {
		text, _ := disk{folder(config, n)}.read(ownerName) // what cannot be read is of another program
		var found owner
		if json.Unmarshal([]byte(text), &found) == nil && found.ProductID == productID &&
			slices.ContainsFunc(pinned, func(id string) bool { return slices.Contains(found.Keys, id) }) {
			name, o = n, found
			break
		}
	}
	known := len(o.Keys)
	for _, id := range pinned {
		if !slices.Contains(o.Keys, id) {
			o.Keys = append(o.Keys, id)
		}
	}
	if len(o.Keys) == known {
		return folder(config, name), ""
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return folder(config, name), string(text)
}

func folder(config, name string) string { return filepath.Join(config, name, "license") }

// folderPrefix returns the readable part of the name of a directory, which products
// may share.
func folderPrefix(productID string) string {
	const safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(safe, r) {
			return r
		}
		return '-'
	}, productID)
	return name[:min(len(name), 40)] + "-"
}

// folderDigest returns the other part, which differs also where the file system
// ignores case, and makes no name a reserved one, such as "con" on Windows.
func folderDigest(productID, keyID string) string {
	digest := sha256.Sum256([]byte("licensekit-folder\x00" + productID + "\x00" + keyID))
	return hex.EncodeToString(digest[:8])
}
