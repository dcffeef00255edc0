package configfile

import (
	"os"
	"path/filepath"
	"strings"
)

// Secret returns the secret at a path that a text refers to: file:PATH or env:NAME. It is
// empty if it is not needed, and false if it is a fault.
func (d *Decoder) Secret(path, text string) (secret string, ok bool) {
	kind, where, _ := strings.Cut(text, ":")
	if kind != "file" && kind != "env" || where == "" {
		d.Fault(path, `is a secret, which is not in the file: name the file or the variable that has it, as in "file:stripe.key" or "env:STRIPE_KEY"`)
		return "", false
	}
	if !d.Needs(path) {
		return "", true
	}
	if kind == "env" {
		if secret = os.Getenv(where); secret == "" {
			d.Fault(path, "refers to the variable %s, which is not set, or empty", where)
		}
		return secret, secret != ""
	}
	name, ok := d.File(path, where)
	if !ok {
		return "", false
	}
	content, err := os.ReadFile(name)
	if err != nil {
		d.Fault(path, "refers to a file that cannot be read: %v", err)
		return "", false
	}
	if secret = strings.TrimSpace(string(content)); secret == "" {
		d.Fault(path, "refers to the file %s, which is empty", name)
	}
	return secret, secret != ""
}

// File returns the path of a file that the file names at a path. It is relative to the folder
// of the configuration file, and may have variables such as $CREDENTIALS_DIRECTORY.
func (d *Decoder) File(path, name string) (file string, ok bool) {
	ok = true
	name = os.Expand(name, func(variable string) string {
		value := os.Getenv(variable)
		if value == "" {
			d.Fault(path, "has the variable %s, which is not set; systemd sets it for the service only", variable)
			ok = false
		}
		return value
	})
	if name == "" || filepath.IsAbs(name) {
		return name, ok
	}
	return filepath.Join(d.Dir, name), ok
}
