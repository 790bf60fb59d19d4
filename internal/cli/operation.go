package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// callTime bounds a call with its upload and download. The service's own
// deadline is far below; this is for lines that hang.
const callTime = 15 * time.Minute

// addOperations adds a command for each row of the table, by its words. The
// command of a row that ends in "create" has its group as a short form.
func addOperations(root *cobra.Command, table operationList) error {
	for _, operation := range table {
		words := operation.Words()
		parent := root
		for _, word := range words[:len(words)-1] {
			parent = subcommand(parent, word)
		}

		last := words[len(words)-1]
		cmd := &cobra.Command{}
		if err := configure(cmd, operation, last, table); err != nil {
			return err
		}

		parent.AddCommand(cmd)
		if last == "create" && parent != root {
			if err := configure(parent, operation, parent.Name(), table); err != nil {
				return err
			}
			parent.Long = "Short form of relaypdf " + strings.Join(words, " ") + ".\n\n" + parent.Long
			parent.Annotations = map[string]string{shortForm: "relaypdf " + strings.Join(words, " ")}
		}
	}
	return nil
}

// subcommand returns the command of that name below parent, which it makes
// when it is missing.
func subcommand(parent *cobra.Command, name string) *cobra.Command {
	for _, cmd := range parent.Commands() {
		if cmd.Name() == name {
			return cmd
		}
	}
	cmd := console.NewGroup(name, groupShort(name))
	if !parent.HasParent() {
		cmd.GroupID = clientGroup
	}
	parent.AddCommand(cmd)
	return cmd
}

// groupShort describes a group of operations.
func groupShort(name string) string {
	if name == "form" {
		return "Read and fill the form fields of a PDF"
	}
	return "Operations on " + name
}

// operationCall is one command line for an operation.
type operationCall struct {
	operation *schema.Spec
	table     operationList
	fields    []*field
	takes     sources

	body           string // of --json
	markdown       bool
	destination    destination
	asJSON, quiet  bool
	idempotencyKey string
	maxCharge      string
	retries        int
}

// configure makes cmd the command of an operation: its flags and texts all derive from the operation's row.
func configure(
	cmd *cobra.Command, operation *schema.Spec, name string, table operationList,
) error {
	c := &operationCall{operation: operation, table: table, takes: sourcesOf(operation.Schema)}
	c.takes.otherwise = otherCommands(table)
	c.takes.local = &localFiles{asAssets: takesAssets(operation.Schema)}

	cmd.Use = strings.TrimSpace(name + " " + c.takes.usage())
	cmd.Short = operation.Summary
	cmd.Long = c.help()
	cmd.Args = c.takes.checkArgs
	cmd.FParseErrWhitelist.UnknownFlags = false
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) }

	flags := cmd.Flags()
	flags.SortFlags = false // they have the order of the input's fields
	flags.StringVarP(&c.destination.name, "output", "o", "", "file or folder for the result; - for standard "+
		"output. Default: a file in the current folder, named after the source; standard output for JSON. If the "+
		"operation has several output formats, the extension selects one. A job is waited for only with this flag; "+
		"otherwise its ID is printed")
	flags.BoolVarP(&c.destination.force, "force", "f", false, "overwrite the output file")
	flags.StringVar(&c.body, "json", "",
		"request as JSON: a file, - for standard input, or {…}. Other flags override it")
	flags.BoolVar(&c.asJSON, "json-output", false, "print details of the result as a JSON object")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "hide the progress and the summary")
	flags.StringVar(&c.idempotencyKey, "idempotency-key", "",
		"key that makes retries safe for 24 hours. A repeated call returns the first result and is charged once")
	flags.StringVar(&c.maxCharge, "max-charge", "", "maximum price of the call, in US dollars")
	flags.IntVar(&c.retries, "retries", 0,
		"maximum number of retries after rate limiting. With --idempotency-key, also after server and network errors")

	if c.takes.has("markdown") {
		flags.BoolVar(&c.markdown, "markdown", false, "treat the source as Markdown")
	}
	if c.takes.has("html") || c.takes.has("markdown") {
		flags.BoolVar(&c.takes.local.off, "no-local-files", false,
			"do not upload local files that the page refers to. By default, relaypdf uploads its styles, images, "+
				"fonts and scripts")
	}

	c.fields = addFields(flags, operation.Schema)
	cmd.Example = c.examples()
	setting.AddClientFlags(flags)
	return c.complete(cmd)
}

