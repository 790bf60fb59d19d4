// Package docs holds the documentation for users: guides in Markdown, the reference made of the OpenAPI document,
// and the samples of both.
package docs

import (
	_ "embed"
	"encoding/json"
	"html"
	"strings"
	"sync"
	"text/template"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"github.com/relaypdf/relaypdf/views"
)

// marked caches the output of Mark, by language and code. All of it is our own and constant: guides, layouts and
// samples. On a busy machine the highlighter gives up early, so the same code would look different from one request
// to the next.
var marked sync.Map

// Mark writes our own code as HTML with the classes of static/src/app.css.
func Mark(language, code string) string {
	key := [2]string{language, code}
	if made, ok := marked.Load(key); ok {
		return made.(string) //nolint:errcheck // see below
	}
	made, _ := marked.LoadOrStore(key, mark(language, code))
	return made.(string) //nolint:errcheck // see above
}

func mark(language, code string) string {
	lexer := lexers.Get(language)
	if lexer == nil {
		return html.EscapeString(code)
	}

	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return html.EscapeString(code)
	}

	var b strings.Builder
	for token := tokens(); token != chroma.EOF; token = tokens() {
		text := html.EscapeString(token.Value)
		if class := classOf(token.Type); class != "" {
			text = `<span class="` + class + `">` + text + `</span>`
		}
		b.WriteString(text)
	}

	return strings.TrimRight(b.String(), "\n")
}

// classOf returns the class of a kind of token; empty is that of plain text.
func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "x-com"
	case t.InCategory(chroma.Keyword), t == chroma.NameTag, t == chroma.NameBuiltin:
		return "x-tag"
	case t == chroma.NameAttribute, t == chroma.NameProperty:
		return "x-attr"
	case t.InSubCategory(chroma.LiteralNumber):
		return "x-num"
	case t.InSubCategory(chroma.LiteralString):
		return "x-str"
	case t.InSubCategory(chroma.NameVariable):
		return "x-var"
	}
	return ""
}

// Sample is a piece of code with its parts coloured.
func Sample(name, language, code string) views.Sample {
	return views.Sample{Name: name, Language: language, Text: code, HTML: Mark(language, code)}
}

// Request is a call of the API in samples.
type Request struct {
	Method, URL string
	// Body is JSON; empty means none. Upload sends a file instead.
	Body   string
	Upload bool
	// File is the file for the response; empty means standard output.
	File string
	// NoKey is a call that needs none.
	NoKey bool
	// Private marks a user's own call, whose samples are not cached.
	Private bool
}

// Samples are the call in every language of the documentation.
func Samples(r Request) []views.Sample {
	sample := Sample
	if r.Private {
		sample = Own
	}
	return coloured(unmarked(r), sample)
}

// coloured are samples with their parts coloured.
func coloured(samples []views.Sample, sample func(name, language, code string) views.Sample) []views.Sample {
	list := make([]views.Sample, len(samples))
	for i, s := range samples {
		list[i] = sample(s.Name, s.Language, s.Text)
	}
	return list
}

// unmarked are the samples of a call without their HTML.
func unmarked(r Request) []views.Sample {
	return []views.Sample{
		{Name: "curl", Language: "sh", Text: curl(r)}, {Name: "Go", Language: "go", Text: written("go", r)},
		{Name: "JavaScript", Language: "js", Text: written("js", r)},
		{Name: "Python", Language: "python", Text: written("python", r)},
		{Name: "PHP", Language: "php", Text: written("php", r)},
	}
}

// maxMarked is the maximum length of users' code that is highlighted.
const maxMarked = 16 << 10

// Own is a Sample of a user's own code, which is not cached.
func Own(name, language, code string) views.Sample {
	s := views.Sample{Name: name, Language: language, Text: code}
	if len(code) > maxMarked {
		s.HTML = html.EscapeString(code)
	} else {
		s.HTML = mark(language, code)
	}
	return s
}

// curl is the call on a command line.
func curl(r Request) string {
	lines := []string{"curl " + quoted(r.URL)}
	add := func(text string) { lines = append(lines, "  "+text) }
	if r.Method != "GET" && (r.Method != "POST" || r.Body == "" && !r.Upload) {
		lines[0] = "curl -X " + r.Method + " " + quoted(r.URL)
	}
	if !r.NoKey {
		add(`-H "Authorization: Bearer $RELAYPDF_API_KEY"`)
	}

	end := ""
	switch {
	case r.Upload:
		add(`-F file=@report.pdf`)
	case strings.ContainsAny(r.Body, "'\n"):
		add(`-H "Content-Type: application/json"`)
		end = "\n" + strings.TrimSuffix(r.Body, "\n") + "\nJSON"
	case r.Body != "":
		add(`-H "Content-Type: application/json"`)
		add("-d '" + r.Body + "'")
	}

	if r.File != "" {
		add("-o " + r.File)
	}
	if end != "" {
		add("-d @- <<'JSON'")
	}
	return strings.Join(lines, " \\\n") + end
}

func quoted(url string) string {
	if strings.ContainsAny(url, "?&{}") {
		return `"` + url + `"`
	}
	return url
}

// samples holds the call in each language but that of the command line.
//
//go:embed samples.txt
var samples string

var sampleTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"goText":     func(text string) string { return strings.ReplaceAll(text, "`", "` + \"`\" + `") },
	"phpText":    func(text string) string { return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) },
	"pythonText": pythonText,
}).Parse(samples))

// written is the call in a language of samples.txt.
func written(language string, r Request) string {
	call := struct {
		Request

		JSON, Type string // the body unless a file is sent; the type of either
	}{Request: r, JSON: r.Body}

	switch {
	case r.Upload:
		call.JSON = ""
		call.Type = "application/pdf"
	case r.Body != "":
		call.Type = "application/json"
	}

	var b strings.Builder
	if err := sampleTemplates.ExecuteTemplate(&b, language, call); err != nil {
		return err.Error()
	}
	return b.String()
}

// pythonText writes a text as a literal, over several lines if it has them.
func pythonText(text string) string {
	if !strings.Contains(text, `\`) && !strings.Contains(text, "'''") {
		return "'''" + text + "'''"
	}
	literal, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(literal)
}
