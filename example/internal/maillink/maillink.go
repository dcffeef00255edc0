// Package maillink signs in customers who have no account, by links that they get by mail. A
// link proves that the visitor reads the mail of an address, and opens the licenses with it.
package maillink

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Links sign in customers. The token of a link is in its fragment, which no server gets or
// logs. The page posts it, and gets a cookie that ends with the link.
type Links struct {
	Key []byte // 32 random bytes, the same ones in all processes
	URL string // of the page, which is beside that of the licenses: https://shop.example/account/link
}

// To returns a link for an email address that ends after 24 hours.
func (l Links) To(address string) string {
	return l.URL + "#" + l.token("mail-link", address, time.Now().Add(24*time.Hour))
}

// token returns a signed text.
func (l Links) token(use, address string, end time.Time) string {
	text := fmt.Appendf(nil, "%s %d %s", use, end.Unix(), address)
	mac := hmac.New(sha256.New, l.Key)
	mac.Write(text)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(text))
}

// read returns the address of a token and when it ends.
func (l Links) read(use, token string) (address string, end time.Time, ok bool) {
	raw, _ := base64.RawURLEncoding.DecodeString(token)
	words := strings.SplitN(string(raw[:max(0, len(raw)-sha256.Size)]), " ", 3)
	if len(words) < 3 {
		return "", end, false
	}
	seconds, _ := strconv.ParseInt(words[1], 10, 64)
	end = time.Unix(seconds, 0)
	return words[2], end, hmac.Equal([]byte(token), []byte(l.token(use, words[2], end))) && time.Now().Before(end)
}

// Mailbox returns the address that is signed in.
func (l Links) Mailbox(r *http.Request) (address string, ok bool) {
	c, err := r.Cookie("customer")
	if err != nil {
		return "", false
	}
	address, _, ok = l.read("mail-session", c.Value)
	return address, ok
}

// ServeHTTP serves the page of a link. Forms from other sites must not reach it: use
// [http.CrossOriginProtection].
func (l Links) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		show(w, linkPage)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	address, end, ok := l.read("mail-link", r.PostFormValue("token"))
	if !ok {
		http.Error(w, "The link has ended, or is not whole. Ask for another one.", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: "customer", Value: l.token("mail-session", address, end), Expires: end, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(l.URL, "https:"),
	})
	w.Header().Set("Location", "licenses/")
	w.WriteHeader(http.StatusSeeOther)
}
