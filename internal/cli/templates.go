package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/store/credit"
)

// newTemplatesCommand works on templates in folders.
func newTemplatesCommand() *cobra.Command {
	return console.NewGroup("templates", "Edit templates in a folder and render them",
		newTemplatesList(), newTemplatesPull(), newTemplatesPush(), newTemplatesDiff(), newTemplatesPublish(),
		newTemplatesRender())
}

func newTemplatesList() *cobra.Command {
	return newListCommand("List the templates", "SLUG\tNAME\tSTATE\tVERSION\tDRAFT\tUPDATED",
		func(ctx context.Context, c *client.Client, limit int, cursor string) ([]client.Template, *string, error) {
			list, err := c.Templates().List(ctx, client.TemplatesListQuery{Limit: limit, Cursor: cursor})
			return list.Templates, list.NextCursor, err
		}, func(t client.Template) []any {
			version := "-"
			draft := "-"
			if t.PublishedVersion != nil {
				version = fmt.Sprint(*t.PublishedVersion)
			}
			if t.HasDraft {
				draft = "yes"
			}

			return []any{t.Slug, t.Name, t.State, version, draft, console.ShortTime(&t.UpdatedAt)}
		}, "templates")
}

var completeTemplates = completeIDs(func(ctx context.Context, c *client.Client) ([]client.Template, error) {
	list, err := c.Templates().List(ctx, client.TemplatesListQuery{})
	return list.Templates, err
}, func(t client.Template) (string, string) { return t.Slug, t.Name })

// onService does something at the service, within the time of a call.
func onService(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	_, err := askService(cmd,
		func(ctx context.Context, c *client.Client) (struct{}, error) { return struct{}{}, do(ctx, c) })
	return err
}

// folderArgument is the folder that a command is about: this one without an argument.
func folderArgument(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

const folderHelp = "The folder contains template.html, data.json (sample data), options.json (options of POST " +
	"/v1/pdf) and partials/NAME.html. " +
	".relaypdf.json records the source of the pull. You can commit it."

func newTemplatesPull() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "pull SLUG [FOLDER]",
		Short:             "Download a template into a folder",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeTemplates,
		Long: "Download the draft of a template, or its published version if there is no draft. The default folder " +
			"has the name of the template.\n\n" + folderHelp,
	}
	force := cmd.Flags().BoolP("force", "f", false, "overwrite local changes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return onService(cmd, func(ctx context.Context, c *client.Client) error {
			t, content, err := fetchTemplate(ctx, c, args[0])
			if err != nil {
				return missingTemplate(err, args[0])
			}

			path := localName(t.Slug)
			if len(args) == 2 {
				path = args[1]
			}
			folder, err := openTemplateFolder(path)
			if err != nil {
				return err
			}

			if changed := folder.changed(content); len(changed) > 0 && !*force {
				return console.Usagef("%s would be overwritten in %s; look at relaypdf templates diff %s, push what you "+
					"changed, or overwrite it with --force",
					strings.Join(changed, ", "), path, path)
			}

			if err := errors.Join(folder.write(content), folder.remember(c.BaseURL, t, content.partials)); err != nil {
				return err
			}
			return console.Say(cmd, "pulled %s into %s: %s", t.Slug, path,
				strings.Join(slices.Sorted(maps.Keys(content.files())), ", "))
		})
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

func missingTemplate(err error, slug string) error {
	var refused *wire.Error
	if errors.As(err, &refused) && refused.Code == wire.NotFound {
		refused.Message = fmt.Sprintf("No template with the slug %q. Run relaypdf templates list.", slug)
	}
	return err
}

// changedThere is the error of a change that would overwrite another user's work.
func changedThere(format string, args ...any) error {
	return &wire.Error{Code: wire.PreconditionFailed, Message: fmt.Sprintf(format, args...)}
}

// templatePush is one command line that sends a folder.
type templatePush struct {
	force, publish bool
	name, comment  string
}

