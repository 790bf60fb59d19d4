package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// previewsSeen records every preview that the editor shows: how much was typed when it was requested, according to
// the response with its image or to the text sent to its frame. Requests are not cancelled, as if the cancellation
// came too late.
const previewsSeen = `() => {
	const seen = window.previewsSeen = [], asked = window.previewsAsked = [], read = window.previewsRead = [], of = new Map();
	let framed = 0;
	const typed = (source) => source.length;
	const note = () => {
		const stage = document.querySelector("[data-stage]");
		const picture = stage?.querySelector(".paper img"), sheet = stage?.querySelector(".instant:not([hidden])");
		const shows = sheet ? { typed: framed, frame: true } : picture ? { typed: of.get(picture.src) ?? -1, frame: false } : null;
		const last = seen.at(-1);
		if (shows && (shows.typed !== last?.typed || shows.frame !== last.frame)) seen.push(shows);
	};
	AbortController.prototype.abort = () => {};
	const ask = window.fetch;
	window.fetch = async (address, how) => {
		if (!address.includes("/pages?scale=")) return ask(address, how);
		const length = typed(JSON.parse(how.body).html);
		asked.push(length);
		const answer = await ask(address, how), body = await answer.text();
		if (answer.ok) of.set("data:image/png;base64," + JSON.parse(body).images[0], length);
		read.push(length);
		return new Response(body, { status: answer.status, headers: answer.headers });
	};
	const submit = HTMLFormElement.prototype.submit;
	let sent = 0;
	HTMLFormElement.prototype.submit = function () {
		if (this.target === "filled") sent = typed(this.elements.html.value);
		submit.call(this);
	};
	document.addEventListener("load", (event) => { if (event.target.name === "filled") { framed = sent; queueMicrotask(note); } }, true);
	of.set(document.querySelector("[data-stage] .paper img").src, typed(document.querySelector('textarea[name="html"]').value));
	note();
	new MutationObserver(note).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["hidden", "src"] });
}`

// seenPreview is one that was shown.
type seenPreview struct {
	Typed int // characters of the HTML
	Frame bool
}

// heldPreview is one that the browser asks for, and that the service has not heard of yet.
type heldPreview struct {
	typed int // characters of the HTML
	goes  chan struct{}
}

// typist types into the editor's HTML.
type typist struct {
	*screen
	text string // the content of the field
	held chan heldPreview
}