func (c *operationCall) help() string {
	text := c.operation.Summary + ".\n\n"
	if said := c.takes.help(); said != "" {
		text += said + "\n\n"
	}
	var price []string
	if !c.operation.Composite() {
		price = append(price,
			fmt.Sprintf("Price: %v per call, unless the operator has set another.", c.operation.Price))
	}
	if c.operation.PriceNote != "" {
		price = append(price, c.operation.PriceNote)
	}
	return text + strings.Join(price, " ") + "\n\nA flag value @FILE is read from that file; @@ is a literal @."
}

// examples are made of the row's own one.
func (c *operationCall) examples() string {
	command := "  relaypdf " + strings.Join(c.operation.Words(), " ")
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c.operation.Example); err != nil {
		return ""
	}
	quoted := shellQuote(strings.TrimSpace(text.String()))

	var input map[string]any
	if err := json.Unmarshal([]byte(text.String()), &input); err != nil {
		return ""
	}

	made := c.expected(input)
	options := c.exampleFlags(input) + " -o result" + made.extensions[0]
	if made.media == "application/json" {
		options = c.exampleFlags(input)
	}

	var examples []string
	switch {
	case c.takes.has("files"):
		examples = append(examples, command+" first second"+options)
	case c.takes.has("html"):
		examples = append(examples, command+" page.html"+options)
	case c.takes.has("file"):
		examples = append(examples, command+" document.pdf"+options)
	}

	if len(quoted) <= maxExample || len(examples) == 0 {
		examples = append(examples, command+" --json "+quoted)
	}
	return strings.Join(examples, "\n")
}

// exampleFlags writes the fields of the row's example as flags, but for its
// sources.
func (c *operationCall) exampleFlags(input map[string]any) string {
	var flags strings.Builder
	for _, f := range c.fields {
		value := f.in(input)
		if value == nil || isMap(f.schema) || f.path[0] == sourceFilename {
			continue
		}

		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			if err != nil {
				return ""
			}
			text = string(encoded)
		}

		separator := " "
		if f.schema.Type == "boolean" {
			separator = "="
		}
		flags.WriteString(" --" + f.flag + separator + shellQuote(text))
	}

	return flags.String()
}

var shellPlain = regexp.MustCompile(`^[\w.,:%+@/-]+$`)

// shellQuote writes a text as one word of a shell's command line.
func shellQuote(text string) string {
	if shellPlain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// maxExample is the longest request that is shown whole. A longer one has a
// file in it, which would push everything else off the screen.
const maxExample = 400

// run makes the call and writes its result to the output. Errors that can be found without the service are reported
// before the call is paid.
func (c *operationCall) run(cmd *cobra.Command, args []string) (err error) {
	service, err := connect(cmd, c.retries)
	if err != nil {
		return err
	}

	input, err := c.input(cmd, args)
	if err != nil {
		return err
	}
	c.takes.local.addTo(input)

	options := client.CallOptions{IdempotencyKey: c.idempotencyKey}
	if c.maxCharge != "" {
		limit, err := credit.ParseDollars(c.maxCharge)
		if err != nil {
			return console.Usagef("--max-charge: %w", err)
		}
		options.MaxCharge = (*int64)(&limit)
	}

	if err := c.prepare(cmd, args, input); err != nil {
		return err
	}

	c.tellFiles(cmd)
	defer func() { err = errors.Join(err, c.destination.discard()) }()
	return c.call(cmd, service, input, options)
}

// tellFiles reports which local files are uploaded, and which are not although the page refers to them; the latter in
// pipes, too.
func (c *operationCall) tellFiles(cmd *cobra.Command) {
	if c.quiet {
		return
	}
	local := c.takes.local
	if len(local.sent) > 0 && console.IsTerminal(cmd.ErrOrStderr()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "uploaded: %s  %s\n", strings.Join(local.sent, ", "), setting.SizeText(local.bytes))
	}
	for _, text := range local.missed {
		fmt.Fprintln(cmd.ErrOrStderr(), "relaypdf: "+text)
	}
}

