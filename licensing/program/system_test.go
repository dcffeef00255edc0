package program

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"github.com/matryer/is"
)

// utf16Text returns a text as the registry of Windows has it.
func utf16Text(text string) string {
	var value []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		value = append(value, byte(unit), byte(unit>>8))
	}
	return string(value)
}

// TestRegistryText: a value may lack its final zero, have more after it, or be cut.
func TestRegistryText(t *testing.T) {
	is := is.New(t)
	const guid = "6e1f0a52-9d0b-4c2e-8a77-30d5b6d1c9f4"
	for _, value := range []string{
		utf16Text(guid), utf16Text(guid + "\x00"), utf16Text(guid + "\x00\x00left"), utf16Text(guid) + "\x00", utf16Text(guid) + "x",
	} {
		is.Equal(registryText(value), guid)
	}
	is.Equal(registryText(utf16Text("Maschine-Ü-😀")), "Maschine-Ü-😀")
	for _, none := range []string{"", "\x00", "\x00\x00", "x"} {
		is.Equal(registryText(none), "")
	}
}

// TestIORegistry: the ID is the value of one line in what ioreg of macOS writes, and
// output of another form has none.
func TestIORegistry(t *testing.T) {
	is := is.New(t)
	const form = `+-o MacBookPro18,3  <class IOPlatformExpertDevice, id 0x10000024f, registered, matched, active, busy 0 (38414 ms), retain 40>
    {
      "compatible" = <"MacBookPro18,3","J314sAP","AppleARM">
      "IOPlatformSerialNumber" = "C02XG0FDH7JY"
      "target-type" = <"J314s">
      LINE
      "manufacturer" = <"Apple Inc.">
    }

`
	const uuid = "564D7B0A-6B3C-5E2F-9C1D-0A1B2C3D4E5F"
	for line, want := range map[string]string{
		`"IOPlatformUUID" = "` + uuid + `"`: uuid,
		`"IOPlatformUUID" = <` + uuid + `>`: "",
		`"IOPlatformUUIDs" = "other"`:       "",
		"":                                  "",
	} {
		m := machine{func(string) string { return "" }, func() string { return "" }, func() string { return strings.Replace(form, "LINE", line, 1) }}
		is.Equal(m.id(), want)
	}
}

// windowsRefuses reports whether Windows has no file with a name, or another one.
func windowsRefuses(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	reserved := []string{"con", "prn", "aux", "nul"}
	for _, n := range "0123456789¹²³" {
		reserved = append(reserved, "com"+string(n), "lpt"+string(n))
	}
	return name == "" || len(utf16.Encode([]rune(name))) > 255 || strings.ContainsAny(name, `<>:"/\|?*`) || strings.TrimRight(name, ". ") != name ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) || slices.Contains(reserved, strings.TrimRight(base, " "))
}

// TestNamesOfOtherSystems: Windows accepts the name of every file and directory, macOS
// normalizes none, and names that differ only in case do not meet on either.
func TestNamesOfOtherSystems(t *testing.T) {
	is := is.New(t)
	for _, refused := range []string{"con", "NUL.txt", "com1", "lpt³.log", "a:b", "a?", "ends.", "ends ", "a\tb", strings.Repeat("x", 256)} {
		is.True(windowsRefuses(refused))
	}
	names := []string{licenseName, listName, denialName, clockName, dueName, keyName, requestName, idName, ownerName, tempPrefix + "1234567890", usagePrefix + "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "license"}
	folders := map[string]bool{}
	products := []string{"con", "CON", "nul.txt", "aux", "com1", "a<b>:c", `a\b/c|d?e*`, "ends.", "ends ", "", "Ünïcode", "U\u0308nicode", "\x01", strings.Repeat("x", 300), "atlas", "Atlas", "ATLAS"}
	for _, product := range products {
		name := folderPrefix(product) + folderDigest(product, "key")
		names, folders[strings.ToLower(name)] = append(names, name), true
	}
	is.Equal(len(folders), len(products))
	for _, name := range names {
		if windowsRefuses(name) || strings.ContainsFunc(name, func(r rune) bool { return r > '~' }) {
			t.Errorf("%q", name)
		}
	}
}

// TestBusyFiles: what Windows refuses while another process uses a file is tried again, at
// most five times. Other errors, and those of other systems, are final.
func TestBusyFiles(t *testing.T) {
	is := is.New(t)
	refused := func(code syscall.Errno) error { return &os.LinkError{Op: "rename", Old: "a", New: "b", Err: code} }
	for _, test := range []struct {
		system string
		err    error
		tries  int
	}{
		{"windows", refused(5), 5}, {"windows", refused(32), 5}, {"windows", &fs.PathError{Op: "open", Path: "a", Err: syscall.Errno(33)}, 5},
		{"windows", refused(2), 1}, {"windows", fs.ErrNotExist, 1}, {"windows", nil, 1}, {"linux", refused(5), 1}, {"darwin", refused(32), 1},
	} {
		tries := 0
		is.Equal(whileBusy(test.system, func() error { tries++; return test.err }), test.err)
		is.Equal(tries, test.tries)
	}
	tries := 0
	is.NoErr(whileBusy("windows", func() error {
		if tries++; tries < 3 {
			return refused(32)
		}
		return nil
	}))
	is.Equal(tries, 3)
}
