package web

// The pages by what they are about. Each has what Web has; what several of them
// need is Web's own.
type (
	// deliveries are the pages of what was sent.
	deliveries struct{ *Web }
	// devices are command lines that ask a person for a key.
	devices struct{ *Web }
	// documents are the pages of calls.
	documents struct{ *Web }
	// endpoints are the pages of webhook endpoints.
	endpoints struct{ *Web }
	// editors are the pages of one template.
	editors struct{ *Web }
	// embeds are the pages of the editor in frames of other sites. They know nobody
	// and read no cookie: what may be done stands in the link.
	embeds struct{ *Web }
	// endings delete accounts.
	endings struct{ *Web }
	// entrance signs people in.
	entrance struct{ *Web }
	// exports are what an account has, as files.
	exports struct{ *Web }
	// factors are second factors.
	factors struct{ *Web }
	// grants are programs that people let act for an account, consents their
	// questions, apps the list of those that were allowed.
	grants   struct{ *Web }
	consents struct{ grants }
	apps     struct{ grants }
	// joining makes accounts and shows addresses to be their owners'.
	joining struct{ *Web }
	// keys are the pages of keys.
	keys struct{ *Web }
	// operators are the pages of the installation.
	operators struct{ *Web }
	// overviews are the first page.
	overviews struct{ *Web }
	// playgrounds are the pages on which operations are tried.
	playgrounds struct{ *Web }
	// publics are the pages for everybody. They look at no session and set no
	// cookie, so that one copy does for all who look.
	publics struct{ *Web }
	// layouts are those of the gallery, manuals those of the documentation,
	// drawings the pictures on all of them.
	layouts  struct{ publics }
	manuals  struct{ publics }
	drawings struct{ publics }
	// settings are the pages of a person, the account and its members.
	settings struct{ *Web }
	// publications are the versions of templates.
	publications struct{ *Web }
	// partials are the pages of what templates share.
	partials struct{ *Web }
	// templates are the list of templates, and what makes some.
	templates struct{ *Web }
	// wallets are the pages of money.
	wallets struct{ *Web }
)
