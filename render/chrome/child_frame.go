package chrome

import (
	"context"

	"github.com/go-rod/rod/lib/proto"
)

// maxFrames is the maximum number of frames that are checked.
const maxFrames = 50

// eachFrame evaluates a function in the frames of a document, and passes each result to visit with a function that
// returns the name of the element that shows the frame. Frames that leave meanwhile are left out.
func eachFrame[Result any](
	ctx context.Context, p *tab, fn string, args any, visit func(name func() string, result Result),
) error {
	var tree proto.PageGetFrameTreeResult
	if err := p.call(ctx, proto.PageGetFrameTree{}, &tree); err != nil {
		return ignoreStale(ctx, err)
	}

	frames := descendants(tree.FrameTree)
	for _, id := range frames[:min(len(frames), maxFrames)] {
		var result Result
		if err := p.evalIn(ctx, id, fn, args, &result); err != nil {
			if err := ignoreStale(ctx, err); err != nil {
				return err
			}
			continue
		}
		visit(func() string { return p.frameName(ctx, id) }, result)
	}

	return nil
}

// descendants returns the frames below a frame.
func descendants(tree *proto.PageFrameTree) (ids []proto.PageFrameID) {
	for _, child := range tree.ChildFrames {
		ids = append(append(ids, child.Frame.ID), descendants(child)...)
	}
	return ids
}

// frameName returns the name of the element that shows a frame.
func (t *tab) frameName(ctx context.Context, id proto.PageFrameID) string {
	const fallback = "iframe"
	var owner proto.DOMGetFrameOwnerResult
	if err := t.call(ctx, proto.DOMGetFrameOwner{FrameID: id}, &owner); err != nil {
		return fallback
	}

	var about proto.DOMDescribeNodeResult
	err := t.call(ctx, proto.DOMDescribeNode{BackendNodeID: owner.BackendNodeID}, &about)
	if err != nil || about.Node == nil {
		return fallback
	}

	name := about.Node.LocalName
	for i := 0; i+1 < len(about.Node.Attributes); i += 2 {
		if about.Node.Attributes[i] == "id" {
			name += "#" + about.Node.Attributes[i+1]
		}
	}

	return name
}