// noRetries is a [client.Client] without retries: 0 means its default.
const noRetries = -1

// connect returns a client for the service that the settings name.
func connect(cmd *cobra.Command, retries int) (*client.Client, error) {
	service, err := reach(cmd, retries)
	if err == nil && service.Key == "" {
		err = &wire.Error{Code: wire.Unauthorized, Message: noKey(service.BaseURL)}
	}
	return service, err
}

// loadSettings reads the settings for a command. Its errors count as usage errors.
func loadSettings(cmd *cobra.Command) (setting.Client, error) {
	config, err := setting.LoadClient(cmd.Flags(), os.Environ())
	if err != nil {
		return config, console.UsageError{Err: err}
	}
	return config, nil
}

// reach is connect for calls that need no key.
func reach(cmd *cobra.Command, retries int) (*client.Client, error) {
	config, err := loadSettings(cmd)
	if err != nil {
		return nil, err
	}
	found, err := credentialsOf(config)
	if err != nil {
		return nil, err
	}
	return &client.Client{
		BaseURL: found.url, Key: found.key, UserAgent: "relaypdf/" + version.Version, Retries: cmp.Or(retries, noRetries),
	}, nil
}

// askService makes a call that answers at once.
func askService[T any](
	cmd *cobra.Command, call func(context.Context, *client.Client) (T, error),
) (answer T, err error) {
	return askBy(cmd, connect, call)
}

// askBy is askService by a client of one's own, which dial makes.
func askBy[T any](
	cmd *cobra.Command, dial func(cmd *cobra.Command, retries int) (*client.Client, error),
	call func(context.Context, *client.Client) (T, error),
) (answer T, err error) {
	client, err := dial(cmd, 0)
	if err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), callTime)
	defer cancel()
	answer, err = call(ctx, client)
	return answer, unreached(client.BaseURL, err)
}

// prepare opens the output, unless the response in the chosen mode is not a file.
func (c *operationCall) prepare(cmd *cobra.Command, args []string, input map[string]any) error {
	mode := input["response"]
	if c.asJSON && c.destination.name == "-" {
		return console.Usagef("--json-output and --output - both want standard output; choose one")
	}

	switch quote, _ := input["quote"].(bool); {
	case mode == schema.URL && c.destination.name != "":
		return console.Usagef("--response url prints a URL and writes no file; leave --output out")
	case mode == schema.URL:
		return nil
	case mode == schema.Async, c.operation.Bulk && !quote:
		if c.destination.name == "" {
			return nil
		}
		return c.destination.open(cmd.OutOrStdout(), []string{"application/octet-stream"})
	}

	last, lastInput := c.last(input)
	if err := last.checkOutput(lastInput); err != nil {
		return err
	}

	named, _ := input["filename"].(string)
	if len(args) == 1 && !c.takes.has("files") && args[0] != "-" && !isAddress(args[0]) && input["url"] == nil &&
		named == "" {
		c.destination.after = last.nameAfter(args[0], lastInput)
	}
	return c.destination.open(cmd.OutOrStdout(), last.operation.Produces)
}

func (c *operationCall) call(
	cmd *cobra.Command, client *client.Client, input map[string]any, options client.CallOptions,
) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), callTime)
	defer cancel()

	begin := time.Now()
	stop := func() {}
	if !c.quiet {
		stop = startProgress(cmd.ErrOrStderr(), c.operation.Name)
		defer stop()
	}

	result, err := client.Do(ctx, c.operation.Name, input, options)
	if err != nil {
		return unreached(client.BaseURL, err)
	}
	if result.Job != nil && c.destination.name != "" {
		stop()
		wait := jobWait{destination: &c.destination, asJSON: c.asJSON, quiet: c.quiet, timeout: jobTime}
		return wait.finish(cmd, client, result.ID)
	}

	made, err := c.receive(cmd, result)
	stop()
	if err != nil {
		return err
	}

	switch {
	case c.quiet || !console.IsTerminal(cmd.ErrOrStderr()):
	case result.Job != nil:
		fmt.Fprintln(cmd.ErrOrStderr(), "the job continues; next: relaypdf jobs wait "+result.ID)
	default:
		fmt.Fprintln(cmd.ErrOrStderr(), made.summary(time.Since(begin)))
	}
	return nil
}

