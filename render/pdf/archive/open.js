// Takes out of a document what an archive may not have, and says what that was. It
// stands behind draw.js; see archiveInput for the arguments.

var root = doc.getTrailer().get("Root");
var found = { info: {}, actions: 0, fields: 0, hidden: 0, comments: 0, undrawn: 0, kinds: [], files: [], fonts: [], tagged: false, layers: false, overprint: false };

function name(o) { return o && o.isName() ? String(o).slice(1) : ""; }
function flags(o) { var f = has(o, "F"); return f && f.isNumber() ? f.asNumber() : 0; }
function note(list, value) { if (value && list.indexOf(value) < 0 && list.length < 100) list.push(value); }

// harmless tells whether an action may stay: what leads somewhere, and does nothing.
function harmless(action) {
	if (!action.isDictionary()) return action.isArray() || action.isName() || action.isString();
	if (has(action, "Next")) { action.delete("Next"); found.actions++; }
	switch (name(action.get("S"))) {
	case "GoTo": case "GoToR": case "URI": case "Thread": return true;
	case "Named": return /^(Next|Prev|First|Last)Page$/.test(name(action.get("N")));
	}
	return false;
}

function act(o, key) {
	var action = has(o, key);
	if (action && !harmless(action)) { o.delete(key); found.actions++; }
	if (has(o, "AA")) { o.delete("AA"); found.actions++; }
}

// tidy mends what stands in dictionaries of many kinds.
function tidy(o, depth) {
	if (!o || depth > 60) return;
	if (o.isArray()) {
		for (var i = 0; i < o.length && i < 100000; i++) { var item = o.get(i); if (item && !item.isIndirect()) tidy(item, depth + 1); }
		return;
	}
	if (!o.isDictionary()) return;
	var mode = has(o, "OPM"), subtype = name(o.get("Subtype"));
	if (mode && mode.isNumber()) { if (mode.asNumber() !== 0) found.overprint = true; o.delete("OPM"); }
	if (name(o.get("Type")) === "ExtGState") drop(o, ["TR", "TR2", "HTP"]);
	if (subtype === "Image") drop(o, ["Interpolate", "Alternates", "OPI"]);
	if (subtype === "Form" && o.get("BBox")) drop(o, ["OPI", "PS", "Ref"]);
	if (name(o.get("Type")) === "Font") font(o, subtype);
	each(o, function (key) { var v = o.get(key); if (v && !v.isIndirect()) tidy(v, depth + 1); });
}

// namesGlyphs reports whether the encoding of a font names the glyphs of all codes.
function namesGlyphs(font) {
	var encoding = has(font, "Encoding");
	return encoding && (encoding.isName() || encoding.isDictionary() && has(encoding, "BaseEncoding"));
}

// font notes those that are not in the file.
function font(o, subtype) {
	if (subtype === "Type0" || subtype === "Type3") return;
	var d = has(o, "FontDescriptor");
	// The program that draws pages ignores the encoding of such a font, unlike readers.
	var bits = d ? has(d, "Flags") : null, symbolic = 4, plain = 32;
	if (subtype !== "TrueType" && namesGlyphs(o) && bits && bits.isNumber() && bits.asNumber() & symbolic) d.put("Flags", bits.asNumber() & ~symbolic | plain);
	if (!d || !(has(d, "FontFile") || has(d, "FontFile2") || has(d, "FontFile3"))) note(found.fonts, name(o.get("BaseFont")).replace(/^[A-Z]{6}\+/, ""));
}

var kinds = ["Text", "Link", "FreeText", "Line", "Square", "Circle", "Highlight", "Underline", "Squiggly", "StrikeOut", "Stamp", "Ink", "Polygon", "PolyLine", "Caret", "Watermark", "Redact"];

// text is one of a file or of a field, by the names that it may have.
function text(o, keys) {
	for (var i = 0; i < keys.length; i++) { var v = has(o, keys[i]); if (v && v.isString()) return v.asString(); }
	return "";
}