func newTemplatesPush() *cobra.Command {
	p := &templatePush{}
	cmd := &cobra.Command{
		Use: "push [FOLDER]", Short: "Upload a folder as the draft of its template", Args: cobra.MaximumNArgs(1),
		Long: "Upload a folder as the draft of its template. If someone else changed the template or a partial " +
			"after the pull, the command leaves it unchanged and exits with code 11. A folder that was not pulled " +
			"becomes a new template.\n\n" + folderHelp,
	}

	flags := cmd.Flags()
	flags.BoolVarP(&p.force, "force", "f", false, "overwrite changes of others")
	flags.StringVar(&p.name, "name", "", "name of a new template (default the name of the folder)")
	flags.BoolVar(&p.publish, "publish", false, "publish the template after the upload")
	flags.StringVarP(&p.comment, "comment", "m", "", "description of the changes, for --publish")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, content, err := readTemplateFolder(folderArgument(args))
		if err != nil {
			return err
		}
		return onService(cmd,
			func(ctx context.Context, c *client.Client) error { return p.push(ctx, cmd, c, folder, content) })
	}

	setting.AddClientFlags(flags)
	return cmd
}

func (p *templatePush) push(
	ctx context.Context, cmd *cobra.Command, c *client.Client, folder *templateFolder, content templateContent,
) error {
	etag, err := p.check(ctx, c, folder, content)
	if err != nil {
		return err
	}

	for _, name := range slices.Sorted(maps.Keys(content.partials)) {
		if known := folder.state.Servers[c.BaseURL]; known != nil &&
			known.Partials[name] == digest(content.partials[name]) && !p.force {
			continue
		}
		input := client.TemplatesPartialsPutInput{HTML: content.partials[name]}
		if _, err := c.Templates().PartialsPut(ctx, name, input); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(templatePartials, name+".html"), err)
		}
	}

	t, err := p.send(ctx, c, folder, etag, content)
	if err != nil {
		return err
	}

	if err := folder.remember(c.BaseURL, t, content.partials); err != nil {
		return err
	}

	if p.publish && t.HasDraft {
		if t, err = c.Templates().Publish(ctx, t.ID, t.ETag, client.TemplatesPublishInput{Comment: p.comment}); err != nil {
			return err
		}
		if err := folder.remember(c.BaseURL, t, content.partials); err != nil {
			return err
		}
		return console.Say(cmd, "pushed %s, and published it as version %d", t.Slug, *t.PublishedVersion)
	}

	if !t.HasDraft {
		return console.Say(cmd, "pushed %s; it is what is published", t.Slug)
	}
	return console.Say(cmd, "pushed %s; next: relaypdf templates publish %s", t.Slug, t.Slug)
}

// send changes the template of a folder, or creates it.
func (p *templatePush) send(
	ctx context.Context, c *client.Client, folder *templateFolder, etag string, content templateContent,
) (client.TemplateState, error) {
	// A nil RawMessage in a field of any type would be sent as null.
	var data, options any
	if len(content.data) > 0 {
		data = content.data
	}
	if len(content.options) > 0 {
		options = content.options
	}

	if known := folder.state.Servers[c.BaseURL]; known != nil {
		change := client.TemplatesUpdateInput{HTML: content.html, SampleData: data, Options: options}
		return c.Templates().Update(ctx, known.ID, etag, change)
	}
	return c.Templates().Create(ctx, client.TemplatesCreateInput{
		Name: p.newName(folder), Slug: folder.state.Slug, HTML: content.html, SampleData: data, Options: options,
	})
}

func (p *templatePush) newName(folder *templateFolder) string {
	if p.name != "" {
		return p.name
	}
	path, err := filepath.Abs(folder.path)
	if err != nil {
		return folder.path
	}
	return filepath.Base(path)
}

