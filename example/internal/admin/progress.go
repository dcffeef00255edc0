package admin

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A progress counts the lines of an archive, one for each record, and prints how
// far the work is every second.
type progress struct {
	call  *call
	done  string // the past tense of the work
	size  int64  // of the archive in bytes; 0: unknown
	lines int64
	bytes int64
	began time.Time
	next  time.Time
}

func newProgress(c *call, done string, size int64) *progress {
	now := c.now()
	return &progress{call: c, done: done, size: size, began: now, next: now.Add(time.Second)}
}

func (p *progress) count(b []byte) {
	p.lines += int64(bytes.Count(b, []byte("\n")))
	p.bytes += int64(len(b))
	if now := p.call.now(); !now.Before(p.next) {
		p.next = now.Add(time.Second)
		p.show()
	}
}

// show prints the lines, the rate and, if the size is known, the time left.
func (p *progress) show() {
	elapsed := p.call.now().Sub(p.began).Seconds()
	line := fmt.Sprintf("%s %s lines", p.done, thousands(p.lines))
	if elapsed > 0 {
		line += fmt.Sprintf(", %s a second", thousands(int64(float64(p.lines)/elapsed)))
	}
	if p.size > 0 && p.bytes > 0 && p.bytes < p.size {
		left := elapsed * float64(p.size-p.bytes) / float64(p.bytes)
		line += fmt.Sprintf(", %d %%, %.0f s left", 100*p.bytes/p.size, left)
	}
	fmt.Fprintln(p.call.progress, line)
}

// writer returns w and counts what is written to it.
func (p *progress) writer(w io.Writer) io.Writer {
	return funcWriter(func(b []byte) (int, error) {
		n, err := w.Write(b)
		p.count(b[:n])
		return n, err
	})
}

// reader returns r and counts what is read from it.
func (p *progress) reader(r io.Reader) io.Reader {
	return io.TeeReader(r, funcWriter(func(b []byte) (int, error) {
		p.count(b)
		return len(b), nil
	}))
}

type funcWriter func([]byte) (int, error)

func (f funcWriter) Write(b []byte) (int, error) { return f(b) }

// thousands formats a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
