package pdf

import (
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// outlineNode is one entry of an outline that is to be written.
type outlineNode struct {
	// entry holds the title and the target of the entry, but not its links to other entries.
	entry pdffile.Dict
	open  bool
	kids  []outlineNode
}

// readOutline returns the document's own outline and its catalog.
func readOutline(d *job.Document, s *job.Structure) (nodes []outlineNode, catalog pdffile.Dict, err error) {
	if catalog = s.Catalog(); catalog == nil {
		return nil, nil, d.Fail(job.Damaged, errNoCatalog)
	}
	return outlineNodes(s, s.Outlines), catalog, nil
}

func outlineObjects(items []pdffile.OutlineItem) (references []string) {
	for _, item := range items {
		references = append(references, item.Object)
		references = append(references, outlineObjects(item.Kids)...)
	}
	return references
}

// outlineNodes reads the entries of an outline.
func outlineNodes(s *job.Structure, items []pdffile.OutlineItem) (nodes []outlineNode) {
	for _, item := range items {
		entry := pdffile.Without(s.Dict(item.Object), "/Parent", "/Prev", "/Next", "/First", "/Last", "/Count")
		if entry["/Title"] == nil {
			entry = pdffile.Dict{"/Title": "u:" + item.Title, "/Dest": item.Dest}
		}
		if action := s.Dict(pdffile.Reference(entry["/A"])); action != nil {
			entry["/A"] = action
		}
		nodes = append(nodes, outlineNode{entry: entry, open: item.Open, kids: outlineNodes(s, item.Kids)})
	}
	return nodes
}

// keptOutline returns the outline without entries that lead to removed pages.
func keptOutline(items []pdffile.OutlineItem, nodes []outlineNode, keep map[int]bool) (kept []outlineNode) {
	for i, item := range items {
		node := nodes[i]
		node.kids = keptOutline(item.Kids, node.kids, keep)

		gone := item.Page == nil || !keep[*item.Page]
		if gone && leadsToPage(node.entry) {
			node.entry = pdffile.Without(node.entry, "/Dest", "/A", "/SE")
		}
		if gone && node.entry["/A"] == nil && len(node.kids) == 0 {
			continue
		}
		kept = append(kept, node)
	}
	return kept
}

// dest returns the destination of an entry in its document; nil if it has none.
func (n *outlineNode) dest() any {
	if dest := n.entry["/Dest"]; dest != nil {
		return dest
	}
	if action, ok := n.entry["/A"].(pdffile.Dict); ok && action["/S"] == "/GoTo" {
		return action["/D"]
	}
	return nil
}

// leadsToPage reports whether an entry leads to a page of the document, and not to a URL or another file.
func leadsToPage(entry pdffile.Dict) bool {
	action, ok := entry["/A"].(pdffile.Dict)
	return !ok || action["/S"] == "/GoTo"
}

// setOutline makes nodes the outline of a document. An empty outline is none.
func setOutline(u *pdffile.Update, root string, catalog pdffile.Dict, nodes []outlineNode) {
	catalog = pdffile.Without(catalog, "/Outlines")
	if len(nodes) > 0 {
		top := u.Reserve()
		links, visible := addOutline(u, top, nodes)
		links["/Type"] = "/Outlines"
		links["/Count"] = visible
		u.Set(top, links)
		catalog["/Outlines"] = top
	} else if catalog["/PageMode"] == "/UseOutlines" {
		delete(catalog, "/PageMode")
	}
	u.Set(root, catalog)
}

// addOutline adds the entries below a parent, and returns the parent's links to
// them and how many of them show while the parent is open.
func addOutline(u *pdffile.Update, parent string, nodes []outlineNode) (links pdffile.Dict, visible int) {
	references := make([]string, len(nodes))
	for i := range nodes {
		references[i] = u.Reserve()
	}

	for i, node := range nodes {
		entry := pdffile.Without(node.entry)
		entry["/Parent"] = parent
		if i > 0 {
			entry["/Prev"] = references[i-1]
		}
		if i < len(nodes)-1 {
			entry["/Next"] = references[i+1]
		}

		visible++
		if len(node.kids) > 0 {
			below, shown := addOutline(u, references[i], node.kids)
			entry["/First"] = below["/First"]
			entry["/Last"] = below["/Last"]
			entry["/Count"] = -shown
			if node.open {
				entry["/Count"] = shown
				visible += shown
			}
		}

		u.Set(references[i], entry)
	}
	return pdffile.Dict{"/First": references[0], "/Last": references[len(references)-1]}, visible
}
