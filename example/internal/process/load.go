package process

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Client is an API client of a service. It uses its credentials at any process that
// has the same store.
type Client struct {
	token string
	http  http.Client
}

// NewClient reads credentials from the output of licensekit create-client, and gets a
// token.
func NewClient(t *testing.T, p *Process, created string) *Client {
	t.Helper()
	words := strings.Fields(created) // client_id ID client_secret SECRET
	if len(words) != 4 {
		t.Fatalf("no credentials: %s", created)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", p.URL+"/oauth/token", strings.NewReader("grant_type=client_credentials"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(words[1], words[3])
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("no token: %s, %v", resp.Status, err)
	}
	return &Client{token: answer.AccessToken, http: http.Client{Timeout: 30 * time.Second}}
}

// Do sends a request and returns the status, and the license of the answer if it is
// one. An error means that there was no answer.
func (c *Client) Do(p *Process, method, path, body string) (int, api.License, error) {
	r, err := http.NewRequest(method, p.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, api.License{}, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, api.License{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, api.License{}, err
	}
	var l api.License
	json.Unmarshal(text, &l)
	return resp.StatusCode, l, nil
}

// Sell creates a license for an e-mail address.
func (c *Client) Sell(p *Process, email string) (int, api.License, error) {
	return c.Do(p, "POST", "/license", `{"name":"Ada","product_id":"atlas","customer_id":"cus_1","metadata":{"email":"`+email+`"}}`)
}

// A Load is clients that sell without a pause.
type Load struct {
	mu   sync.Mutex
	sold []string // IDs that were acknowledged
	work sync.WaitGroup
	many chan struct{} // closed when a hundred were sold, or the clients have stopped
	once sync.Once     // closes many
}

// NewLoad starts four clients, which stop when a request gets no answer.
func NewLoad(c *Client, p *Process) *Load {
	l := &Load{many: make(chan struct{})}
	for range 4 {
		l.work.Go(func() {
			for {
				status, license, err := c.Sell(p, "")
				if err != nil {
					return
				}
				l.mu.Lock()
				if status == http.StatusCreated {
					l.sold = append(l.sold, license.ID)
				}
				enough := len(l.sold) >= 100
				l.mu.Unlock()
				if enough {
					l.once.Do(func() { close(l.many) })
				}
			}
		})
	}
	go func() {
		l.work.Wait()
		l.once.Do(func() { close(l.many) })
	}()
	return l
}

// Sold returns the licenses that were acknowledged until now. It waits until they are a
// hundred, unless the clients stop before.
func (l *Load) Sold() []string {
	<-l.many
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.sold...)
}

// End waits until the clients have stopped, and returns all that were acknowledged.
func (l *Load) End() []string {
	l.work.Wait()
	return l.Sold()
}
