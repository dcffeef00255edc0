package api

import "github.com/seed-d8a106b4/licensekit/internal/version"

// ModuleVersion returns the version of licensekit that the program was built with, such as
// "v0.1.0". It is "(devel)" if that is no released version: a work tree, or a replacement in
// go.mod.
func ModuleVersion() string { return version.Of() }
