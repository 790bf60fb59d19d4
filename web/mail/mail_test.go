package mail_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/quotedprintable"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/web/mail"
)

// server is an SMTP server that stores the emails it accepts.
type server struct {
	net.Listener
	mu      sync.Mutex
	taken   []string
	refuse  bool
	refused int
	done    sync.WaitGroup
}

func newServer(t *testing.T) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: listener}
	s.done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.done.Go(func() { s.talk(conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); s.done.Wait() })
	return s
}

func (s *server) refusing(yes bool) { s.mu.Lock(); s.refuse = yes; s.mu.Unlock() }

func (s *server) letters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.taken...)
}

func (s *server) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	say := func(text string) { _, _ = fmt.Fprintf(conn, "%s\r\n", text) }
	say("220 test")
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " "); verb {
		case "EHLO", "HELO":
			say("250 test")
		case "RCPT":
			s.mu.Lock()
			refuse := s.refuse
			if refuse {
				s.refused++
			}
			s.mu.Unlock()
			if refuse {
				say("451 try later")
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				text.WriteString(line)
			}
			s.mu.Lock()
			s.taken = append(s.taken, text.String())
			s.mu.Unlock()
			say("250 ok")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func newPost(t *testing.T, s *store.Store, address string) *mail.Queue {
	t.Helper()
	box, err := seal.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	post, err := mail.New(mail.Config{Store: s, Box: box, Server: "smtp://" + address, From: "relaypdf <noreply@example.com>", Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// run sends emails until the test ends, and not longer: it logs to the test's log.
func run(t *testing.T, post *mail.Queue) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { post.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

var letter = mail.Message{
	To: "maya@example.com", Subject: "Confirm your address", Lines: []string{"Welcome, Zoë & <friends>.", "The link works once."},
	Link: mail.Link{Text: "Confirm", URL: "https://relaypdf.example/verify?token=abc"},
}

// waitFor polls until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look, end := time.NewTicker(20*time.Millisecond), time.After(5*time.Minute)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("%s did not happen", what)
		}
	}
}

func TestEmailsAreSentAsTextAndHTML(t *testing.T) {
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, smtp := db.Open(t, storetest.NewClock(time.Now())), newServer(t)
		post := newPost(t, s, smtp.Addr().String())
		run(t, post)
		if err := post.Enqueue(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the letter", func() bool { return len(smtp.letters()) == 1 })
		text := smtp.letters()[0]
		for _, want := range []string{"To: <maya@example.com>", "Subject: Confirm your address", "multipart/alternative", "text/plain", "text/html"} {
			if !strings.Contains(text, want) {
				t.Errorf("the letter lacks %q:\n%s", want, text)
			}
		}
		plain, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Welcome, Zoë & <friends>.", "Welcome, Zoë &amp; &lt;friends&gt;.", "https://relaypdf.example/verify?token=abc"} {
			if !strings.Contains(string(plain), want) {
				t.Errorf("the letter lacks %q:\n%s", want, plain)
			}
		}
		waitFor(t, "the end of the queue", func() bool { due, err := s.ClaimEmails(t.Context(), 10); return err == nil && len(due) == 0 })
	})
}

func TestEmailsAreRetried(t *testing.T) {
	sharedtest.Slow(t)
	clock := storetest.NewClock(time.Now())
	s, smtp := storetest.SQLite(t).Open(t, clock), newServer(t)
	smtp.refusing(true)
	post := newPost(t, s, smtp.Addr().String())
	if err := post.Enqueue(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	run(t, post)
	waitFor(t, "the first attempt", func() bool {
		smtp.mu.Lock()
		defer smtp.mu.Unlock()
		return smtp.refused == 1
	})
	smtp.refusing(false)
	waitFor(t, "the second attempt", func() bool {
		clock.Advance(time.Minute)
		return len(smtp.letters()) == 1
	})
}

func TestEmailsAreStoredEncrypted(t *testing.T) {
	s := storetest.SQLite(t).Open(t, storetest.NewClock(time.Now()))
	if err := newPost(t, s, "127.0.0.1:1").Enqueue(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	kept, err := s.ClaimEmails(t.Context(), 10)
	if err != nil || len(kept) != 1 || strings.Contains(string(kept[0].Sealed), "token") || len(kept[0].Sealed) == 0 {
		t.Errorf("got %+v, %v", kept, err)
	}
}

func TestSettingsOfMailAreChecked(t *testing.T) {
	for _, server := range []string{"", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://mail.example.com:x"} {
		if _, err := mail.New(mail.Config{Server: server, From: "a@example.com", Store: &store.Store{}}); err == nil {
			t.Errorf("the server %q was accepted", server)
		}
	}
	if _, err := mail.New(mail.Config{Server: "smtp://mail.example.com", From: "nobody", Store: &store.Store{}}); err == nil {
		t.Error("a sender without an address was accepted")
	}
	if _, err := mail.New(mail.Config{Server: "smtps://u:p@mail.example.com", From: "a@example.com", Store: &store.Store{}}); err != nil {
		t.Error(errors.Join(errors.New("good settings were refused"), err))
	}
}
