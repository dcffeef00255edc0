package dashboard

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"
)

// watchFocus records what gets the focus. The page must mark it with an outline, which
// a tab of the quick start and a filter have around their label. Of a group of radio buttons, only the
// selected one can be reached with Tab. Elements that are hidden from assistive
// technology are for password managers and for Enter in a field.
const watchFocus = `
	const usable = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter((e) =>
		e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.ariaHidden !== "true" && !e.matches(".chart [tabindex='-1']") &&
		!(e.type === "radio" && document.querySelector('input[name="' + e.name + '"]:checked') !== e));
	window.stops = [];
	addEventListener("focusin", ({ target }) => {
		const frame = target.closest(".langs label, .chip") ?? target, style = getComputedStyle(frame), box = frame.getBoundingClientRect();
		stops.push({
			name: target.outerHTML.slice(0, 150), index: usable.indexOf(target),
			marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 && box.width > 1 && box.height > 1,
		});
	});
	usable.map((e) => e.outerHTML.slice(0, 150))`

// A stop is an element that got the focus.
type stop struct {
	Name   string `json:"name"`
	Index  int    `json:"index"` // among the elements that can be used; -1: not one of these, such as a part that scrolls
	Marked bool   `json:"marked"`
}

// eval evaluates JavaScript.
func eval[T any](b *browser, js string) T {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	b.do("evaluate "+js, err)
	return v
}

// hit presses keys.
func (b *browser) hit(keys string, opts ...chromedp.KeyOption) {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	b.do("press keys", chromedp.Do(ctx, chromedp.KeyEvent(keys, opts...)))
}

// walk presses Tab until the focus has left the page. The focus must visit everything
// that can be used, in the order of the page, and must be visible. If short is set, the
// walk jumps over the navigation, with the skip link.
func (b *browser) walk(short bool) {
	b.t.Helper()
	usable := eval[[]string](b, watchFocus)
	first := 0
	b.hit(kb.Tab)
	if short {
		b.hit(kb.Enter)
		first = eval[int](b, `document.activeElement.id === "main" ? usable.findIndex((e) => document.activeElement.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING) : 0`)
		if first < 1 {
			b.t.Errorf("the skip link does not lead to the content")
			return
		}
		eval[bool](b, `stops.length = 0, true`)
	}
	tab := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "Tab", Code: "Tab", WindowsVirtualKeyCode: 9}
	next := first
	for pressed := 0; next < len(usable); {
		for range len(usable) - next {
			_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, tab)
			b.do("press Tab", err)
			pressed++
		}
		stops := eval[[]stop](b, `stops.splice(0)`)
		for _, s := range stops {
			switch {
			case next == len(usable): // the focus has left the page and is back at its start
			case s.Index >= 0 && s.Index != next:
				b.t.Errorf("after %d, %s the focus is at %d, %s", next-1, usable[max(0, next-1)], s.Index, s.Name)
				return
			case !s.Marked:
				b.t.Errorf("the focus is not visible at %s", s.Name)
			}
			if s.Index == next && next < len(usable) {
				next++
			}
		}
		if pressed > 3*len(usable)+60 { // dates have several parts
			b.t.Errorf("the focus does not get beyond %s", usable[max(0, next-1)])
			return
		}
	}
}

// TestKeyboardWalk visits every page with the keyboard.
func TestKeyboardWalk(t *testing.T) {
	h := newHost(t)
	op := h.admin(t)
	licenseID, clientID := h.seed(t)
	address := h.addresses(t, op.ID, licenseID, clientID)
	b := newBrowser(t, h, true)
	pages := dashboardPages(t)
	for path, host := range map[string]*host{"setup": newHost(t), "sign-in": h} {
		t.Run("signed out, "+path, func(t *testing.T) {
			b.t, b.base = t, host.base+"/dashboard/"
			b.open(path)
			b.walk(false)
		})
	}
	b.t, b.base = t, h.base+"/dashboard/"
	b.use(h.cookie(t, adminEmail, adminPassword))
	for _, path := range pages {
		t.Run(path, func(t *testing.T) {
			b.t = t
			b.open(address(path))
			b.wait(`!document.querySelector("a[data-later]")`)
			b.walk(path != "") // all navigation once
		})
	}
	b.t = t
	is := is.New(t)
	focused := func() string {
		return eval[string](b, `document.activeElement.closest("dialog")?.open ? "dialog" : document.activeElement.id || document.activeElement.textContent.trim().slice(0, 40)`)
	}

	// Ctrl+K goes to the search. Space selects licenses, and their actions come before them.
	b.open("licenses")
	b.hit("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	is.Equal(focused(), "find")
	eval[bool](b, `document.querySelector("[data-all]").focus(), true`)
	b.hit(" ")
	is.True(b.shown("#selection"))
	b.hit(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift))
	is.Equal(focused(), "Revoke")
	b.follow()
	b.see("Revoke licenses")
	b.open("licenses")
	eval[bool](b, `document.querySelector(".tabs a[href*=suspended]").focus(), true`)
	b.follow()
	b.see("1 matching license")

	// A menu opens with Enter and Space. Escape closes it, and a dialog that was opened
	// from it, and brings the focus back to it.
	b.open(address("licenses/{id}"))
	for _, key := range []string{kb.Enter, " "} {
		eval[bool](b, `document.querySelector(".menu summary").focus(), true`)
		b.hit(key + kb.Tab)
		is.Equal(focused(), "Issue license file")
		b.hit(kb.Escape)
		is.Equal(focused(), "More")
		is.True(!b.shown(".menu ul"))
	}
	b.hit(kb.Enter)
	eval[bool](b, `document.querySelector(".menu a[href$=revoke]").focus(), true`)
	b.hit(kb.Enter)
	b.act("wait for the dialog", chromedp.WaitVisible(chromedp.CSS("dialog")))
	for range 3 {
		is.Equal(focused(), "dialog")
		b.hit(kb.Tab)
	}
	b.hit(kb.Escape)
	b.act("wait for the end of the dialog", chromedp.WaitNotPresent(chromedp.CSS("dialog")))
	is.Equal(focused(), "More")
	is.Equal(b.policyErrors(), nil)
}

// follow presses Enter and waits for the next page.
func (b *browser) follow() {
	b.t.Helper()
	b.load("press Enter", chromedp.KeyEvent(kb.Enter))
}
