package operator

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/seed-d8a106b4/licensekit/internal/hashcost"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// MinPassword is the minimum number of characters in a password; the maximum is
// 256. There are no rules about kinds of characters: NIST SP 800-63B-4 requires
// length, and a list of common passwords to refuse.
const MinPassword = 15

const maxPassword = 256 // characters

const (
	saltLength = 16
	hashLength = 32
)

// hashes limits how many hashes are computed concurrently: each needs about
// 19 MiB and 25 ms of a core, and more of them than cores would slow down all
// other requests.
var hashes = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// argon computes one hash as soon as a slot is free. It returns [ErrThrottled]
// if no slot is free within five seconds.
func argon(ctx context.Context, password string, salt []byte, c hashcost.Cost) ([]byte, error) {
	wait := time.NewTimer(5 * time.Second)
	defer wait.Stop()
	select {
	case hashes <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, &ThrottledError{5 * time.Second}
	}
	defer func() { <-hashes }()
	return argon2.IDKey([]byte(password), salt, c.Time, c.Memory, c.Threads, hashLength), nil
}

// hashPassword returns the argon2id hash of a password as a PHC string.
func hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltLength)
	rand.Read(salt)
	sum, err := argon(ctx, password, salt, hashcost.Current)
	if err != nil {
		return "", err
	}
	return formatPHC(hashcost.Current, salt, sum), nil
}

// dummyHash is compared with the password of an unknown operator, so that an
// unknown e-mail address takes as long as a wrong password.
var dummyHash = sync.OnceValue(func() string {
	return formatPHC(hashcost.Current, make([]byte, saltLength), make([]byte, hashLength))
})

// verifyPassword reports whether phc is the hash of password, and whether its
// cost is below hashcost.Current.
func verifyPassword(ctx context.Context, password, phc string) (ok, weak bool, err error) {
	c, salt, want, err := parsePHC(phc)
	if err != nil {
		return false, false, err
	}
	sum, err := argon(ctx, password, salt, c)
	if err != nil {
		return false, false, err
	}
	weak = c.Memory < hashcost.Current.Memory || c.Time < hashcost.Current.Time
	return subtle.ConstantTimeCompare(sum, want) == 1, weak, nil
}

func formatPHC(c hashcost.Cost, salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.Memory, c.Time, c.Threads, b64.EncodeToString(salt), b64.EncodeToString(sum))
}

func parsePHC(s string) (c hashcost.Cost, salt, sum []byte, err error) {
	fail := errors.New("operator: a stored password hash is not an argon2id PHC string")
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return c, nil, nil, fail
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.Memory, &c.Time, &c.Threads); err != nil || c.Time == 0 || c.Threads == 0 {
		return c, nil, nil, fail
	}
	salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return c, nil, nil, fail
	}
	sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(sum) != hashLength {
		return c, nil, nil, fail
	}
	return c, salt, sum, nil
}

// invalidPassword returns an [*api.InvalidError] about "password" if a new
// password is not allowed.
func invalidPassword(password, email string) error {
	if code, detail := checkPassword(password, email); code != "" {
		return invalidField("password", code, detail)
	}
	return nil
}

// invalidField returns an [*api.InvalidError] about one field.
func invalidField(field, code, detail string) error {
	return &api.InvalidError{Fields: []api.FieldError{{Field: field, Code: code, Detail: detail}}}
}

// checkPassword returns what is wrong with a new password, to follow the name of
// its field, or two empty strings. It does not normalize the password.
func checkPassword(password, email string) (code, detail string) {
	folded := strings.ToLower(password)
	name, _, _ := strings.Cut(foldEmail(email), "@")
	switch n := utf8.RuneCountInString(password); {
	case n == 0:
		return "required", "is required"
	case n < MinPassword:
		return "too_short", fmt.Sprintf("must have at least %d characters; a sentence is easy to remember", MinPassword)
	case n > maxPassword:
		return "too_long", fmt.Sprintf("must have at most %d characters", maxPassword)
	case repeats(folded) || runs(folded):
		return "too_common", "repeats one pattern; choose one that is hard to guess"
	case commonPasswords[strip(folded)]:
		return "too_common", "is too common; choose another one"
	case strings.ReplaceAll(folded, foldEmail(email), "") == "" || len(name) > 2 && len(strings.ReplaceAll(folded, name, "")) < 4:
		return "too_common", "is the e-mail address; choose another one"
	}
	return "", ""
}

// repeats reports whether s repeats a short unit.
func repeats(s string) bool {
	for unit := 1; unit <= min(8, len(s)/2); unit++ {
		if s[unit:] == s[:len(s)-unit] {
			return true
		}
	}
	return false
}

// runs reports whether s consists of runs along the alphabet, the digits or a
// row of the keyboard, forwards or backwards.
func runs(s string) bool {
	const rows = "01234567890123456789 98765432109876543210 abcdefghijklmnopqrstuvwxyz zyxwvutsrqponmlkjihgfedcba " +
		"qwertyuiopasdfghjklzxcvbnm 1234567890qwertyuiop qwertyuiop[]asdfghjkl;'zxcvbnm,./"
	for len(s) > 0 {
		n := min(len(s), 4)
		for n < len(s) && strings.Contains(rows, s[:n+1]) {
			n++
		}
		if n < 4 || !strings.Contains(rows, s[:n]) {
			return false
		}
		s = s[n:]
	}
	return true
}

// strip removes all but the letters and digits of s, so that punctuation does
// not hide a common password.
func strip(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// commonPasswords are common passwords of at least MinPassword characters, in
// lower case, letters and digits only.
var commonPasswords = wordSet(`
adminadminadmin administrator1 administrator12 administrator123 administrator1234 administratoradministrator
changemechangeme changemeplease changemenow12345 correcthorsebatterystaple defaultpassword defaultpassword1
defaultpassword123 donttellanyone1 ihatepasswords123 iloveyouforever ilovemyfamily123 iloveyousomuch iloveyousomuch1
itsasecrettoeverybody justanotherpassword letmeinletmein letmeinletmeinplease letmeinplease123 licensinglicensing
licensingservice licensingadmin123 longpassword12345 mypassword12345 mypassword123456 mypasswordispassword
mysecretpassword mysecretpassword1 mysecretpassword123 mysupersecretpassword onetwothreefour onetwothreefourfive
opensesameopensesame p4ssw0rdp4ssw0rd passphrasepassphrase password1234567 password12345678 password123456789
password1234567890 passwordispassword passwordpassword passwordpassword1 passwordpassword12 passwordpassword123
pleaseletmein123 qwerty123456789 qwerty1234567890 qwertyqwerty123 secretpassword1 secretpassword123 secretsecretsecret
superman12345678 supersecretpassword supersecretpassword1 supersecretpassword123 testpassword123 testpassword1234
testtesttesttest thequickbrownfox thequickbrownfoxjumps thequickbrownfoxjumpsoverthelazydog thisisapassword
thisisapassword1 thisisapassword123 thisismypassword thisismypassword1 thisismypassword123 tobeornottobethatisthequestion
trustno1trustno1 verylongpassword verysecretpassword verysecurepassword welcome123456789 welcomewelcome1 welcometothejungle
whatismypassword youwillneverguess youwillneverguessthis`)

func wordSet(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