// kept tells whether an annotation stays. Fields become part of their page when that is
// drawn.
function kept(a) {
	var kind = name(a.get("Subtype")), f = flags(a), invisible = (f & 2) || (f & 32);
	if (kind === "Popup") return false;
	act(a, "A");
	drop(a, ["PA", "Popup"]);
	if (kind === "FileAttachment") { note(found.files, text(has(a, "FS") || a, ["UF", "F"]) || "file"); return false; }
	if (invisible || has(a, "OC") && !shows(a.get("OC"))) { found.hidden++; return false; }
	if (kind === "Widget") found.fields++;
	else if (kinds.indexOf(kind) < 0) { note(found.kinds, kind); return false; }
	if (kind !== "Link" && kind !== "Widget") found.comments++;
	a.put("F", (f & ~(1 | 2 | 32 | 256)) | 4);
	return true;
}

function annotations(page) {
	var all = has(page, "Annots"), left = doc.newArray();
	if (has(page, "AA")) { page.delete("AA"); found.actions++; }
	drop(page, ["PresSteps", "PieceInfo"]);
	if (!all || !all.isArray()) return;
	for (var i = 0; i < all.length; i++) {
		var a = all.get(i);
		if (a && a.isDictionary() && kept(a)) left.push(a);
	}
	page.put("Annots", left);
}

// undrawn counts the comments that have no appearance.
function undrawn(number) {
	var all = has(doc.findPage(number), "Annots");
	if (!all || !all.isArray()) return;
	for (var i = 0; i < all.length; i++) {
		var kind = name(all.get(i).get("Subtype"));
		if (kind !== "Link" && kind !== "Widget" && !has(all.get(i), "AP")) found.undrawn++;
	}
}

// bookmarks cleans the actions of an outline, whose entries may follow one another in a
// ring.
function bookmarks(item) {
	var next = [item], seen = {};
	for (var n = 0; next.length && n < 100000; n++) {
		var o = next.pop();
		if (!o || !o.isDictionary() || seen[String(o)]) continue;
		if (o.isIndirect()) seen[String(o)] = true;
		act(o, "A");
		next.push(o.get("Next"), o.get("First"));
	}
}

// attached notes the files that a tree of names leads to.
function attached(node, depth) {
	if (!node || !node.isDictionary() || depth > 30) return;
	var list = has(node, "Names"), kids = has(node, "Kids"), i;
	if (list && list.isArray()) for (i = 1; i < list.length; i += 2) {
		var file = list.get(i);
		if (file && file.isDictionary()) note(found.files, text(file, ["UF", "F"]) || (list.get(i - 1).isString() ? list.get(i - 1).asString() : "file"));
	}
	if (kids && kids.isArray()) for (i = 0; i < kids.length; i++) attached(kids.get(i), depth + 1);
}

var info = doc.getTrailer().get("Info"), keys = ["Title", "Author", "Subject", "Keywords", "Creator", "Producer", "CreationDate"], i;
if (info && info.isDictionary()) for (i = 0; i < keys.length; i++) found.info[keys[i]] = text(info, [keys[i]]);
var metadata = has(root, "Metadata"), said = new Buffer();
if (metadata && metadata.isStream()) said = metadata.readStream();
said.save(args.metadata);

var names = has(root, "Names"), form = has(root, "AcroForm"), optional = has(root, "OCProperties"), outline = has(root, "Outlines");
if (names && names.isDictionary()) {
	attached(names.get("EmbeddedFiles"), 0);
	if (has(names, "JavaScript")) found.actions++;
	each(names, function (key) { if (key !== "Dests") names.delete(key); });
}
if (form && form.isDictionary()) drop(form, ["XFA", "NeedAppearances"]);
if (optional && optional.isDictionary()) {
	found.layers = true;
	hide(optional);
	bare();
	root.delete("OCProperties");
}
if (outline && outline.isDictionary()) bookmarks(outline.get("First"));
act(root, "OpenAction");
found.tagged = !!has(root, "StructTreeRoot");
drop(root, ["Metadata", "StructTreeRoot", "MarkInfo", "OutputIntents", "AF", "Requirements", "Perms", "DSS", "Legal", "Collection", "PieceInfo", "SpiderInfo", "NeedsRendering", "Extensions"]);
for (i = 0; i < doc.countPages(); i++) annotations(doc.findPage(i));
for (i = 0; i < doc.countPages(); i++) undrawn(i);
for (i = 0; i < doc.countPages(); i++) aside(doc.findPage(i));
for (i = 1; i < doc.countObjects(); i++) tidy(doc.newIndirect(i, 0).resolve(), 0);
if (info && info.isDictionary()) each(info, function (key) { info.delete(key); });
doc.save(args.output, "garbage=compact");
print(JSON.stringify(found));
