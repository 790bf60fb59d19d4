package pdf

// outlineNode is one entry of an outline that is to be written.
type outlineNode struct {
	// entry has what the entry shows and where it leads, but not how it hangs
	// together with others.
	entry dict
	open  bool
	kids  []outlineNode
}

// outline returns the document's own outline. catalog is read beside it.
func (d *document) outline(s *structure) (nodes []outlineNode, catalog dict, err error) {
	if catalog = s.value(s.root()); catalog == nil {
		return nil, nil, d.fail(Damaged, errNoCatalog)
	}
	return s.outlineNodes(s.Outlines), catalog, nil
}

func outlineObjects(items []outlineItem) (references []string) {
	for _, item := range items {
		references = append(references, item.Object)
		references = append(references, outlineObjects(item.Kids)...)
	}
	return references
}

// outlineNodes reads the entries of an outline.
func (s *structure) outlineNodes(items []outlineItem) (nodes []outlineNode) {
	for _, item := range items {
		entry := without(s.value(item.Object), "/Parent", "/Prev", "/Next", "/First", "/Last", "/Count")
		if entry["/Title"] == nil {
			entry = dict{"/Title": "u:" + item.Title, "/Dest": item.Dest}
		}
		if action := s.value(reference(entry["/A"])); action != nil {
			entry["/A"] = action
		}
		nodes = append(nodes, outlineNode{entry: entry, open: item.Open, kids: s.outlineNodes(item.Kids)})
	}
	return nodes
}

// keptOutline is the outline without what leads to pages that are not kept.
func keptOutline(items []outlineItem, nodes []outlineNode, keep map[int]bool) (kept []outlineNode) {
	for i, item := range items {
		node := nodes[i]
		node.kids = keptOutline(item.Kids, node.kids, keep)
		gone := item.Page == nil || !keep[*item.Page]
		if gone && leadsToPage(node.entry) {
			node.entry = without(node.entry, "/Dest", "/A", "/SE")
		}
		if gone && node.entry["/A"] == nil && len(node.kids) == 0 {
			continue
		}
		kept = append(kept, node)
	}
	return kept
}

// dest returns where an entry leads in its document; nil where it does not.
func (n *outlineNode) dest() any {
	if dest := n.entry["/Dest"]; dest != nil {
		return dest
	}
	if action, ok := n.entry["/A"].(dict); ok && action["/S"] == "/GoTo" {
		return action["/D"]
	}
	return nil
}

// leadsToPage tells an entry for a page of the document from one for an
// address or another file.
func leadsToPage(entry dict) bool {
	action, ok := entry["/A"].(dict)
	return !ok || action["/S"] == "/GoTo"
}

// setOutline makes nodes the outline of a document. An empty outline is none.
func (u *update) setOutline(root string, catalog dict, nodes []outlineNode) {
	catalog = without(catalog, "/Outlines")
	if len(nodes) > 0 {
		top := u.reserve()
		links, visible := u.addOutline(top, nodes)
		links["/Type"], links["/Count"] = "/Outlines", visible
		u.set(top, links)
		catalog["/Outlines"] = top
	} else if catalog["/PageMode"] == "/UseOutlines" {
		delete(catalog, "/PageMode")
	}
	u.set(root, catalog)
}

// addOutline adds the entries below a parent, and returns the parent's links to
// them and how many of them show while the parent is open.
func (u *update) addOutline(parent string, nodes []outlineNode) (links dict, visible int) {
	references := make([]string, len(nodes))
	for i := range nodes {
		references[i] = u.reserve()
	}
	for i, node := range nodes {
		entry := without(node.entry)
		entry["/Parent"] = parent
		if i > 0 {
			entry["/Prev"] = references[i-1]
		}
		if i < len(nodes)-1 {
			entry["/Next"] = references[i+1]
		}
		visible++
		if len(node.kids) > 0 {
			below, shown := u.addOutline(references[i], node.kids)
			entry["/First"], entry["/Last"] = below["/First"], below["/Last"]
			entry["/Count"] = -shown
			if node.open {
				entry["/Count"] = shown
				visible += shown
			}
		}
		u.set(references[i], entry)
	}
	return dict{"/First": references[0], "/Last": references[len(references)-1]}, visible
}
