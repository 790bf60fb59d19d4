package views

import (
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Page holds the data that every page needs.
type Page struct {
	// Title is in the window's title bar, before the service's name.
	Title string
	// Open names the section whose tab is open, by its address; empty opens none.
	Open string
	// Nonce allows the page's own scripts.
	Nonce string
	// RequestID is shown at the foot, to be quoted to the operator.
	RequestID string
	// Version is the program's.
	Version string
	// Now is the time that relative times are counted from.
	Now time.Time
	// Person is the logged-in user; nil if there is none.
	Person *Person
	// Banner is the one message above everything; nil is none.
	Banner *Banner
	// Notice is shown once, after an action; empty means none.
	Notice string
	// Asset gives the address of a bundled file by its name.
	Asset func(name string) string
	// Public is set on pages that search engines may index and caches may store.
	Public *Public
}

// Public is the metadata of a public page for search engines and link previews.
type Public struct {
	// Description is one sentence, URL the full URL of the page, Image that of an image of 1200 × 630 pixels.
	Description, URL, Image string
	// Feed is the path of the page's Atom feed; empty means none.
	Feed string
	// SignUp reports whether anyone may create an account.
	SignUp bool
	// Links lead to the pages that the operator has written.
	Links []Link
}

// Person is who is logged in, and for which account.
type Person struct {
	Name, Email string
	Account     string // its name, as its members see it
	Role        string // of the user in the account
	Operator    bool
	Balance     credit.Amount
	// FailedDeliveries is how many of the last 24 hours have failed, at most 99.
	FailedDeliveries int
	// Members of an account that may not change anything see no buttons that do.
	Manages, Pays, Owns bool
}

// Banner is a message that needs a look.
type Banner struct {
	Is   State
	Bold string
	Text string
	At   time.Time // ends the text; zero is none
	Link Link
	// Refresh makes the page look again until the banner has changed.
	Refresh bool
}

// Link is an address and its words.
type Link struct{ URL, Text string }

// State is the status of an object: it determines a shape and a colour.
type State string

// The states.
const (
	StateOK   State = "ok"
	StateRun  State = "run"
	StateWarn State = "warn"
	StateBad  State = "bad"
	StateOff  State = "off"
)

// Status is a state and the word for it.
type Status struct {
	Is   State
	Word string
}

// navGroup is a part of the side bar.
type navGroup struct {
	Title string
	Items []navItem
}

type navItem struct{ URL, Icon, Text string }

var navigation = []navGroup{
	{"", []navItem{
		{"/dashboard", "overview", "Overview"},
		{"/dashboard/playground", "play", "Playground"},
		{"/dashboard/templates", "template", "Templates"},
		{"/dashboard/documents", "document", "Documents"},
		{"/dashboard/requests", "terminal", "Requests"},
	}},
	{"Webhooks", []navItem{
		{"/dashboard/webhooks", "webhook", "Endpoints"},
		{"/dashboard/deliveries", "send", "Deliveries"},
	}},
	{"Account", []navItem{
		{"/dashboard/keys", "key", "Keys"},
		{"/dashboard/connections", "bucket", "Connections"},
		{"/dashboard/signing", "pen", "Signing"},
		{"/dashboard/usage", "usage", "Usage"},
		{"/dashboard/wallet", "wallet", "Wallet"},
		{"/dashboard/settings", "settings", "Settings"},
	}},
}

// operation is the operators' group below the rest.
var operation = navGroup{"Operator", []navItem{{"/admin", "shield", "Accounts"}}}

// creations are the pages that create something.
var creations = []Link{
	{"/dashboard/keys/new", "Create API key"}, {"/dashboard/templates/new", "Create template"},
	{"/dashboard/templates/gallery", "Template gallery"},
	{"/dashboard/webhooks/new", "Add webhook endpoint"}, {"/dashboard/connections/new?kind=s3", "Add bucket"},
	{"/dashboard/connections/new?kind=sftp", "Add SFTP server"},
	{"/dashboard/signing/new", "Add signing identity"},
}

// Pages lists the pages that the user may open, with their sections as notes.
func (p *Person) Pages() []Choice {
	var list []Choice
	add := func(section string, links ...Link) {
		for _, link := range links {
			list = append(list, Choice{Value: link.URL, Text: link.Text, Note: section})
		}
	}

	for _, group := range p.groups() {
		for _, item := range group.Items {
			add(group.Title, Link{item.URL, item.Text})
		}
	}

	add("Settings", settingsPages...)
	if p.Manages {
		add("", creations...)
	}
	if p.Operator {
		add(operation.Title, adminPages[1:]...)
	}
	return list
}

// groups returns the parts of the side bar for a user.
func (p *Person) groups() []navGroup {
	var groups []navGroup
	if p.Role != "" {
		groups = navigation
	}
	if p.Operator {
		groups = append(slices.Clone(groups), operation)
	}
	return groups
}
