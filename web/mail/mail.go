// Package mail sends emails over SMTP: they are stored until they are sent, and retried if the server does not accept
// them.
package mail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/views"
)

// Message is one email: its text and its page have the same content.
type Message struct {
	To      string   `json:"to"` // empty means none: the email is stored like others, and not sent
	Subject string   `json:"subject"`
	Lines   []string `json:"lines"` // the paragraphs
	// Link is the one thing to do; without an address there is none.
	Link Link `json:"link"`
}

// Link is the button of an email.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Config selects the server for emails, and their sender.
type Config struct {
	Store *store.Store
	Box   *seal.Box
	// Server is smtp://user:password@host:port or smtps://…. With smtp, the connection is encrypted by STARTTLS
	// if the server offers it, which is required for other machines. With smtps, it is encrypted from the start.
	Server string
	// From is the sender, such as "relaypdf <noreply@example.com>".
	From   string
	Logger *slog.Logger
}

// Queue sends emails. Its methods are safe for concurrent use.
type Queue struct {
	cfg     Config
	queue   *store.Store
	host    string
	options []gomail.Option
	wake    chan struct{}
}

const (
	// sendTimeout is the timeout of one email.
	sendTimeout = time.Minute
	// pollInterval is the interval of the search for emails that other processes have written, or that were postponed.
	pollInterval = 5 * time.Second
	// batch is the number of emails that are claimed at once.
	batch = 10
)

// New returns a post. It connects to no server yet.
func New(cfg Config) (*Queue, error) {
	server, err := url.Parse(cfg.Server)
	if err != nil || server.Hostname() == "" || server.Scheme != "smtp" && server.Scheme != "smtps" {
		return nil, errors.New(
			"the mail server must be a URL such as smtp://user:password@host:587 or smtps://user:password@host:465",
		)
	}

	p := &Queue{cfg: cfg, queue: cfg.Store, host: server.Hostname(), wake: make(chan struct{}, 1)}
	if err := gomail.NewMsg().From(cfg.From); err != nil {
		return nil, fmt.Errorf(
			"the sender of emails must be an address such as relaypdf <noreply@example.com>: %w", err,
		)
	}

	p.options = append(p.options, gomail.WithTimeout(sendTimeout), gomail.WithTLSPolicy(gomail.TLSMandatory))
	switch {
	case server.Scheme == "smtps":
		p.options = append(p.options, gomail.WithSSLPort(false))
	case server.Hostname() == "localhost" || strings.HasPrefix(server.Hostname(), "127.") || server.Hostname() == "::1":
		p.options = append(p.options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	}

	if text := server.Port(); text != "" {
		port, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("the port of the mail server: %w", err)
		}
		p.options = append(p.options, gomail.WithPort(port))
	}

	if user := server.User; user != nil {
		password, _ := user.Password()
		p.options = append(
			p.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(user.Username()), gomail.WithPassword(password),
		)
	}
	return p, nil
}

func purpose(id string) string { return "letter " + id }

// Enqueue stores an email until it is sent, even if the process ends.
func (p *Queue) Enqueue(ctx context.Context, letter Message) error {
	queued, err := p.Seal(letter)
	if err != nil {
		return err
	}
	if err := p.queue.AddEmail(ctx, queued.ID, queued.Sealed); err != nil {
		return err
	}
	p.Wake()
	return nil
}

// Seal converts an email to a row of the store, for a transaction that writes more than emails. Call Wake after its
// commit.
func (p *Queue) Seal(letter Message) (store.QueuedEmail, error) {
	text, err := json.Marshal(letter)
	if err != nil {
		return store.QueuedEmail{}, err
	}
	id := p.cfg.Store.NewID("let")
	sealed, err := p.cfg.Box.Seal(purpose(id), text)
	return store.QueuedEmail{ID: id, Sealed: sealed}, err
}

// SealAll seals the same email for each of these addresses.
func SealAll(sealer interface {
	Seal(letter Message) (store.QueuedEmail, error)
}, to []string, letter Message,
) (sealed []store.QueuedEmail, err error) {
	for _, letter.To = range to {
		one, err := sealer.Seal(letter)
		if err != nil {
			return nil, err
		}
		sealed = append(sealed, one)
	}
	return sealed, nil
}

// Wake triggers the sending of new emails.
func (p *Queue) Wake() {
	select {
	case p.wake <- struct{}{}:
	default: // It is awake.
	}
}

// Run sends due emails until ctx ends.
func (p *Queue) Run(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()

	for {
		if err := p.sendDue(ctx); err != nil && ctx.Err() == nil {
			p.cfg.Logger.LogAttrs(ctx, slog.LevelError, "send letters failed", slog.Any("error", err))
		}

		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-p.wake:
		}
	}
}

func (p *Queue) sendDue(ctx context.Context) error {
	for ctx.Err() == nil {
		due, err := p.queue.ClaimEmails(ctx, batch)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, queued := range due {
			if err := p.deliver(ctx, queued); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver sends one email, or postpones it.
func (p *Queue) deliver(ctx context.Context, queued store.QueuedEmail) error {
	text, err := p.cfg.Box.Open(purpose(queued.ID), queued.Sealed)
	var letter Message
	if err == nil {
		err = json.Unmarshal(text, &letter)
	}
	if err == nil && letter.To != "" {
		err = p.send(ctx, letter)
	}
	if err == nil {
		return p.queue.RemoveEmail(ctx, queued.ID)
	}

	ended, failed := p.queue.FailEmail(ctx, queued)
	// The address stays out of the log.
	p.cfg.Logger.LogAttrs(
		ctx, slog.LevelWarn, "send letter failed", slog.String("letter", queued.ID),
		slog.Int("attempt", queued.Attempts), slog.Bool("givenUp", ended), slog.Any("error", err),
	)

	return failed
}

func (p *Queue) send(ctx context.Context, letter Message) error {
	message := gomail.NewMsg()
	if err := errors.Join(message.From(p.cfg.From), message.To(letter.To)); err != nil {
		return err
	}

	message.Subject(letter.Subject)
	message.SetDate()
	message.SetMessageID()
	message.SetBodyString(gomail.TypeTextPlain, letter.plain())

	var page bytes.Buffer
	html := views.LetterPage(views.Letter{
		Subject: letter.Subject,
		Lines:   letter.Lines,
		Link:    views.Link{URL: letter.Link.URL, Text: letter.Link.Text},
	})
	if err := html.Render(ctx, &page); err != nil {
		return err
	}
	message.AddAlternativeString(gomail.TypeTextHTML, page.String())

	client, err := gomail.NewClient(p.host, p.options...)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return client.DialAndSendWithContext(ctx, message)
}

// plain returns the email as plain text.
func (l Message) plain() string {
	text := strings.Join(l.Lines, "\n\n") + "\n"
	if l.Link.URL != "" {
		text += "\n" + l.Link.Text + ":\n" + l.Link.URL + "\n"
	}
	return text
}