// check finds changes of others before anything is sent, and returns the state to change.
func (p *templatePush) check(
	ctx context.Context, c *client.Client, folder *templateFolder, content templateContent,
) (etag string, err error) {
	known := folder.state.Servers[c.BaseURL]
	stored := map[string]string{}
	if known == nil {
		if len(content.partials) > 0 && !p.force {
			list, err := c.Templates().PartialsList(ctx)
			if err != nil {
				return "", err
			}
			for _, partial := range list.Partials {
				stored[partial.Name] = partial.HTML
			}
		}
	} else {
		t, there, err := fetchTemplate(ctx, c, known.ID)
		if err != nil {
			return "", missingTemplate(err, folder.state.Slug)
		}

		if p.force {
			return "", nil
		}
		if t.ETag != known.ETag {
			return "", changedThere("Somebody has changed %s since it was pulled: look at relaypdf templates diff, "+
				"keep a copy of yours and pull with --force, or push with --force.", t.Slug)
		}
		stored = there.partials
	}

	for name, html := range content.partials {
		text, there := stored[name]
		base := ""
		if known != nil {
			base = known.Partials[name]
		}

		if there && digest(text) != base && text != html {
			return "", changedThere("The partial %s is another one at the service, changed by somebody else or "+
				"made for another template: look at relaypdf templates diff, rename yours, or push with --force.", name)
		}
	}

	if known == nil {
		return "", nil
	}
	return known.ETag, nil
}

func newTemplatesDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diff [FOLDER]", Short: "Show the changes that a push would make", Args: cobra.MaximumNArgs(1),
		Long: "Compare the draft on the server with a folder, using diff. If both are equal, the command prints " +
			"nothing.",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, content, err := readTemplateFolder(folderArgument(args))
		if err != nil {
			return err
		}

		return onService(cmd, func(ctx context.Context, c *client.Client) error {
			known := folder.state.Servers[c.BaseURL]
			if known == nil {
				return console.Usagef(
					"%s was neither pulled from %s nor pushed to it; relaypdf templates push makes a new template of it",
					folder.path, c.BaseURL)
			}

			_, there, err := fetchTemplate(ctx, c, known.ID)
			if err != nil {
				return missingTemplate(err, folder.state.Slug)
			}
			return showDiff(ctx, cmd, there, content)
		})
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// showDiff compares two contents as users read it.
func showDiff(ctx context.Context, cmd *cobra.Command, there, here templateContent) (err error) {
	work, err := os.MkdirTemp("", "relaypdf-diff-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	sameJSON := func(a, b *json.RawMessage) {
		if prettyText(*a) != prettyText(*b) {
			return
		}
		*b = *a // but for space
	}
	sameJSON(&there.data, &here.data)
	sameJSON(&there.options, &here.options)

	for name, content := range map[string]templateContent{"service": there, "folder": here} {
		side := &templateFolder{path: filepath.Join(work, name)}
		if err := side.write(content); err != nil {
			return err
		}
	}

	diff := exec.CommandContext(ctx, "diff", "-ruN", "service", "folder")
	diff.Dir = work
	diff.Stdout = cmd.OutOrStdout()
	diff.Stderr = cmd.ErrOrStderr()
	var ended *exec.ExitError
	if err := diff.Run(); errors.As(err, &ended) && ended.ExitCode() == 1 {
		return nil // they differ
	} else if err != nil {
		return fmt.Errorf("compare: %w", err)
	}

	return console.Say(cmd, "no differences")
}

