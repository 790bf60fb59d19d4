// Package docs holds the documentation for users: guides in Markdown, the reference made of the OpenAPI document,
// and the samples of both.
package docs

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"relaypdf/views"
)

// marked caches the output of Mark, by language and code. All of it is our own and constant: guides, layouts and
// samples. On a busy machine the highlighter gives up early, so the same code would look different from one request
// to the next.
var marked sync.Map

// Mark writes our own code as HTML with the classes of static/src/app.css.
func Mark(language, code string) string {
	key := [2]string{language, code}
	if made, ok := marked.Load(key); ok {
		return made.(string) //nolint:errcheck,forcetypeassert // see below
	}
	made, _ := marked.LoadOrStore(key, mark(language, code))
	return made.(string) //nolint:errcheck,forcetypeassert // see above
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
		{Name: "curl", Language: "sh", Text: Curl(r)}, {Name: "Go", Language: "go", Text: goSample(r)}, {Name: "JavaScript", Language: "js", Text: jsSample(r)},
		{Name: "Python", Language: "python", Text: pythonSample(r)}, {Name: "PHP", Language: "php", Text: phpSample(r)},
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

// Curl is the call on a command line.
func Curl(r Request) string {
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

func goSample(r Request) string {
	body, kind := "nil", ""
	switch {
	case r.Upload:
		body, kind = "file", "application/pdf"
	case r.Body != "":
		body, kind = "strings.NewReader(`"+strings.ReplaceAll(r.Body, "`", "` + \"`\" + `")+"`)", "application/json"
	}
	imports := []string{"fmt", "io", "net/http", "os"}
	if strings.HasPrefix(body, "strings") {
		imports = append(imports, "strings")
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, name := range imports {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	b.WriteString(")\n\nfunc main() {\n\tif err := run(); err != nil {\n\t\tfmt.Fprintln(os.Stderr, err)\n\t\tos.Exit(1)\n\t}\n}\n\nfunc run() error {\n")
	if r.Upload {
		b.WriteString("\tfile, err := os.Open(\"report.pdf\")\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer file.Close()\n")
	}
	fmt.Fprintf(&b, "\treq, err := http.NewRequest(%q, %q, %s)\n\tif err != nil {\n\t\treturn err\n\t}\n", r.Method, r.URL, body)
	if !r.NoKey {
		b.WriteString("\treq.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"RELAYPDF_API_KEY\"))\n")
	}
	if kind != "" {
		fmt.Fprintf(&b, "\treq.Header.Set(\"Content-Type\", %q)\n", kind)
	}
	b.WriteString("\tres, err := http.DefaultClient.Do(req)\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer res.Body.Close()\n")
	b.WriteString("\tanswer, err := io.ReadAll(res.Body)\n\tif err != nil {\n\t\treturn err\n\t}\n")
	b.WriteString("\tif res.StatusCode >= 300 {\n\t\treturn fmt.Errorf(\"%s: %s\", res.Status, answer)\n\t}\n")
	if r.File != "" {
		fmt.Fprintf(&b, "\treturn os.WriteFile(%q, answer, 0o644)\n}", r.File)
	} else {
		b.WriteString("\tfmt.Println(string(answer))\n\treturn nil\n}")
	}
	return b.String()
}

func jsSample(r Request) string {
	var b strings.Builder
	var files []string
	if r.Upload {
		files = append(files, "readFile")
	}
	if r.File != "" {
		files = append(files, "writeFile")
	}
	if len(files) > 0 {
		fmt.Fprintf(&b, "import { %s } from \"node:fs/promises\";\n\n", strings.Join(files, ", "))
	}
	fmt.Fprintf(&b, "const res = await fetch(%q, {\n  method: %q,\n", r.URL, r.Method)
	var headers []string
	if !r.NoKey {
		headers = append(headers, "Authorization: `Bearer ${process.env.RELAYPDF_API_KEY}`")
	}
	switch {
	case r.Upload:
		headers = append(headers, `"Content-Type": "application/pdf"`)
	case r.Body != "":
		headers = append(headers, `"Content-Type": "application/json"`)
	}
	if len(headers) > 0 {
		fmt.Fprintf(&b, "  headers: { %s },\n", strings.Join(headers, ", "))
	}
	switch {
	case r.Upload:
		b.WriteString("  body: await readFile(\"report.pdf\"),\n")
	case r.Body != "":
		fmt.Fprintf(&b, "  body: JSON.stringify(%s),\n", r.Body)
	}
	b.WriteString("});\nif (!res.ok) throw new Error(await res.text());\n")
	if r.File != "" {
		fmt.Fprintf(&b, "await writeFile(%q, Buffer.from(await res.arrayBuffer()));", r.File)
	} else {
		b.WriteString("console.log(await res.text());")
	}
	return b.String()
}

func pythonSample(r Request) string {
	var b strings.Builder
	b.WriteString("import os\nimport urllib.request\n\n")
	data := ""
	switch {
	case r.Upload:
		data = `open("report.pdf", "rb").read()`
	case r.Body != "":
		data = "body.encode()"
		fmt.Fprintf(&b, "body = %s\n", pythonText(r.Body))
	}
	fmt.Fprintf(&b, "req = urllib.request.Request(\n    %q, method=%q,\n", r.URL, r.Method)
	if data != "" {
		fmt.Fprintf(&b, "    data=%s,\n", data)
	}
	var headers []string
	if !r.NoKey {
		headers = append(headers, `"Authorization": "Bearer " + os.environ["RELAYPDF_API_KEY"]`)
	}
	switch {
	case r.Upload:
		headers = append(headers, `"Content-Type": "application/pdf"`)
	case r.Body != "":
		headers = append(headers, `"Content-Type": "application/json"`)
	}
	fmt.Fprintf(&b, "    headers={%s},\n)\n", strings.Join(headers, ", "))
	b.WriteString("with urllib.request.urlopen(req) as res:\n    answer = res.read()\n")
	if r.File != "" {
		fmt.Fprintf(&b, "with open(%q, \"wb\") as file:\n    file.write(answer)", r.File)
	} else {
		b.WriteString("print(answer.decode())")
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

func phpSample(r Request) string {
	var headers []string
	if !r.NoKey {
		headers = append(headers, "'Authorization: Bearer ' . getenv('RELAYPDF_API_KEY')")
	}
	content := ""
	switch {
	case r.Upload:
		headers = append(headers, "'Content-Type: application/pdf'")
		content = "file_get_contents('report.pdf')"
	case r.Body != "":
		headers = append(headers, "'Content-Type: application/json'")
		content = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(r.Body) + "'"
	}
	var b strings.Builder
	b.WriteString("<?php\n")
	fmt.Fprintf(&b, "$answer = file_get_contents('%s', false, stream_context_create(['http' => [\n    'method' => '%s',\n", r.URL, r.Method)
	fmt.Fprintf(&b, "    'header' => [%s],\n", strings.Join(headers, ", "))
	if content != "" {
		fmt.Fprintf(&b, "    'content' => %s,\n", content)
	}
	b.WriteString("    'ignore_errors' => true,\n]]));\nif (!str_contains($http_response_header[0], ' 20')) {\n    throw new RuntimeException($answer);\n}\n")
	if r.File != "" {
		fmt.Fprintf(&b, "file_put_contents('%s', $answer);", r.File)
	} else {
		b.WriteString("echo $answer;")
	}
	return b.String()
}
