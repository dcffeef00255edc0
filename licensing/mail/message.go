package mail

import (
	"bytes"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
)

// A Message is one mail in plain text. The ID of one about an event is that of the event:
// an event may be handled twice, and mail programs show messages with the same Message-ID
// once.
type Message struct {
	ID                string
	At                time.Time
	To, Subject, Text string
}

// encode returns the message as it is sent (RFC 5322). Its Message-ID has the domain of the sender, and
// Auto-Submitted keeps programs from answering it.
func (m Message) encode(from, to *mail.Address) []byte {
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	var b bytes.Buffer
	for _, header := range [][2]string{
		{"From", from.String()}, {"To", to.String()}, {"Subject", mime.QEncoding.Encode("utf-8", m.Subject)},
		{"Date", m.At.Format(time.RFC1123Z)}, {"Message-ID", "<" + m.ID + "@" + domain + ">"}, {"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(header[0] + ": " + header[1] + "\r\n")
	}
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	body.Write([]byte(strings.ReplaceAll(m.Text, "\n", "\r\n")))
	body.Close()
	return b.Bytes()
}
