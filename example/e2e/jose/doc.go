// Package jose exchanges license files with JOSE libraries: golang-jwt and
// go-jose for Go, and jose for Node.js. Each verifies what licensefile signs,
// and licensefile verifies what each signs. Each verifies the files of offices, and
// refuses the published forgeries with a bad signature.
package jose
