// Takes what layers hide out of a document, so that nothing can show it. It stands behind
// draw.js and before open.js.

var off = {}, anyOff = false;

// hide learns which layers are not shown at first.
function hide(properties) {
	var all = properties.get("OCGs"), first = properties.get("D"), i;
	if (!first || !first.isDictionary()) return;
	function eachOf(list, f) { if (list && list.isArray()) for (i = 0; i < list.length; i++) f(String(list.get(i))); }
	if (String(first.get("BaseState")) === "/OFF") eachOf(all, function (group) { off[group] = true; });
	eachOf(first.get("ON"), function (group) { delete off[group]; });
	eachOf(first.get("OFF"), function (group) { off[group] = true; });
	for (i in off) anyOff = true;
}

// shows tells whether what belongs to a layer, or to several, is seen.
function shows(o) {
	if (!anyOff || !o || !o.isDictionary()) return true;
	if (String(o.get("Type")) !== "/OCMD") return !off[String(o)];
	var rule = o.get("VE"), groups = o.get("OCGs"), policy = String(o.get("P")), on = 0, not = 0;
	if (rule && rule.isArray()) return holds(rule, 0);
	if (!groups || groups.isNull()) return true;
	if (!groups.isArray()) on = off[String(groups)] ? 0 : 1, not = 1 - on;
	else for (var i = 0; i < groups.length; i++) if (groups.get(i) && groups.get(i).isDictionary()) off[String(groups.get(i))] ? not++ : on++;
	if (on + not === 0) return true;
	switch (policy) {
	case "/AllOn": return not === 0;
	case "/AnyOff": return not > 0;
	case "/AllOff": return on === 0;
	}
	return on > 0;
}

// holds evaluates an expression of layers.
function holds(rule, depth) {
	if (!rule || depth > 30) return true;
	if (!rule.isArray()) return !off[String(rule)];
	var word = String(rule.get(0)), i;
	if (word === "/Not") return !holds(rule.get(1), depth + 1);
	for (i = 1; i < rule.length; i++) {
		if (word === "/And" && !holds(rule.get(i), depth + 1)) return false;
		if (word === "/Or" && holds(rule.get(i), depth + 1)) return true;
	}
	return word !== "/Or";
}

// instead is what stands in the place of operators that draw.
var instead = { f: "n", F: "n", "f*": "n", B: "n", "B*": "n", b: "n", "b*": "n", S: "n", s: "n", Tj: "", TJ: "", "'": "T*", "\"": "T*", Do: "", sh: "", EI: "" };

// without returns content without what is drawn in layers that are hidden, by their names
// in it; nothing where there is none.
function without(b, hidden) {
	var out = new Buffer(), from = 0, marks = [], deep = 0, last = "", any = false;
	function copy(end) { for (; from < end; from++) out.writeByte(b[from]); }
	eachWord(b, function (word, start, end) {
		if (word.charAt(0) === "/") { last = word; return; }
		if (/^[-+.0-9]/.test(word) || word === "true" || word === "false" || word === "null" || word === "BI") return;
		if (word === "ID") word = "EI";
		if (deep > 0 && instead[word] !== undefined) {
			any = true;
			out.write("\n" + instead[word] + "\n");
			from = end;
		} else copy(end);
		if (word === "BDC" || word === "BMC") {
			var hides = word === "BDC" && hidden[last] === true;
			marks.push(hides);
			if (hides) deep++;
		} else if (word === "EMC" && marks.length && marks.pop()) deep--;
	});
	copy(b.length);
	return any ? out : null;
}

// hiddenNames are the names of hidden layers in the resources of content.
function hiddenNames(resources) {
	var list = resources && resources.isDictionary() ? resources.get("Properties") : null, found = null;
	if (list && list.isDictionary()) each(list, function (key) {
		if (!shows(list.get(key))) { found = found || {}; found["/" + key] = true; }
	});
	return found;
}

// bare takes what is hidden out of all content.
function bare() {
	if (!anyOff) return;
	var i, hidden, better;
	for (i = 0; i < doc.countPages(); i++) {
		var page = doc.findPage(i);
		hidden = hiddenNames(attribute(page, "Resources"));
		better = hidden ? without(content(page), hidden) : null;
		if (better) page.put("Contents", doc.addStream(better, doc.newDictionary()));
	}
	for (i = 1; i < doc.countObjects(); i++) {
		var o = doc.newIndirect(i, 0), held = o.resolve();
		if (!o.isStream() || !held || !held.isDictionary()) continue;
		var layer = held.get("OC"), kind = String(held.get("Subtype"));
		if (layer && !layer.isNull() && !shows(layer) && (kind === "/Form" || kind === "/Image")) {
			var empty = doc.newDictionary();
			empty.put("Type", doc.newName("XObject"));
			empty.put("Subtype", doc.newName("Form"));
			empty.put("BBox", rectangle([0, 0, 1, 1]));
			o.writeObject(empty);
			o.writeStream("\n");
			continue;
		}
		hidden = held.get("BBox") ? hiddenNames(held.get("Resources")) : null;
		better = hidden ? without(o.readStream(), hidden) : null;
		if (better) o.writeStream(better);
	}
}