// unreached explains an error of the network.
func unreached(baseURL string, err error) error {
	var network *url.Error
	if !errors.As(err, &network) {
		return err
	}
	return networkError{fmt.Errorf("no response from %s: %w; check that the server runs there, or set RELAYPDF_API_URL",
		baseURL, network.Err)}
}

// callOutput is the outcome of a call, as --json-output prints it for a result without a URL.
type callOutput struct {
	ID                  string        `json:"id"`
	Filename            string        `json:"filename"`
	Path                string        `json:"path"` // empty: standard output
	ContentType         string        `json:"contentType"`
	SizeBytes           int64         `json:"sizeBytes"`
	ChargedMicrodollars credit.Amount `json:"chargedMicrodollars"`
	Replayed            bool          `json:"replayed"`
	RequestID           string        `json:"requestId"`
	// LocalFiles are the files that were sent with the page.
	LocalFiles []string `json:"localFiles,omitempty"`
}

// receive prints the address of a result, or writes its bytes.
func (c *operationCall) receive(cmd *cobra.Command, result *client.Result) (callOutput, error) {
	m := callOutput{
		ID: result.ID, Filename: result.Filename, ContentType: result.ContentType, SizeBytes: result.Size,
		ChargedMicrodollars: credit.Amount(result.Charged), Replayed: result.Replayed, RequestID: result.RequestID,
		LocalFiles: c.takes.local.sent,
	}

	out := cmd.OutOrStdout()
	if result.Job != nil {
		if c.asJSON {
			return m, console.PrintJSON(out, result.Job)
		}
		return m, console.PrintLine(cmd, result.Job.ID+"\t"+result.Job.PollURL)
	}
	if result.File != nil {
		if c.asJSON {
			return m, console.PrintJSON(out, result.File)
		}
		return m, console.PrintLine(cmd, result.File.URL)
	}

	defer result.Body.Close()
	var err error
	if m.Path, m.SizeBytes, err = c.destination.write(out, result); err != nil {
		return m, networkError{fmt.Errorf("the download of the result %s is incomplete: %w", result.ID, err)}
	}

	if c.asJSON {
		return m, console.PrintJSON(out, m)
	}
	return m, nil
}

// summary is the line that ends a call.
func (m callOutput) summary(took time.Duration) string {
	name := m.Filename
	price := m.ChargedMicrodollars.String()
	if m.Path != "" {
		name = m.Path
	}
	if m.Replayed {
		price = "not charged again"
	}
	return strings.Join([]string{name, setting.SizeText(m.SizeBytes), fmt.Sprintf("%.1f s", took.Seconds()), price}, "  ")
}

// input puts the request together: --json first, then the source, then flags.
func (c *operationCall) input(cmd *cobra.Command, args []string) (map[string]any, error) {
	input := map[string]any{}
	if c.body != "" {
		if c.body == "-" && slices.Contains(args, "-") {
			return nil, console.Usagef("standard input cannot be both the source and --json")
		}
		var err error
		if input, err = readBody(cmd.InOrStdin(), c.body); err != nil {
			return nil, console.Usagef("--json: %w", err)
		}
	}

	if err := c.takes.put(input, cmd.InOrStdin(), args, c.markdown); err != nil {
		return nil, err
	}

	for _, f := range c.fields {
		if !f.given {
			continue
		}
		if err := f.put(input); err != nil {
			return nil, err
		}
	}

	if err := readStepFiles(input); err != nil {
		return nil, err
	}
	if len(input) == 0 {
		return nil, console.Usagef("there is nothing to work on; see %s --help", cmd.CommandPath())
	}

	return input, nil
}

// readBody reads one JSON object: the text itself, standard input or a file.
func readBody(stdin io.Reader, text string) (map[string]any, error) {
	switch {
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return schema.DecodeObject(strings.NewReader(text))
	case text == "-":
		return schema.DecodeObject(stdin)
	}
	f, err := os.Open(strings.TrimPrefix(text, "@"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return schema.DecodeObject(f)
}
