package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errNoCredentials is returned by operations that need an access token.
var errNoCredentials = errors.New("client: this operation needs Options.ClientID and Options.ClientSecret")

// A tokenSource keeps the access token of a client. One caller at a time
// requests a new one, and the others wait for it only if they have none that
// is still valid. The zero tokenSource is ready.
type tokenSource struct {
	mu      sync.Mutex
	token   string
	renewAt time.Time // when to request the next token
	endsAt  time.Time
	flight  *flight // the request in progress, or nil
}

// A flight is a request for a token.
type flight struct {
	done chan struct{} // closed when it has ended
	err  error
}

// get returns a valid token. If there is none, or it ends soon, get requests
// one with request, unless another caller does.
func (s *tokenSource) get(ctx context.Context, request func(context.Context) (Token, error)) (string, error) {
	for {
		s.mu.Lock()
		now := time.Now()
		token, endsAt := s.token, s.endsAt
		valid := token != "" && now.Before(endsAt)
		other := s.flight
		if valid && (other != nil || now.Before(s.renewAt)) {
			s.mu.Unlock()
			return token, nil
		}
		if other == nil {
			own := &flight{done: make(chan struct{})}
			s.flight = own
			s.mu.Unlock()
			fresh, err := s.land(ctx, own, request)
			if err != nil && valid && time.Now().Before(endsAt) {
				return token, nil // the request was early; the next call repeats it
			}
			return fresh, err
		}
		s.mu.Unlock()
		select {
		case <-other.done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		// A request that its caller canceled says nothing about the service.
		if other.err != nil && !errors.Is(other.err, context.Canceled) && !errors.Is(other.err, context.DeadlineExceeded) {
			return "", other.err
		}
	}
}

// land makes the request of a flight and keeps its token.
func (s *tokenSource) land(ctx context.Context, f *flight, request func(context.Context) (Token, error)) (string, error) {
	start := time.Now()
	t, err := request(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.err = err
	if err == nil {
		life := time.Duration(t.ExpiresIn) * time.Second
		s.token, s.endsAt = t.AccessToken, start.Add(life)
		s.renewAt = s.endsAt.Add(-min(life/5, time.Minute))
	}
	s.flight = nil
	close(f.done)
	return t.AccessToken, err
}

// drop forgets a token that the service refused.
func (s *tokenSource) drop(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = ""
	}
}
