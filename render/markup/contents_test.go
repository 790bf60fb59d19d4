package markup

import (
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

func TestWithContents(t *testing.T) {
	doc := `<h1>Title</h1>` + ContentsMark(2) + `<h2 class="a">One &amp; <b>two</b></h2><h3>Deep</h3><H2 id="own">Three</H2><h2/>`
	got := WithContents(doc)
	for _, part := range []string{
		`<h1 id="toc-1">Title</h1>`, `<h2 id="toc-2" class="a">One &amp; <b>two</b></h2>`, `<H2 id="own">`,
		`<li><a href="#toc-2">One &amp; two</a>`, `<li><a href="#own">Three</a>`, `target-counter(attr(href), page)`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	for _, part := range []string{`data-relay-toc`, `>Title</a>`, `>Deep</a>`} {
		if strings.Contains(got, part) {
			t.Errorf("%s in %s", part, got)
		}
	}
	if got := WithContents(ContentsMark(3)); got != `<nav class="toc"></nav>` {
		t.Errorf("without headings: %s", got)
	}
	if doc := "<h1>x</h1>"; WithContents(doc) != doc {
		t.Error("a document without a placeholder changed")
	}
}

func TestHostileContents(t *testing.T) {
	sharedtest.Slow(t)
	start := time.Now()
	for _, doc := range []string{
		ContentsMark(3) + "<h1>" + strings.Repeat("x<b>", 1<<18), strings.Repeat(ContentsMark(3), 1<<14) + strings.Repeat("<h2>x</h2>", 1<<14),
		strings.Repeat(contentsStart, 1<<14), ContentsMark(3) + strings.Repeat("<h1", 1<<18),
	} {
		if got := WithContents(doc); len(got) > 64<<20 {
			t.Errorf("%d bytes", len(got))
		}
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}
