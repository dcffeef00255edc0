package dashboard

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"
)

// browsers are the programs that the tests can run. The headless shell, which is the engine
// without the windows around it, takes half of the time. Debian has a script around it, of
// which a test could end no more than the script.
var browsers = []string{"/usr/lib/chromium/chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"}

// browser controls a Chromium with an empty profile.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string // URL of the dashboard, with a trailing slash

	mu       sync.Mutex
	messages []string // log entries and exceptions of the browser
}

func newBrowser(t *testing.T, h *host, script bool) *browser {
	t.Helper()
	path := ""
	for _, name := range browsers {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("Chromium is not installed")
	}
	is := is.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)...)
	t.Cleanup(cancel)
	ctx, _ = chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx, base: h.base + "/dashboard/"}
	t.Cleanup(func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		_ = chromedp.Cancel(closing)
	})
	is.NoErr(chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *cdplog.EventEntryAdded:
			b.messages = append(b.messages, string(e.Entry.Source)+": "+e.Entry.Text)
		case *runtime.EventExceptionThrown:
			b.messages = append(b.messages, "exception: "+e.ExceptionDetails.Text)
		}
	}))
	is.NoErr(chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)))
	_, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{})
	is.NoErr(err)
	// A page may write to the clipboard, as in a window.
	_, err = chromedp.Call(ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
		Permission: &cdpbrowser.PermissionDescriptor{Name: "clipboard-write"}, Setting: cdpbrowser.PermissionSettingGranted,
	})
	is.NoErr(err)
	_, err = chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !script})
	is.NoErr(err)
	return b
}

// newSignedIn returns a browser in which the admin is signed in.
func newSignedIn(t *testing.T, h *host, script bool) *browser {
	t.Helper()
	b := newBrowser(t, h, script)
	b.use(h.cookie(t, adminEmail, adminPassword))
	return b
}

// policyErrors returns the reports about security policies and script exceptions.
func (b *browser) policyErrors() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if strings.Contains(m, "Content Security Policy") || strings.HasPrefix(m, "security:") || strings.HasPrefix(m, "exception:") {
			list = append(list, m)
		}
	}
	return list
}

func (b *browser) do(what string, err error) {
	b.t.Helper()
	if err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
		b.t.Fatalf("%s: %v\nThe page contains:\n%s", what, err, text)
	}
}

// step returns a context with the time limit of one action.
func (b *browser) step() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, 20*time.Second)
}

// act does something with elements.
func (b *browser) act(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	b.do(what, again(func() error { return chromedp.Do(ctx, steps...) }))
}

// load is act for what leads to another page. It waits for that.
func (b *browser) load(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	b.do(what, again(func() error {
		_, err := chromedp.RunResponse(ctx, steps...)
		return err
	}))
}

// again calls action until it finds its elements. For a moment after a page has loaded,
// chromedp can have the nodes of the document before it, and does nothing with these.
func again(action func() error) (err error) {
	for range 10 {
		if err = action(); err == nil || !strings.Contains(err.Error(), "No node with given id") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func (b *browser) open(page string) {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	b.do("open "+page, chromedp.Do(ctx, chromedp.Navigate(b.base+page)))
}

// use sets the session cookie.
func (b *browser) use(c *http.Cookie) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.base + "sign-in"})
	b.do("set the cookie", err)
}

// signIn fills in the sign-in form and submits it.
func (b *browser) signIn(email, password string) {
	b.t.Helper()
	b.fill("Email", email)
	b.fill("Password", password)
	b.press("Sign in")
}

// fill types text into the control with the given label.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	sel := `//*[@id=//label[normalize-space()="` + label + `"]/@for]`
	present := ""
	b.do("read the value of "+label, again(func() (err error) {
		present, err = chromedp.Run(ctx, chromedp.Value(sel))
		return err
	}))
	if present != "" {
		b.act("clear "+label, chromedp.Clear(sel))
	}
	if len(text) > pasted {
		b.act("focus "+label, chromedp.Focus(sel))
		_, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text})
		b.do("paste into "+label, err)
		return
	}
	b.act("fill in "+label, chromedp.SendKeys(sel, text))
}

// pasted is the longest text that is typed, key by key.
const pasted = 40

// fillNamed types text into the input with the given accessible name.
func (b *browser) fillNamed(name, text string) {
	b.t.Helper()
	b.act("fill in "+name, chromedp.SendKeys(`//input[@aria-label="`+name+`"]`, text))
}

// enter types text as fillNamed does, presses Enter and waits for the next page.
func (b *browser) enter(name, text string) {
	b.t.Helper()
	b.load("press Enter in "+name, chromedp.SendKeys(`//input[@aria-label="`+name+`"]`, text+"\r"))
}

// choose clicks the checkbox or radio button with the given value.
func (b *browser) choose(value string) {
	b.t.Helper()
	b.act("choose "+value, chromedp.Click(chromedp.CSS(`input[value="`+value+`"]`)))
}

// press clicks the link or button with the given text and waits for the next page.
func (b *browser) press(text string) {
	b.t.Helper()
	b.load("press "+text, chromedp.Click(`(//main|//header|//dialog|//search)//*[self::a or self::button][normalize-space()="`+text+`"]`))
}

// read returns the text of the element that a CSS selector matches.
func (b *browser) read(css string) (text string) {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	b.do("read "+css, again(func() (err error) {
		text, err = chromedp.Run(ctx, chromedp.TextContent(chromedp.CSS(css)))
		return err
	}))
	return strings.TrimSpace(text)
}

// see checks that the page contains the text.
func (b *browser) see(text string) {
	b.t.Helper()
	if got := b.read("body"); !strings.Contains(got, text) {
		b.t.Fatalf("the page does not contain %q; it contains:\n%s", text, got)
	}
}

// missing checks that the main content does not contain the text.
func (b *browser) missing(text string) {
	b.t.Helper()
	if got := b.read("main"); strings.Contains(got, text) {
		b.t.Fatalf("the page contains %q:\n%s", text, got)
	}
}

// unfold opens the first details element with the given summary.
func (b *browser) unfold(title string) {
	b.t.Helper()
	b.act("unfold "+title, chromedp.Click(`(//main//summary[normalize-space()="`+title+`"])[1]`))
}

// openMenu opens the menu of a license and then the confirmation with the given
// title.
func (b *browser) openMenu(script bool, title string) {
	b.t.Helper()
	b.unfold("More")
	b.ask(script, title)
}

// ask clicks a link to a confirmation. With JavaScript, that opens a dialog.
func (b *browser) ask(script bool, title string) {
	b.t.Helper()
	if !script {
		b.press(title)
		return
	}
	b.act("click "+title, chromedp.Click(`//main//a[normalize-space()="`+title+`"]`))
	b.act("wait for the dialog", chromedp.WaitVisible(chromedp.CSS("dialog")))
}

// wait waits until a JavaScript expression is true, also if the page is left while it
// is evaluated.
func (b *browser) wait(js string) {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	var last error
	for range 100 {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](js))
		if is && err == nil {
			return
		}
		last = err
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("never true: %s (%v)", js, last)
}

// apply submits the filter in which text was just entered. With JavaScript, its
// button is hidden.
func (b *browser) apply(script bool) {
	b.t.Helper()
	if !script {
		b.press("Apply")
		return
	}
	ctx, cancel := b.step()
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.KeyEvent("\r"))
	b.do("press Enter", err)
}