func newTemplatesPublish() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "publish SLUG",
		Short:             "Publish the draft of a template as a new version",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTemplates,
	}
	comment := cmd.Flags().StringP("comment", "m", "", "description of the changes")
	asJSON := cmd.Flags().Bool("json", false, "print the template as a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		slug := args[0]
		folder, err := openTemplateFolder(slug)
		if err != nil {
			return err
		}

		return onService(cmd, func(ctx context.Context, c *client.Client) error {
			etag := ""
			if known := folder.state.Servers[c.BaseURL]; known != nil { // a folder
				slug = known.ID
				etag = known.ETag
			}

			t, err := c.Templates().Publish(ctx, slug, etag, client.TemplatesPublishInput{Comment: *comment})
			if err != nil {
				return missingTemplate(err, slug)
			}

			if known := folder.state.Servers[c.BaseURL]; known != nil {
				partials := map[string]string{}
				if content, err := folder.read(); err == nil {
					partials = content.partials
				}
				if err := folder.remember(c.BaseURL, t, partials); err != nil {
					return err
				}
			}

			if *asJSON {
				return console.PrintJSON(cmd.OutOrStdout(), t.Template)
			}
			return console.PrintLine(cmd, fmt.Sprintf("%s is published as version %d", t.Slug, *t.PublishedVersion))
		})
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// templateRender is one command line that renders a folder.
type templateRender struct {
	destination      destination
	watch, noBrowser bool
	strict           bool
	data             string
	port             int
	spent            credit.Amount
}

func newTemplatesRender() *cobra.Command {
	r := &templateRender{}
	cmd := &cobra.Command{
		Use: "render [FOLDER]", Short: "Create a PDF from a template folder and its data", Args: cobra.MaximumNArgs(1),
		Long: "Create a PDF from a folder, with the partials in it, before you push. The price is that of relaypdf " +
			"templates preview.\n\n" +
			"With --watch, a local web page shows the document and updates it when a file is saved. Each update is a call. Stop with Ctrl-C.\n\n" + folderHelp,
	}

	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&r.destination.name, "output", "o", "",
		"file or folder for the PDF; - for standard output. Default: the "+
			"name of the template's folder, in the current "+
			"folder")
	flags.BoolVarP(&r.destination.force, "force", "f", false, "overwrite the output file")
	flags.StringVar(&r.data, "data", "", "file with the data (default data.json)")
	flags.BoolVar(&r.strict, "strict", false, "fail if the data lacks a path of the template")
	flags.BoolVarP(&r.watch, "watch", "w", false, "show the document in a browser and update it on changes")
	flags.IntVar(&r.port, "port", 0, "port of the --watch page (default a free port)")
	flags.BoolVar(&r.noBrowser, "no-browser", false, "do not open the --watch page in a browser")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, err := openTemplateFolder(folderArgument(args))
		if err != nil {
			return err
		}

		if r.watch {
			if r.destination.name != "" {
				return console.Usagef("--watch shows the document in a browser; leave --output out")
			}
			return r.follow(cmd, folder)
		}
		return r.once(cmd, folder)
	}

	setting.AddClientFlags(flags)
	return cmd
}

// input returns the request for the current state of a folder.
func (r *templateRender) input(folder *templateFolder) (map[string]any, error) {
	content, err := folder.read()
	if err != nil {
		return nil, err
	}

	if r.data != "" {
		text, err := os.ReadFile(r.data)
		if err != nil {
			return nil, console.UsageError{Err: err}
		}
		if err := checkObject(text); err != nil {
			return nil, console.Usagef("%s: %w", r.data, err)
		}
		content.data = text
	}

	return map[string]any{
		"html": content.inlined(), "sampleData": content.data, "options": content.options, "strict": r.strict,
	}, nil
}

func (r *templateRender) once(cmd *cobra.Command, folder *templateFolder) (err error) {
	input, err := r.input(folder)
	if err != nil {
		return err
	}

	to := &r.destination
	if ending := filepath.Ext(to.name); to.name != "-" && ending != "" && ending != "." &&
		!strings.EqualFold(ending, ".pdf") && !to.isPlace() {
		return console.Usagef("--output %s: templates render makes .pdf", to.name)
	}

	to.after = (&templatePush{}).newName(folder) + ".pdf"
	if err := to.open(cmd.OutOrStdout(), []string{"application/pdf"}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.discard()) }()

	begin := time.Now()
	stop := startProgress(cmd.ErrOrStderr(), "templates.preview")
	defer stop()
	return onService(cmd, func(ctx context.Context, c *client.Client) error {
		result, err := c.Do(ctx, "templates.preview", input, client.CallOptions{})
		if err != nil {
			return err
		}
		defer result.Body.Close()
		path, size, err := to.write(cmd.OutOrStdout(), result)
		stop()
		if err != nil {
			return networkError{err}
		}

		return console.Say(cmd, "%s", callOutput{
			Filename: result.Filename, Path: path, SizeBytes: size, ChargedMicrodollars: credit.Amount(result.Charged),
		}.summary(time.Since(begin)))
	})
}
