package pdf

import (
	"context"
)

// outlineNode is one entry of an outline that is to be written.
type outlineNode struct {
	// entry has what the entry shows and where it leads, but not how it hangs
	// together with others.
	entry dict
	open  bool
	kids  []outlineNode
}

// outline returns the document's own outline. catalog is read beside it.
func (d *document) outline(ctx context.Context, s *structure) (nodes []outlineNode, catalog dict, err error) {
	references := append([]string{s.root()}, outlineObjects(s.Outlines)...)
	objects, err := d.objects(ctx, references)
	if err != nil {
		return nil, nil, err
	}
	if catalog = objects[s.root()]; catalog == nil {
		return nil, nil, d.fail(Damaged, errNoCatalog)
	}
	nodes = outlineNodes(s.Outlines, objects)
	actions, err := d.objects(ctx, actionObjects(nodes))
	setActions(nodes, actions)
	return nodes, catalog, err
}

// actionObjects returns the references of actions that are objects of their own.
func actionObjects(nodes []outlineNode) (references []string) {
	for _, node := range nodes {
		if action := reference(node.entry["/A"]); action != "" {
			references = append(references, action)
		}
		references = append(references, actionObjects(node.kids)...)
	}
	return references
}

// setActions puts the actions in the place of their references.
func setActions(nodes []outlineNode, actions map[string]dict) {
	for _, node := range nodes {
		if action := actions[reference(node.entry["/A"])]; action != nil {
			node.entry["/A"] = action
		}
		setActions(node.kids, actions)
	}
}

func outlineObjects(items []outlineItem) (references []string) {
	for _, item := range items {
		references = append(references, item.Object)
		references = append(references, outlineObjects(item.Kids)...)
	}
	return references
}

func outlineNodes(items []outlineItem, objects map[string]dict) (nodes []outlineNode) {
	for _, item := range items {
		entry := without(objects[item.Object], "/Parent", "/Prev", "/Next", "/First", "/Last", "/Count")
		if entry["/Title"] == nil {
			entry = dict{"/Title": "u:" + item.Title, "/Dest": item.Dest}
		}
		nodes = append(nodes, outlineNode{entry: entry, open: item.Open, kids: outlineNodes(item.Kids, objects)})
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
