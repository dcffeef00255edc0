package keymail

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// A Mail is one message in plain text. The ID of one about an event is that of the event:
// an event may be handled twice, and mail programs show messages with the same Message-ID
// once.
type Mail struct {
	ID                string
	At                time.Time
	To, Subject, Text string
}

// A Service sends messages by the HTTP API of Resend. Those of other services differ in the
// names of the fields.
type Service struct {
	URL   string // https://api.resend.com/emails
	Token string
	From  string // address of the sender
}

// Send sends one message. The service sends a message with the same ID once.
func (s Service) Send(ctx context.Context, m Mail) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]any{"from": s.From, "to": []string{m.To}, "subject": m.Subject, "text": m.Text})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Idempotency-Key", m.ID)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("mail %s: %s", m.ID, resp.Status)
	}
	return nil
}