// newTypist opens the editor, with the cursor after a text, and with a recorder of previews.
func newTypist(t *testing.T, s *screen) *typist {
	t.Helper()
	const text = "<p style='overflow-wrap: anywhere'>begin"
	editorOf(t, s.app, s, text)
	if _, err := s.page.Eval(previewsSeen); err != nil {
		t.Fatal(err)
	}
	content, err := s.page.Timeout(pagePatience).Element(`.cm-content[aria-label="HTML"]`)
	if err == nil {
		err = content.Focus()
	}
	if err == nil {
		err = s.page.KeyActions().Press(input.ControlLeft).Type(input.End).Release(input.ControlLeft).Do()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &typist{screen: s, text: text, held: make(chan heldPreview)}
}

// types presses n keys, ten a second if the browser keeps up with that, and waits for the request for a preview of
// the final text.
func (w *typist) types(n int) {
	w.t.Helper()
	next := time.NewTicker(100 * time.Millisecond)
	defer next.Stop()
	for range n {
		<-next.C
		key := 'a' + rune(len(w.text)%26)
		if err := w.page.Keyboard.Type(input.Key(key)); err != nil {
			w.t.Fatalf("type %c: %v", key, err)
		}
		w.text += string(key)
	}
	w.holds("pages are asked for", "previewsAsked.at(-1) === args[0]", len(w.text))
}

// holdsBack delays the requests for pages until they are released.
func (w *typist) holdsBack() *rod.HijackRouter {
	w.t.Helper()
	router := w.page.HijackRequests()
	if err := router.Add("*/pages?scale=*", proto.NetworkResourceTypeFetch, func(h *rod.Hijack) {
		var in struct{ HTML string }
		if err := h.Request.JSONBody().Unmarshal(&in); err != nil {
			w.t.Errorf("the editor sends %s: %v", h.Request.Body(), err)
		}
		one := heldPreview{typed: len(in.HTML), goes: make(chan struct{})}
		select {
		case w.held <- one:
			<-one.goes
			h.ContinueRequest(&proto.FetchContinueRequest{})
		case <-w.t.Context().Done():
		}
	}); err != nil {
		w.t.Fatal(err)
	}
	go router.Run()
	return router
}

// typesHeld types n keys, and returns the requests that were held back meanwhile: the last is for the final text.
func (w *typist) typesHeld(n int) []heldPreview {
	w.t.Helper()
	var list []heldPreview
	w.types(n)
	for patience := time.After(pagePatience); ; {
		select {
		case one := <-w.held:
			list = append(list, one)
		case <-patience:
			w.t.Fatal("no preview is held back")
		}
		if list[len(list)-1].typed == len(w.text) {
			return list
		}
	}
}

// letsGo sends the delayed request, and waits until the page has its response.
func (w *typist) letsGo(one heldPreview) {
	w.t.Helper()
	close(one.goes)
	w.holds("the answer comes", "previewsRead.includes(args[0])", one.typed)
}

// seen are the previews that were shown, none of which may be of less than the one before.
func (w *typist) seen() []seenPreview {
	w.t.Helper()
	found, err := w.page.Eval("() => previewsSeen")
	if err != nil {
		w.t.Fatal(err)
	}
	var list []seenPreview
	if err := found.Value.Unmarshal(&list); err != nil {
		w.t.Fatal(err)
	}
	for i, one := range list {
		if one.Typed <= 0 || i > 0 && one.Typed < list[i-1].Typed {
			w.t.Fatalf("preview %d is older than the one before: %+v", i, list)
		}
	}
	return list
}

// TestTypingNeverShowsAnOlderPreview types ten characters a second into the editor, and watches every preview: none is
// older than the one before, although responses come late and in another order. Meanwhile the last pages stay.
func TestTypingNeverShowsAnOlderPreview(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	_, maya := startWide(t)
	w := newTypist(t, maya)
	const pages = "previewsSeen.some(one => !one.frame && one.typed === args[0])"

	// Some seconds, with pauses as users make them: the pages of what was typed come while the next is.
	for range 4 {
		w.types(12)
	}
	w.holds("the last text is shown", pages, len(w.text))

	// The first response comes while later text is rendered, and another when the pages of a later text are there.
	router := w.holdsBack()
	early := append(w.typesHeld(3), w.typesHeld(3)...)
	late := w.typesHeld(3)
	w.holds("the last pages stay, with a mark of progress", `document.querySelector("[data-stage] .paper img") && !document.querySelector("[data-printing]").hidden &&
		document.querySelector("[data-timing]").textContent === "Rendering…"`)
	w.letsGo(early[0])
	w.letsGo(late[len(late)-1])
	w.holds("pages of the last text are shown", pages, len(w.text))
	for _, one := range append(early[1:], late[:len(late)-1]...) {
		w.letsGo(one)
	}
	if err := router.Stop(); err != nil {
		t.Fatal(err)
	}
	w.types(5)
	w.holds("the last text is shown", pages, len(w.text))
	w.holds("the mark of progress goes", `document.querySelector("[data-printing]").hidden`)
	list := w.seen()
	if slices.ContainsFunc(list, func(one seenPreview) bool { return one.Frame }) {
		t.Errorf("HTML without pages is shown: %+v", list)
	}
	if last := list[len(list)-1]; last.Typed != len(w.text) {
		t.Errorf("the last preview is of %d characters, want %d: %+v", last.Typed, len(w.text), list)
	}
	t.Logf("shown: %+v", list)
	maya.inEditor("HTML", strings.TrimPrefix(w.text, "<p style='overflow-wrap: anywhere'>"))
	maya.calm("the editor")
}
